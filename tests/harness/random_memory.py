# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random loads and stores: pointers, masks, keywords, block pointers, descriptors, atomics.

Every address is a whole number whose range is known, and the arrays are made as long as the
largest asks. Programs store to places of their own, except by atomics whose order does not matter.
"""

import dataclasses
import math

import numpy as np

from harness import random_values as values
from harness.random_values import TYPE_WEIGHTS, Value
from harness.element_types import FP8, NUMPY_TYPES, bits, is_float, is_unsigned, mixed_values, random_values

# The range of an array's numbers where they are small; of others any numbers are in it, or the special ones.
SMALL = {"float8e4nv": (-4, 4), "float8e5": (-4, 4), "float16": (-4, 4), "bfloat16": (-4, 4), "float32": (-8, 8),
         "float64": (-8, 8), "int1": (0, 1)}  # fmt: skip


@dataclasses.dataclass
class Array:
    """An argument: `kind` says what it is filled with, `length` is as long as the largest address asks."""

    name: str
    dtype: str
    kind: str
    length: int = 1
    shape: tuple | None = None
    block: tuple | None = None
    padding: str = "zero"

    def numbers(self, random):
        """What is in it before the launch."""
        dtype, count = NUMPY_TYPES[self.dtype], math.prod(self.shape) if self.shape else self.length
        if self.kind == "any":
            data = random_values(self.dtype, count, int(random.integers(1 << 30)))
            if is_float(self.dtype) and self.dtype not in FP8:
                data[::7] *= dtype(256)
        elif self.kind == "small":
            low, high = small_range(self.dtype)
            data = random.integers(low, high + 1, count).astype(dtype)
        elif self.kind == "special":
            data = mixed_values(self.dtype, max(count, 32), int(random.integers(1 << 30)))[:count]
        else:
            data = np.full(count, self.kind, dtype)
        return data.reshape(self.shape) if self.shape else data


def small_range(dtype):
    return SMALL.get(dtype, (0, 15) if is_unsigned(dtype) else (-8, 7))


class Memory:
    """Part of RandomKernel."""

    # ---- arrays -------------------------------------------------------------

    def array(self, dtype, kind, prefix="in", **more):
        array = Array(f"{prefix}{len(self.arrays)}", dtype, kind, **more)
        self.arrays.append(array)
        return array

    def input(self, dtype, kind):
        """An array to read, often one that is read already."""
        known = [a for a in self.arrays if (a.dtype, a.kind) == (dtype, kind) and a.name.startswith("in") and not a.shape]
        return self.random.choice(known) if known and self.chance(0.7) else self.array(dtype, kind)

    def element(self, array, text, shape):
        """A value that comes from an array."""
        if array.kind == "small":
            return Value(text, array.dtype, tuple(shape), *small_range(array.dtype))
        return Value(text, array.dtype, tuple(shape), is_clean=is_float(array.dtype) and array.kind == "any")

    # ---- addresses ----------------------------------------------------------

    def offsets(self, shape):
        """Whole numbers of a shape, none negative."""
        size, index = math.prod(shape), self.index(shape)
        if not shape:
            return self.scalar_offset(64)
        choice = self.random.random()
        if choice < 0.4:
            offset = Value(index, "int32", shape, 0, size - 1)
        elif choice < 0.55 and len(shape) == 2:
            rows, columns = self.index(shape[:1]), self.index(shape[1:])
            if self.chance(0.5):
                text, high = f"({columns}[None, :] * {shape[0]} + {rows}[:, None])", size - 1
            else:
                stride = self.pick(f"{shape[1]}", f"{2 * shape[1]}", self.argument(shape[1] + self.pick(1, 8, 16)))
                high = (shape[0] - 1) * self.number_of(stride) + shape[1] - 1
                text = f"({rows}[:, None] * {stride} + {columns}[None, :])"
            offset = Value(text, "int32", shape, 0, high)
        elif choice < 0.65:
            offset = Value(f"({size - 1} - {index})", "int32", shape, 0, size - 1)
        elif choice < 0.72:
            offset = Value(f"({index} * 2)", "int32", shape, 0, 2 * size - 2)
        elif choice < 0.8:
            offset = Value(f"({index} // 2)", "int32", shape, 0, size // 2)
        else:
            value = self.value_of(shape)
            offset = values.within(value, 0, 31 if is_unsigned(value.dtype) else 63, "int32")
            if offset is None:
                return Value(index, "int32", shape, 0, size - 1)
        if self.chance(0.5):
            more = self.scalar_offset(16)
            factor = self.pick(1, 1, 8, size)
            offset = Value(
                f"({offset.text} + {more.text} * {factor})", "int32", shape, offset.low, offset.high + more.high * factor
            )
        return offset

    def scalar_offset(self, most):
        """A scalar from 0 to less than `most`."""
        known = [
            v
            for v in self.visible()
            if v.shape == ()
            and not v.is_float
            and v.has_range
            and v.low >= 0
            and v.high < most
            and v.dtype in ("int32", "int64")
        ]
        value = self.random.choice(known)
        return value

    def mask(self, shape):
        condition = self.condition(shape)
        index = self.index(shape)
        size = math.prod(shape)
        return self.pick(
            condition.text,
            f"({index} < {self.argument(max(2, size - self.random.randint(0, size // 2)))})",
            f"({index} % 3 != 0)",
            f"({index} < {size})",
        )

    def load_keywords(self):
        parts = []
        if self.chance(0.25):
            parts.append(f'eviction_policy="{self.pick("evict_first", "evict_last")}"')
        if self.chance(0.15):
            parts.append(f'cache_modifier="{self.pick(".ca", ".cg", ".cs", ".cv")}"')
        if self.chance(0.05):
            parts.append("volatile=True")
        return "".join(", " + part for part in parts)

    def store_keywords(self):
        return self.pick("", "", "", ', eviction_policy="evict_first"', ', cache_modifier=".cg"', ', cache_modifier=".wt"')

    # ---- loads and stores ---------------------------------------------------

    def load(self, shape, dtype=None, kind=None):
        """A statement that loads; the value that it makes."""
        dtype = dtype or self.weighted(TYPE_WEIGHTS)
        kind = kind or self.pick("small", "small", "small", "small", "any", "any", "special")
        array = self.input(dtype, "small" if dtype == "int1" else kind)
        if shape and self.chance(0.1) and dtype != "int1" and len(shape) < 3:
            return self.load_block(array.kind, dtype, shape)
        offset = self.offsets(shape)
        array.length = max(array.length, int(offset.high) + 1)
        value = self.element(array, "", shape)
        mask = ""
        if shape and self.chance(0.4):
            other = self.random.randint(0, 3) if value.has_range else 0
            other = (
                str(min(other, 1)) if dtype == "int1" else self.pick(str(other), f"{other}.0") if value.is_float else str(other)
            )
            mask = f", mask={self.mask(shape)}, other={other}"
        return self.bind(value.named(f"tl.load({array.name} + {offset.text}{mask}{self.load_keywords()})"))

    def load_tail(self, shape):
        """As most kernels begin: a mask at the end of an array of any length."""
        size, dtype = math.prod(shape), self.weighted(TYPE_WEIGHTS)
        length = max(2, size * self.num_programs - self.random.randint(0, size - 1))
        array = self.array(dtype, "small", length=length)
        where = self.fresh("at")
        start = f"tl.multiple_of(pid * {size}, {size})" if self.chance(0.3) else f"pid * {size}"
        self.add(f"{where} = {start} + {self.index(shape)}")
        n = self.argument(length)
        other = "False" if dtype == "int1" else "0"
        return self.bind(self.element(array, f"tl.load({array.name} + {where}, mask={where} < {n}, other={other})", shape))

    def slot(self, size):
        """Where this program may store so many elements, once per iteration of the loops around: text, elements in all."""
        text, count = "pid", self.num_programs
        for counter, trips in self.counters:
            text, count = f"({text} * {trips} + {counter})", count * trips
        return f"{text} * {size}" if size > 1 else text, count * size

    def store(self, value):
        """To an array of its own."""
        dtype = "int8" if value.dtype == "int1" else value.dtype
        if value.dtype == "int1" and self.chance(0.5):
            dtype = "int1"
        if not value.shape:
            start, length = self.slot(1)
            out = self.array(dtype, 0, "out", length=length)
            self.add(f"tl.store({out.name} + {start}, {value.text})")
            return
        if len(value.shape) < 3 and dtype != "int1" and self.chance(0.12) and not self.counters:
            self.store_block(value.named(f"{value.text}.to(tl.int8)" if value.dtype == "int1" else value.text), dtype)
            return
        start, length = self.slot(value.size)
        out = self.array(dtype, 0, "out", length=length)
        index = self.index(value.shape)
        if len(value.shape) == 2 and self.chance(0.2):
            rows, columns = self.index(value.shape[:1]), self.index(value.shape[1:])
            index = f"({columns}[None, :] * {value.shape[0]} + {rows}[:, None])"
        mask = f", mask={self.mask(value.shape)}" if self.chance(0.25) else ""
        self.add(f"tl.store({out.name} + {start} + {index}, {value.text}{mask}{self.store_keywords()})")

    def there_and_back(self):
        """A tile through memory, read at other places than it was written."""
        value = self.value_of(self.random_shape())
        if value.dtype in ("int1",) or not value.shape or self.counters or self.is_branch:
            return
        out = self.array(value.dtype, 0, "out", length=value.size * self.num_programs)
        index = self.index(value.shape)
        self.add(f"tl.store({out.name} + pid * {value.size} + {index}, {value.text})")
        self.add("tl.debug_barrier()")
        other = self.pick(f"{value.size - 1} - {index}", f"({index} * 3 + 1) % {value.size}", f"{index} ^ 1")
        self.bind(value.named(f"tl.load({out.name} + pid * {value.size} + ({other}))"))

    # ---- blocks -------------------------------------------------------------

    def blocked_array(self, kind, dtype, shape, prefix="in"):
        """An array of two or one dimensions whose rows a descriptor may have."""
        per_row = max(1, 16 // max(1, bits(dtype) // 8))
        last = -(-(shape[-1] + self.random.randint(0, 3) * per_row) // per_row) * per_row
        extents = (*[size + self.random.randint(0, 5) for size in shape[:-1]], last)
        return self.array(dtype, kind, prefix, shape=extents)

    def load_block(self, kind, dtype, shape):
        """Through a block pointer or a descriptor, partly outside of the array."""
        array = self.blocked_array(kind, dtype, shape)
        if len(shape) == 2 and math.prod(shape) > 1 and shape[-1] * bits(dtype) >= 128 and self.chance(0.6):
            name = self.descriptor(array, shape)
            # By TMA a last coordinate that only the running kernel knows has to be a multiple of 16 bytes.
            chunk = 128 // bits(dtype)
            offsets = [
                self.pick("0", str(self.random.randint(0, shape[0] // 2)), self.scalar_offset(8).text, "-3"),
                self.pick(
                    "0", "0", str(self.random.randint(0, shape[1] // 2)), f"{self.scalar_offset(4).text} * {chunk}", str(-chunk)
                ),
            ]
            return self.bind(self.element(array, f"{name}.load([{', '.join(offsets)}])", shape))
        pointer, extents = self.block_pointer(array, shape)
        checked = ", ".join(str(axis) for axis in range(len(shape)))
        padding = f', padding_option="{"zero"}"'
        return self.bind(
            self.element(array, f"tl.load({pointer}, boundary_check=({checked},){padding}{self.load_keywords()})", shape)
        )

    def block_pointer(self, array, shape):
        extents = array.shape
        strides = [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
        order = tuple(range(len(shape)))[::-1]
        if len(shape) == 2 and extents == extents[::-1] and self.chance(0.3):
            strides, order = strides[::-1], order[::-1]
        name = self.fresh("block")
        start = [self.pick("0", str(self.random.randint(0, size // 2))) for size in shape]
        sizes = [self.pick(str(size), self.argument(size)) for size in extents]
        self.add(
            f"{name} = tl.make_block_ptr({array.name}, shape=({', '.join(sizes)},), strides=({', '.join(map(str, strides))},), "
            f"offsets=({', '.join(start)},), block_shape=({', '.join(map(str, shape))},), order={order})"
        )
        if self.chance(0.4):
            by = [self.pick("0", "1", self.scalar_offset(8).text) for _ in shape]
            self.add(f"{name} = tl.advance({name}, ({', '.join(by)},))")
        return name, extents

    def descriptor(self, array, shape):
        """A descriptor of the array, made on the host or here."""
        if self.chance(0.5):
            array.block = tuple(shape)
            return array.name
        extents = array.shape
        strides = [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
        name = self.fresh("descriptor")
        texts = [self.argument(stride) if self.chance(0.4) and stride > 1 else str(stride) for stride in strides]
        sizes = [self.pick(str(size), self.argument(size)) for size in extents]
        line = (
            f"{name} = tl.make_tensor_descriptor({array.name}, shape=[{', '.join(sizes)}], "
            f"strides=[{', '.join(texts)}], block_shape=[{', '.join(map(str, shape))}])"
        )
        self.add(line)
        return name

    def store_block(self, value, dtype):
        """Of one program only: blocks of several would overlap."""
        array = self.blocked_array(0, dtype, value.shape, "out")
        array.shape = (array.shape[0] * self.num_programs, *array.shape[1:])
        rows = array.shape[0] // self.num_programs
        start = f"pid * {rows}"
        if len(value.shape) == 2 and value.shape[-1] * bits(dtype) >= 128 and rows == value.shape[0] and self.chance(0.7):
            name = self.descriptor(array, value.shape)
            self.add(f"{name}.store([{start}, 0], {value.text}.to(tl.{dtype}))")
            return
        extents = array.shape
        strides = [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
        name = self.fresh("block")
        offsets = ", ".join([start, "0"][: len(extents)])
        self.add(
            f"{name} = tl.make_block_ptr({array.name}, shape={extents}, strides=({', '.join(map(str, strides))},), "
            f"offsets=({offsets},), block_shape=({', '.join(map(str, value.shape))},), "
            f"order={tuple(range(len(extents)))[::-1]})"
        )
        self.add(f"tl.store({name}, {value.text}.to(tl.{dtype}), boundary_check={tuple(range(len(extents)))})")

    # ---- atomics ------------------------------------------------------------

    def atomic(self):
        """On an array that only this operation changes; the old values are used only where no other program comes."""
        op = self.pick("add", "add", "add", "max", "min", "and", "or", "xor", "cas")
        dtype = self.pick("int32", "int32", "int64", "uint32", "uint64", *(["float32", "float16"] if op == "add" else []))
        shape = self.pick((), *[self.random_shape() for _ in range(4)])
        keywords = self.pick("", "", ', sem="relaxed"', ', sem="acq_rel"', ', sem="release", scope="sys"')
        if op == "cas":
            return self.compare_and_swap(shape, keywords)
        value = self.expression(shape, 1)
        value = values.within(value, 0, 1, dtype) if is_float(dtype) else None if value.is_float else values.cast(value, dtype)
        offset = self.offsets(shape)
        if value is None or offset is None:
            return None
        is_own = self.chance(0.4) and not self.counters
        length = int(offset.high) + 1
        array = self.array(
            dtype, 0 if op in ("add", "or", "xor") else 5, "sum", length=length * (self.num_programs if is_own else 1)
        )
        if is_own:
            # Every element once, so that the old value does not depend on the order.
            index = self.index(shape) if shape else "0"
            array.length = max(1, math.prod(shape)) * self.num_programs
            offset = offset.named(f"({index} + pid * {math.prod(shape)})")
            keywords = keywords or self.pick("", ', scope="cta"')
        mask = f", mask={self.mask(shape)}" if shape and self.chance(0.4) else ""
        call = f"tl.atomic_{op}({array.name} + {offset.text}, {value.text}{mask}{keywords})"
        if is_own and not mask:
            return self.bind(Value(call, dtype, tuple(shape), *((0, 5) if is_float(dtype) else ())))
        self.add(call)
        return None

    def compare_and_swap(self, shape, keywords):
        if self.counters:
            return None
        size, dtype = math.prod(shape), self.pick("int32", "int64", "uint32")
        array = self.array(dtype, "small", "sum", length=size * self.num_programs)
        value = values.within(self.expression(shape, 1), 0, 100, dtype)
        if value is None:
            return None
        index = self.index(shape) if shape else "0"
        expected = f"tl.full({list(shape)}, {self.random.randint(0, 3)}, tl.{dtype})"
        return self.bind(
            Value(
                f"tl.atomic_cas({array.name} + pid * {size} + {index}, {expected}, {value.text}{keywords})", dtype, tuple(shape)
            )
        )
