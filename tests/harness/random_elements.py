# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random expressions on elements: arithmetic, comparisons, choices, bits, casts, helper functions."""

import dataclasses

from harness import random_values as values
from harness.random_values import TYPE_WEIGHTS, Value, literal_like
from harness.element_types import FP8, bits, is_unsigned

# How often each form is tried, and the method of Elements that makes it.
FORMS = {
    "arithmetic": 30, "choice": 12, "extreme_of_two": 8, "cast": 14, "unary": 6, "bitwise": 6, "shift": 4, "remainder": 6,
    "rounding": 3, "product_and_sum": 2, "comparison": 4, "rare_integer": 2, "function_of_small": 2, "bitcast": 2,
    "helper_call": 5, "scalar_choice": 2, "quotient": 3, "library": 3, "rounded_cast": 1, "per_element": 1,
}  # fmt: skip
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]


class Elements:
    """Part of RandomKernel; an expression has a shape, and whatever type comes of it."""

    def expression(self, shape, depth=2):
        """A value of a shape; its text may use every name in scope."""
        if depth <= 0 or self.chance(0.15):
            return self.leaf(shape)
        for _ in range(4):
            form = self.weighted(FORMS)
            value = getattr(self, form)(shape, depth - 1)
            if value is not None and value.shape == tuple(shape):
                return value
        return self.leaf(shape)

    def leaf(self, shape):
        if shape and self.chance(0.12) and not self.in_helper:
            return self.stretched(shape)
        return self.value_of(shape)

    def literal(self, value):
        if value.is_float:
            return literal_like(value, self.pick(0.0, 1.0, 2.0, -1.0, 0.5, 3.0))
        low = 0 if is_unsigned(value.dtype) else -3
        return literal_like(value, self.random.randint(low, 7)) if value.dtype != "int1" else None

    def operands(self, shape, depth):
        """Two operands; the second may be a number or a scalar."""
        first, choice = self.expression(shape, depth), self.random.random()
        if choice < 0.3:
            second = self.literal(first)
        elif choice < 0.45 and shape:
            second = self.expression((), depth)
        else:
            second = self.expression(shape, depth)
        return first, second

    def arithmetic(self, shape, depth):
        a, b = self.operands(shape, depth)
        if b is None:
            return None
        if self.chance(0.2):
            a, b = b, a
        return values.arithmetic(self.pick("add", "add", "sub", "mul", "mul"), a, b, self.may_round)

    def condition(self, shape, depth=0):
        """An int1 of a shape; at least one operand has a type of its own."""
        a = self.expression(shape, depth)
        if self.chance(0.6):
            b = self.literal(a)
            if b is None or (a.dtype in FP8) or (not a.is_float and bits(a.dtype) > 32 and is_unsigned(a.dtype)):
                return Value(f"({a.text} == {a.text})", "int1", shape, 0, 1) if a.dtype != "int1" else a
        else:
            b = self.expression(shape, depth)
            if a.is_float != b.is_float or {a.dtype, b.dtype} & {*FP8, "int1"}:
                b = a
            common = values.reference.promote(a.dtype, b.dtype)
            if not (values.converts_exactly(a, common) and values.converts_exactly(b, common)):
                b = a
        if {a.dtype, b.dtype} & {*FP8, "int1"}:
            return Value(f"({a.text}.to(tl.float32) >= 1.0)", "int1", shape, 0, 1)
        text = f"({a.text} {self.pick(*COMPARISONS)} {b.text})"
        if self.chance(0.2):
            text = f"({text} {self.pick('&', '|', '^')} ({a.text} != {b.text}))"
        if self.chance(0.1):
            text = f"(~{text})"
        return Value(text, "int1", tuple(shape), 0, 1)

    def choice(self, shape, depth):
        condition = self.condition(shape, 0)
        a, b = self.operands(shape, depth)
        if b is None or {a.dtype, b.dtype} & {"int1"}:
            return None
        return values.chosen(f"tl.where({condition.text}, {a.text}, {b.text})", shape, a, b)

    def scalar_choice(self, shape, depth):
        """A conditional expression of a run-time condition: a branch with one type on both sides."""
        condition = self.condition((), 0)
        a, b = self.value_of(shape), self.value_of(shape)
        if a.dtype != b.dtype:
            return None
        return values.chosen(f"({a.text} if {condition.text} else {b.text})", (), a, b)

    def extreme_of_two(self, shape, depth):
        a, b = self.operands(shape, depth)
        if b is not None and b.text.lstrip("-")[0].isdigit():
            # A number has its own type here, unlike beside an operator.
            b = dataclasses.replace(b, dtype="float32" if b.is_float else "int32")
        return None if b is None else values.extreme(self.pick("minimum", "maximum"), a, b)

    def cast(self, shape, depth):
        value = self.expression(shape, depth)
        return values.cast(value, self.weighted(TYPE_WEIGHTS))

    def unary(self, shape, depth):
        value = self.expression(shape, depth)
        if value.dtype in FP8 or value.dtype == "int1" or is_unsigned(value.dtype):
            return (
                Value(f"(~{value.text})", value.dtype, value.shape, *((0, 1) if value.dtype == "int1" else ()))
                if not value.is_float
                else None
            )
        if self.chance(0.5):
            if value.has_range:
                return values.of_type(f"(-{value.text})", value.dtype, value.shape, -value.high, -value.low, value.grain)
            return Value(f"(-{value.text})", value.dtype, value.shape, is_clean=value.is_clean)
        text = self.pick(
            f"tl.abs({value.text})", f"tl.abs({value.text} + 0)" if not value.is_float else f"tl.abs({value.text})"
        )
        if value.has_range:
            return values.of_type(text, value.dtype, value.shape, 0, value.bound, value.grain)
        return Value(text, value.dtype, value.shape, is_clean=value.is_clean)

    def integer(self, shape, depth):
        value = self.expression(shape, depth)
        return value if not value.is_float and value.dtype != "int1" else None

    def bitwise(self, shape, depth):
        a, b = self.integer(shape, depth), self.integer(shape, depth)
        if a is None:
            return None
        if b is None or self.chance(0.3):
            b = literal_like(a, self.pick(1, 3, 7, 15, 21))
        common = values.reference.promote(a.dtype, b.dtype)
        op, shape = self.pick("&", "|", "^"), values.broadcast_shape(a.shape, b.shape)
        text = f"({a.text} {op} {b.text})"
        if a.has_range and b.has_range and a.low >= 0 and b.low >= 0:
            return Value(text, common, shape, 0, 2 ** max(int(a.high).bit_length(), int(b.high).bit_length()) - 1)
        return Value(text, common, shape)

    def shift(self, shape, depth):
        value = self.integer(shape, depth)
        if value is None:
            return None
        number = self.random.randint(0, min(7, bits(value.dtype) - 1))
        if self.chance(0.5):
            text = f"({value.text} >> {number})"
            ends = (int(value.low) >> number, int(value.high) >> number) if value.has_range else ()
            return Value(text, value.dtype, value.shape, *ends)
        text = f"({value.text} << {number})"
        if not value.has_range:
            return Value(text, value.dtype, value.shape)
        return values.of_type(text, value.dtype, value.shape, value.low * 2**number, value.high * 2**number)

    def remainder(self, shape, depth):
        value = self.integer(shape, depth)
        if value is None:
            return None
        number = self.random.randint(1, 9)
        if self.chance(0.5):
            low = 0 if is_unsigned(value.dtype) or (value.has_range and value.low >= 0) else 1 - number
            return Value(f"({value.text} % {number})", value.dtype, value.shape, low, number - 1)
        text = f"({value.text} // {number})"
        if not value.has_range:
            return Value(text, value.dtype, value.shape)
        return Value(text, value.dtype, value.shape, int(value.low / number), int(value.high / number))

    def quotient(self, shape, depth):
        """By a power of two, which is exact; integers become float32."""
        value = self.expression(shape, depth)
        if not value.has_range or value.dtype in FP8 or value.dtype in ("int1", "float64"):
            return None
        number = self.pick(1, 2, 4)
        return values.of_type(
            f"({value.text} / {number})",
            "float32",
            value.shape,
            value.low / number,
            value.high / number,
            value.grain - number.bit_length() + 1,
        )

    def rounding(self, shape, depth):
        value = self.expression(shape, depth)
        if value.dtype not in ("float32", "float64") or not value.has_range:
            return None
        name = self.pick("floor", "ceil")
        return values.of_type(f"tl.{name}({value.text})", value.dtype, value.shape, value.low - 1, value.high + 1)

    def product_and_sum(self, shape, depth):
        x = self.expression(shape, depth)
        if x.dtype not in ("float32", "float16") or not x.has_range:
            return None
        parts = [values.within(self.expression(shape, depth), -4, 4, x.dtype) for _ in range(2)]
        if None in parts:
            return None
        product = values.arithmetic("mul", x, parts[0], False)
        total = product and values.arithmetic("add", product, parts[1], False)
        return total and total.named(f"tl.fma({x.text}, {parts[0].text}, {parts[1].text})")

    def comparison(self, shape, depth):
        return self.condition(shape, depth)

    def rare_integer(self, shape, depth):
        a, b = self.integer(shape, depth), self.integer(shape, depth)
        if a is None or b is None:
            return None
        if bits(a.dtype) >= 32 and a.dtype == b.dtype and self.chance(0.7):
            return Value(f"tl.umulhi({a.text}, {b.text})", a.dtype, values.broadcast_shape(a.shape, b.shape))
        if a.has_range and 0 <= a.low and a.high <= 100:
            number = self.random.randint(1, 9)
            return Value(f"tl.cdiv({a.text}, {number})", a.dtype, a.shape, 0, a.high)
        return None

    def function_of_small(self, shape, depth):
        """Functions at numbers where every approximation gives the same, or far from where a comparison turns."""
        value = values.within(self.expression(shape, depth), 0, 6, "float32")
        if value is None:
            return None
        if self.chance(0.4):
            return Value(f"tl.exp2({value.text})", "float32", value.shape, 1, 64)
        if self.chance(0.4):
            return Value(f"tl.sqrt_rn({value.text} * {value.text})", "float32", value.shape, 0, 6)
        function = self.pick(
            "tl.exp({0}) > 2.0", "tl.sigmoid({0}) > 0.6", "tl.log2({0} + 1.0) > 1.3", "tl.sqrt({0}) > 1.2", "tl.exp(-{0}) < 0.7"
        )
        return Value(f"({function.format(value.text)})", "int1", value.shape, 0, 1)

    def bitcast(self, shape, depth):
        value = self.expression(shape, depth)
        if value.is_float or value.dtype == "int1":
            return None
        other = value.dtype.removeprefix("u") if is_unsigned(value.dtype) else f"u{value.dtype}"
        return Value(f"{value.text}.to(tl.{other}, bitcast=True)", other, value.shape)

    def helper_call(self, shape, depth):
        """A call of a jit function of this module on elements, made here for these types."""
        x, y = self.value_of(shape), self.value_of(shape)
        return self.call_of_helper(x, y)
