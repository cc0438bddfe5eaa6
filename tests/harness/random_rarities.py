# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What few kernels use: libdevice, roundings, functions per element, pointers that move or are chosen,
batched and scaled products, atomics and rows through descriptors."""

import math

from harness import random_values as values
from harness.random_values import Value
from harness.element_types import FP8, bits

# Of libdevice: the type that it takes, the one it gives, and the range where it has one.
LIBRARY = {
    "popc": ("int32", "int32", 0, 32),
    "clz": ("int32", "int32", 0, 32),
    "ffs": ("int32", "int32", 0, 32),
    "brev": ("int32", "int32", None, None),
    "mulhi": ("int32", "int32", None, None),
    "hadd": ("int32", "int32", None, None),
    "rint": ("float32", "float32", "same", "same"),
    "trunc": ("float32", "float32", "same", "same"),
    "isnan": ("float32", "int1", 0, 1),
    "finitef": ("float32", "int1", 0, 1),
}
TWO_ARGUMENTS = ("mulhi", "hadd")


class Rarities:
    """Part of RandomKernel."""

    # ---- elements -----------------------------------------------------------

    def library(self, shape, depth):
        name = self.random.choice(list(LIBRARY))
        takes, gives, low, high = LIBRARY[name]
        arguments = [self.expression(shape, depth) for _ in range(2 if name in TWO_ARGUMENTS else 1)]
        if any(value.dtype != takes for value in arguments):
            arguments = [
                values.cast(value, takes) if value.is_float == (takes == "float32") and value.dtype not in FP8 else None
                for value in arguments
            ]
        if None in arguments or (low == "same" and not arguments[0].has_range):
            return None
        text = f"libdevice.{name}({', '.join(value.text for value in arguments)})"
        if gives == "int1":
            text = f"({text} != 0)"
        if low == "same":
            low, high = math.floor(arguments[0].low), math.ceil(arguments[0].high)
        return Value(text, gives, tuple(shape), *((low, high) if low is not None else ()))

    def rounded_cast(self, shape, depth):
        value = self.expression(shape, depth)
        if value.dtype != "float32" or not (value.has_range or value.is_clean):
            return None
        dtype = self.pick("float16", "bfloat16")
        return Value(f'{value.text}.to(tl.{dtype}, fp_downcast_rounding="rtz")', dtype, tuple(shape), is_clean=value.has_range)

    def per_element(self, shape, depth):
        """A scalar function with a branch for each element."""
        value = values.within(self.value_of(shape), -8, 8, "int32")
        if value is None or not shape or math.prod(shape) > 256:
            return None
        self.function(
            "branching",
            "a, b",
            ["if a > b:", "    c = a - b", "elif a == 2:", "    c = a * 3", "else:", "    c = b", "return c"],
        )
        other = values.within(self.value_of(shape), 0, 8, "int32")
        return other and Value(f"tl.map_elementwise(branching, {value.text}, {other.text})", "int32", tuple(shape), -8, 24)

    # ---- pointers -----------------------------------------------------------

    def moving_pointer(self):
        """A tile of pointers that a loop moves on, or that a condition chooses."""
        shape = self.random_shape()
        if self.counters or self.is_branch:
            return
        array, offset, name = (
            self.input(self.weighted(values.TYPE_WEIGHTS), "small"),
            self.offsets(shape),
            self.fresh("pointer"),
        )
        step, trips = self.pick(1, 8, math.prod(shape)), self.random.randint(1, 3)
        array.length = max(array.length, int(offset.high) + 1 + step * trips)
        self.add(f"{name} = {array.name} + {offset.text}")
        if self.chance(0.4):
            condition = self.condition(shape if self.chance(0.5) else ())
            self.add(f"{name} = tl.where({condition.text}, {name}, {name} + {step})")
            self.bind(self.element(array, f"tl.load({name}{self.load_keywords()})", shape))
            return
        first = self.bind(self.element(array, f"tl.load({name})", shape))
        counter = self.fresh("c")
        self.add(f"for {counter} in {self.range_text(self.argument(trips))}:")
        with self.block():
            self.add(f"{name} += {step}")
            self.add(f"{first.text} = tl.load({name}{self.load_keywords()})")

    def tail_without_other(self):
        """Lanes that a mask leaves out are undefined, and are left out of the store as well."""
        shape, dtype = self.random.choice(self.family), self.pick("float32", "float16", "int32", "int8")
        size = math.prod(shape)
        length = max(2, size * self.num_programs - self.random.randint(0, size - 1))
        array, out = self.array(dtype, "small", length=length), self.array(dtype, 0, "out", length=length)
        if self.counters:
            return
        index, n, where, name = self.index(shape), self.argument(length), self.fresh("at"), self.fresh("x")
        self.add(f"{where} = pid * {size} + {index}")
        self.add(f"{name} = tl.load({array.name} + {where}, mask={where} < {n})")
        value = values.arithmetic("add", Value(name, dtype, shape, 0, 1), values.literal_like(Value(name, dtype), 1), False)
        self.add(f"tl.store({out.name} + {where}, {value.text}, mask={where} < {n})")

    # ---- products -----------------------------------------------------------

    def batched_product(self):
        batch, rows, inner, columns = self.pick(2, 4), 16, self.pick(16, 32), 16
        dtype = self.pick("float16", "bfloat16", "float32")
        a, b = self.load((batch, rows, inner), dtype, "small"), self.load((batch, inner, columns), dtype, "small")
        most = a.bound * b.bound * inner
        return self.bind(Value(f"tl.dot({a.text}, {b.text})", "float32", (batch, rows, columns), -most, most))

    def scaled_product(self):
        """tl.dot_scaled with scales near 1, which keep the sums exact."""
        rows, columns, inner = self.pick(16, 32), self.pick(16, 32), 64
        left, right = (self.pick(("e4m3", "float8e4nv"), ("e5m2", "float8e5"), ("bf16", "bfloat16")) for _ in range(2))
        a, b = self.load((rows, inner), left[1], "small"), self.load((inner, columns), right[1], "small")
        scales = []
        for size, name in ((rows, left[0]), (columns, right[0])):
            scale = values.within(self.load((size, inner // 32), "uint8", "any"), 0, 2, "uint8")
            scales.append(
                "None"
                if name == "bf16"
                else self.bind(Value(f"({scale.text} + 126).to(tl.uint8)", "uint8", scale.shape, 126, 128)).text
            )
        most = 4 * a.bound * b.bound * inner
        text = f'tl.dot_scaled({a.text}, {scales[0]}, "{left[0]}", {b.text}, {scales[1]}, "{right[0]}")'
        return self.bind(Value(text, "float32", (rows, columns), -most, most, -2))

    # ---- descriptors --------------------------------------------------------

    def descriptor_rows(self):
        """Rows that an index tile names, read or written."""
        dtype, columns, count = self.pick("float32", "float16", "int32"), self.pick(16, 32), self.pick(8, 16)
        array = self.array(dtype, "small", shape=(self.pick(16, 24), 2 * columns))
        name = self.fresh("descriptor")
        self.add(
            f"{name} = tl.make_tensor_descriptor({array.name}, shape=[{array.shape[0]}, {array.shape[1]}], "
            f"strides=[{array.shape[1]}, 1], block_shape=[1, {columns}])"
        )
        rows = values.within(self.value_of((count,)), 0, 15, "int32")
        if rows is not None:
            self.bind(
                self.element(array, f"{name}.gather({rows.text}, {self.pick(0, columns // 2, columns)})", (count, columns))
            )

    def descriptor_atomic(self):
        """Sums of all programs in one place."""
        dtype, op = self.pick(
            ("int32", "add"), ("int32", "max"), ("uint32", "add"), ("float32", "add"), ("int32", "or"), ("int64", "and")
        )
        shape = (self.pick(8, 16), self.pick(16, 32))
        value = values.within(self.value_of(shape), -3 if dtype == "int32" else 0, 3, dtype)
        if value is None or self.counters:
            return
        array = self.blocked_array(0 if op in ("add", "or") else 5, dtype, shape, "sum")
        name = self.descriptor(array, shape)
        chunk = 128 // bits(dtype)
        offsets = self.pick("0, 0", "pid, 0", f"2, {chunk}", f"pid % 2, {chunk} * (pid % 2)")
        self.add(f"{name}.atomic_{op}([{offsets}], {value.text})")
