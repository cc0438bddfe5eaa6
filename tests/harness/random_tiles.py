# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random operations on whole tiles: reductions, scans, shapes, order, random numbers."""

import math

from harness import random_values as values
from harness.random_values import Value
from harness.element_types import FP8, bits, is_unsigned

# Associative functions of two values; those of scans need not be commutative.
REDUCERS = {"add": "a + b", "larger": "tl.maximum(a, b)", "smaller": "tl.minimum(a, b)", "both": "a & b", "differ": "a ^ b"}
PAIR_REDUCERS = {
    "first_of_largest": ["take = (a > c) | ((a == c) & (b < d))", "return tl.where(take, a, c), tl.where(take, b, d)"],
    "sum_and_largest": ["return a + c, tl.maximum(b, d)"],
    "chain": ["return a * c, c * b + d"],
}


class Tiles:
    """Part of RandomKernel."""

    # ---- reductions and scans -----------------------------------------------

    def reducible(self, shape=None):
        """A tile whose numbers can be compared, and its number of terms along an axis."""
        value = self.value_of(shape or self.random_shape())
        if value.dtype in FP8 or value.dtype == "int1":
            value = values.cast(value, "int32" if value.dtype == "int1" else self.pick("float32", "float16"))
        if value.is_float and not value.has_range and not value.is_clean:
            value = values.within(value, -8, 8, "float32")
        axis = self.random.randrange(len(value.shape)) if value.shape and (len(value.shape) == 1 or self.chance(0.85)) else None
        keep = ", keep_dims=True" if axis is not None and len(value.shape) > 1 and self.chance(0.35) else ""
        count = value.size if axis is None else value.shape[axis]
        if axis is None:
            shape = ()
        else:
            shape = tuple(1 if i == axis else size for i, size in enumerate(value.shape) if keep or i != axis)
        return value, axis, keep, count, shape

    def total(self, text, dtype, shape, value, count):
        """A sum of so many of them, or None where it would be rounded."""
        if not value.has_range:
            return None if value.is_float else Value(text, dtype, shape)
        return values.of_type(
            text, dtype, shape, min(value.low * count, value.low), max(value.high * count, value.high), value.grain
        )

    def reduction(self):
        value, axis, keep, count, shape = self.reducible()
        if not value.shape:
            return None
        kind = self.weighted(
            {"sum": 10, "max": 6, "min": 3, "argmax": 3, "argmin": 1, "pair": 2, "xor_sum": 1, "reduce": 3, "reduce_pair": 2}
        )
        if kind in ("reduce", "reduce_pair"):
            return self.custom_reduction(value, axis, keep, count, shape, kind)
        if kind in ("argmax", "argmin", "pair"):
            return self.place(value, axis, keep, count, shape, kind)
        arguments = f"({value.text}, axis={axis}{keep})"
        if kind == "xor_sum":
            if value.is_float:
                return None
            dtype = self.accumulator(value.dtype)
            return self.bind(Value(f"tl.xor_sum{arguments}", dtype, shape))
        if kind == "sum":
            dtype = value.dtype if value.is_float else self.accumulator(value.dtype)
            if self.chance(0.15):
                dtype = (
                    "float64"
                    if value.dtype == "float64"
                    else self.pick("float32", "int64")
                    if not value.is_float
                    else "float32"
                )
                arguments = f"({value.text}, axis={axis}{keep}, dtype=tl.{dtype})"
                if not value.has_range and not value.is_float and dtype == "float32":
                    return None
            total = self.total(f"tl.sum{arguments}", dtype, shape, value, count)
            return total and self.bind(total)
        dtype = value.dtype
        if bits(dtype) < 32:
            dtype = "float32" if value.is_float else "int32"
        return self.bind(Value(f"tl.{kind}{arguments}", dtype, shape, value.low, value.high, value.grain, value.is_clean))

    @staticmethod
    def accumulator(dtype):
        return dtype if bits(dtype) >= 32 else "uint32" if is_unsigned(dtype) else "int32"

    def place(self, value, axis, keep, count, shape, kind):
        if axis is None:
            return None
        if kind != "pair":
            return self.bind(Value(f"tl.{kind}({value.text}, axis={axis}{keep})", "int32", shape, 0, count - 1))
        if keep or not shape:
            return None
        first, second = self.fresh("v"), self.fresh("v")
        name = self.pick("max", "min")
        self.add(f"{first}, {second} = tl.{name}({value.text}, axis={axis}, return_indices=True)")
        dtype = "float32" if value.dtype == "bfloat16" else value.dtype
        self.keep(Value(first, dtype, shape, value.low, value.high, value.grain, value.is_clean))
        return self.keep(Value(second, "int32", shape, 0, count - 1))

    def custom_reduction(self, value, axis, keep, count, shape, kind):
        if bits(value.dtype) < 32:
            value = values.cast(value, "float32" if value.is_float else "int32")
        if value is None or axis is None:
            return None
        if kind == "reduce":
            names = ["larger", "smaller"] if value.is_float else list(REDUCERS)
            name = self.random.choice(names)
            self.function(name, "a, b", [f"return {REDUCERS[name]}"])
            ends = (value.low, value.high, value.grain, value.is_clean) if name in ("larger", "smaller") else ()
            return self.bind(Value(f"tl.reduce({value.text}, {axis}, {name}{keep})", value.dtype, shape, *ends))
        name = self.pick("first_of_largest", "sum_and_largest")
        index = Value(
            f"tl.broadcast_to({self.index(value.shape)}, {list(value.shape)})", "int32", value.shape, 0, value.size - 1
        )
        first = values.within(value, -4, 4, value.dtype) if name == "sum_and_largest" else value
        if first is None:
            return None
        self.function(name, "a, b, c, d", PAIR_REDUCERS[name])
        results = [self.fresh("v"), self.fresh("v")]
        self.add(f"{results[0]}, {results[1]} = tl.reduce(({first.text}, {index.text}), {axis}, {name}{keep})")
        self.keep(Value(results[1], "int32", shape, 0, value.size - 1))
        if name == "first_of_largest":
            return self.keep(Value(results[0], first.dtype, shape, first.low, first.high, first.grain, first.is_clean))
        total = self.total(results[0], first.dtype, shape, first, count)
        return total and self.keep(total)

    def scan(self):
        value, axis, _, count, _ = self.reducible()
        if axis is None:
            return None
        if bits(value.dtype) < 32:
            value = values.cast(value, "float32" if value.is_float else "int32")
        reverse = self.pick("", "", ", reverse=True")
        kind = self.weighted({"cumsum": 6, "cumprod": 1, "scan": 3, "chain": 1})
        if kind == "cumsum":
            total = self.total(f"tl.cumsum({value.text}, axis={axis}{reverse})", value.dtype, value.shape, value, count)
            return total and self.bind(total)
        if kind == "cumprod" and not value.is_float:
            return self.bind(Value(f"tl.cumprod({value.text}, axis={axis}{reverse})", value.dtype, value.shape))
        if kind == "chain" and not value.is_float:
            other = values.within(self.value_of(value.shape), 0, 3, value.dtype)
            if other is None:
                return None
            self.function("chain", "a, b, c, d", PAIR_REDUCERS["chain"])
            results = [self.fresh("v"), self.fresh("v")]
            self.add(f"{results[0]}, {results[1]} = tl.associative_scan(({other.text}, {value.text}), {axis}, chain{reverse})")
            self.keep(Value(results[0], value.dtype, value.shape))
            return self.keep(Value(results[1], value.dtype, value.shape))
        name = self.pick("larger", "smaller") if value.is_float else self.random.choice(list(REDUCERS))
        self.function(name, "a, b", [f"return {REDUCERS[name]}"])
        ends = (value.low, value.high, value.grain, value.is_clean) if name in ("larger", "smaller") else ()
        return self.bind(Value(f"tl.associative_scan({value.text}, {axis}, {name}{reverse})", value.dtype, value.shape, *ends))

    # ---- shapes and order ---------------------------------------------------

    def reshaping(self):
        value = self.value_of(self.random_shape())
        shape, text = value.shape, value.text
        forms = ["reshape", "join", "interleave", "expand"]
        if len(shape) > 1:
            forms += ["trans", "trans", "permute", "ravel"]
        if shape[-1] == 2 or self.chance(0.4):
            forms += ["split"]
        if len(shape) == 1 and value.size <= 512:
            forms += ["cat"]
        form = self.random.choice(forms)
        if form == "trans":
            return self.bind(
                value.shaped(
                    self.pick(f"tl.trans({text})", *([f"{text}.T"] if len(shape) == 2 else [])),
                    (*shape[:-2], shape[-1], shape[-2]),
                )
            )
        if form == "permute":
            axes = self.random.sample(range(len(shape)), len(shape))
            return self.bind(value.shaped(f"tl.permute({text}, {', '.join(map(str, axes))})", [shape[axis] for axis in axes]))
        if form == "ravel":
            return self.bind(value.shaped(f"tl.ravel({text})", (value.size,)))
        if form == "expand":
            axis = self.random.randint(0, len(shape))
            return (
                self.bind(value.shaped(f"tl.expand_dims({text}, {axis})", (*shape[:axis], 1, *shape[axis:])))
                if len(shape) < 3
                else None
            )
        if form == "reshape":
            return self.bind(self.reshaped(value))
        if form == "split":
            return self.split(value)
        other = self.value_of(shape)
        if other.dtype != value.dtype or value.size > 1024 or value.has_range != other.has_range:
            other = value
        both = values.chosen("", (), value, other)
        if both is None:
            return None
        if form == "cat":
            return self.bind(both.shaped(f"tl.cat({text}, {other.text}, can_reorder=False)", (2 * shape[0],)))
        if form == "join" and len(shape) < 3:
            return self.bind(both.shaped(f"tl.join({text}, {other.text})", (*shape, 2)))
        return self.bind(both.shaped(f"tl.interleave({text}, {other.text})", (*shape[:-1], 2 * shape[-1])))

    def reshaped(self, value):
        size = value.size
        shapes = [(size,), *[(size // n, n) for n in (2, 4, 16, 32) if size % n == 0], *[(size // 8, 4, 2)] * (size % 8 == 0)]
        shape = self.random.choice([shape for shape in shapes if min(shape) > 0])
        arguments = self.pick(", ".join(map(str, shape)), f"[{', '.join(map(str, shape))}]")
        return value.shaped(f"tl.reshape({value.text}, {arguments})", shape)

    def split(self, value):
        if value.shape[-1] != 2:
            if value.size < 4:
                return None
            rest = (value.size // 2,) if self.chance(0.5) or value.size < 64 else (value.size // 32, 16)
            value = self.bind(value.shaped(f"tl.reshape({value.text}, [{', '.join(map(str, (*rest, 2)))}])", (*rest, 2)))
        first, second = self.fresh("v"), self.fresh("v")
        self.add(f"{first}, {second} = tl.split({value.text})")
        self.keep(value.shaped(first, value.shape[:-1]))
        return self.keep(value.shaped(second, value.shape[:-1]))

    def stretched(self, shape):
        """A value that broadcasting makes as large."""
        if len(shape) == 1:
            scalar = self.value_of(())
            return (
                scalar.shaped(f"tl.broadcast_to({scalar.text}, [{shape[0]}])", shape)
                if self.chance(0.5)
                else scalar.shaped(f"tl.full([{shape[0]}], {scalar.text}, tl.{scalar.dtype})", shape)
            )
        axis = self.random.randrange(len(shape))
        value = self.value_of((shape[axis],))
        index = ", ".join(":" if other == axis else "None" for other in range(len(shape)))
        text = f"tl.broadcast_to({value.text}[{index}], [{', '.join(map(str, shape))}])"
        return value.shaped(text, shape)

    def ordering(self):
        """Sorting, gathering, turning round, counting."""
        form = self.weighted({"flip": 4, "gather": 4, "sort": 3, "topk": 1, "histogram": 2, "swizzle": 1})
        value = self.value_of(self.random_shape())
        shape, last = value.shape, len(value.shape) - 1
        if form == "flip" and value.dtype not in FP8:
            return self.bind(value.shaped(f"tl.flip({value.text}, {self.random.randint(0, last)})", shape))
        if form == "gather" and value.dtype not in (*FP8, "int1"):
            axis = self.random.randint(0, last)
            index = self.value_of(shape)
            index = values.within(index, 0, self.power_below(shape[axis]), self.pick("int32", "int32", "int64"))
            return index and self.bind(value.shaped(f"tl.gather({value.text}, {index.text}, {axis})", shape))
        if form in ("sort", "topk"):
            if (
                value.dtype in (*FP8, "int1")
                or (value.is_float and not value.has_range and not value.is_clean)
                or value.shape[-1] > 128
            ):
                return None
            if form == "sort":
                return self.bind(value.shaped(f"tl.sort({value.text}{self.pick('', ', descending=True')})", shape))
            count = max(1, shape[-1] // self.pick(2, 4))
            return self.bind(value.shaped(f"tl.topk({value.text}, {count})", (*shape[:-1], count)))
        if form == "histogram" and len(shape) == 1 and shape[0] >= 32:
            index = values.within(value, 0, 15, "int32")
            mask = f", mask={self.mask(shape)}" if self.chance(0.3) else ""
            return index and self.bind(Value(f"tl.histogram({index.text}, 16{mask})", "int32", (16,), 0, shape[0]))
        if form == "swizzle":
            first, second = self.fresh("v"), self.fresh("v")
            self.add(f"{first}, {second} = tl.swizzle2d(pid % 4, pid % 2, 4, 2, 2)")
            self.keep(Value(first, "int32", (), 0, 3))
            return self.keep(Value(second, "int32", (), 0, 1))
        return None

    @staticmethod
    def power_below(size):
        return size - 1 if size <= 64 else 63

    def random_numbers(self):
        shape = self.random_shape()
        if math.prod(shape) > 512:
            return None
        return self.bind(
            Value(f"tl.randint({self.argument(self.random.randint(2, 1000))}, {self.index(shape)} + pid)", "uint32", shape)
        )
