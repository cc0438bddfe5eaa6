# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic of the PTX emulator: floats that NumPy has none for, integers, bits, comparisons, conversions."""

import ml_dtypes
import numpy as np

from harness.ptx_handlers import handles
from harness.ptx_words import DTYPES, UNSIGNED, EmulationError

# ---------------------------------------------------------------------------
# Floats that NumPy has no arithmetic for
# ---------------------------------------------------------------------------

# Types that are computed in f32: how a word becomes lanes of f32, and back.
PACKED = {"f16x2": (np.uint16, np.float16), "bf16x2": (np.uint16, ml_dtypes.bfloat16),
          "bf16": (np.uint16, ml_dtypes.bfloat16), "f16": (np.uint16, np.float16)}  # fmt: skip


def read_floats(machine, operand, kind):
    """Lanes (thread, element) of a packed or narrow float, widened to f32; f32 and f64 as one lane."""
    if kind not in PACKED:
        return machine.read(operand, kind)[:, None]
    raw, dtype = PACKED[kind]
    holder = "b32" if kind.endswith("x2") else "b16"
    return machine.read(operand, holder).view(raw).view(dtype).reshape(machine.num_threads, -1).astype(np.float32)


def write_floats(machine, operand, lanes, kind):
    if kind not in PACKED:
        return machine.write(operand, lanes[:, 0], kind)
    _, dtype = PACKED[kind]
    lanes = np.ascontiguousarray(lanes.astype(dtype))
    holder = "b32" if kind.endswith("x2") else "b16"
    machine.write(operand, lanes.view(DTYPES[holder]).reshape(-1), holder)


def is_float(kind):
    return kind.startswith(("f", "bf"))


def exact(a):
    """Wide enough that one operation on it, rounded back, is rounded once (nearly, for f64)."""
    return a.astype(np.float64) if a.dtype == np.float32 else a


def float_operation(machine, instruction, function):
    kind = instruction.type
    values = [read_floats(machine, operand, kind) for operand in instruction.operands[1:]]
    dtype = values[0].dtype
    write_floats(machine, instruction.operands[0], np.asarray(function(*map(exact, values))).astype(dtype), kind)


def integer_operation(machine, instruction, function):
    kind = instruction.type
    values = [machine.read(operand, kind) for operand in instruction.operands[1:]]
    machine.write(instruction.operands[0], function(*values), kind)


def ordering_zeros(function):
    """`function`, an extremum, for which +0 is more than -0."""

    def extremum(x, y):
        # Of zeros a sum is -0 where both are.
        of_zeros = x + y if function in (np.fmax, np.maximum) else -(-x + -y)
        return np.where((x == 0) & (y == 0), of_zeros, function(x, y))

    return extremum


BINARY = {
    "add": (np.add, np.add), "sub": (np.subtract, np.subtract),
    "min": (np.minimum, ordering_zeros(np.fmin)), "max": (np.maximum, ordering_zeros(np.fmax)),
}  # fmt: skip

PASSING_NAN = {"min": ordering_zeros(np.minimum), "max": ordering_zeros(np.maximum)}


@handles(*BINARY)
def binary(machine, instruction):
    integer, floating = BINARY[instruction.name]
    if is_float(instruction.type):
        if "NaN" in instruction.parts:
            floating = PASSING_NAN[instruction.name]
        float_operation(machine, instruction, floating)
    else:
        integer_operation(machine, instruction, integer)


@handles("neg", "abs")
def unary(machine, instruction):
    function = {"neg": np.negative, "abs": np.abs}[instruction.name]
    (float_operation if is_float(instruction.type) else integer_operation)(machine, instruction, function)


@handles("copysign")
def copy_sign(machine, instruction):
    float_operation(machine, instruction, lambda sign, magnitude: np.copysign(magnitude, sign))


def wide(kind):
    return kind[0] + str(2 * int(kind[1:]))


@handles("mul", "mad")
def multiply(machine, instruction):
    kind = instruction.type
    destination, a, b, *addend = instruction.operands
    if is_float(kind):
        return float_operation(machine, instruction, np.multiply if not addend else lambda x, y, z: x * y + z)
    result_kind = wide(kind) if "wide" in instruction.parts else kind
    x, y = machine.read(a, kind), machine.read(b, kind)
    if "hi" in instruction.parts:
        bits = DTYPES[kind]().itemsize * 8
        product = [(int(i) * int(j)) >> bits for i, j in zip(x, y)]
        value = np.array([p & (2**bits - 1) for p in product], UNSIGNED[bits // 8]).view(DTYPES[kind])
    else:
        value = x.astype(DTYPES[result_kind]) * y.astype(DTYPES[result_kind])
    if addend:
        value = value + machine.read(addend[0], result_kind)
    machine.write(destination, value, result_kind)


@handles("fma")
def fused(machine, instruction):
    float_operation(machine, instruction, lambda a, b, c: a * b + c)


@handles("div", "rem")
def divide(machine, instruction):
    kind = instruction.type
    if is_float(kind):
        return float_operation(machine, instruction, np.divide)
    a, b = (machine.read(operand, kind) for operand in instruction.operands[1:])
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    quotient = (
        (np.abs(a.astype(object)) // np.abs(safe.astype(object))) * np.sign(a.astype(object)) * np.sign(safe.astype(object))
    )
    value = quotient if instruction.name == "div" else a.astype(object) - quotient * safe.astype(object)
    machine.write(instruction.operands[0], value.astype(a.dtype), kind)


FUNCTIONS = {
    "ex2": np.exp2, "lg2": np.log2, "rcp": lambda x: 1 / x, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
}  # fmt: skip


def without_denormals(function):
    """`function` of float32 as .ftz has it: what is below 2^-126, given or made, is zero."""

    def flushed(x):
        return np.where(np.abs(x) < 2.0**-126, np.copysign(0.0, x), x)

    return lambda *values: flushed(function(*map(flushed, values)))


@handles(*FUNCTIONS)
def function(machine, instruction):
    function = FUNCTIONS[instruction.name]
    float_operation(machine, instruction, without_denormals(function) if "ftz" in instruction.parts else function)


# ---------------------------------------------------------------------------
# Bits
# ---------------------------------------------------------------------------


@handles("and", "or", "xor", "not")
def logic(machine, instruction):
    function = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
                "not": np.bitwise_not}[instruction.name]  # fmt: skip
    kind = instruction.type
    values = [machine.read(operand, kind) for operand in instruction.operands[1:]]
    machine.write(instruction.operands[0], function(*values), kind)


@handles("shl", "shr")
def shift(machine, instruction):
    kind = instruction.type
    value = machine.read(instruction.operands[1], kind)
    amount = machine.read(instruction.operands[2], "u32").astype(np.uint64)
    bits = value.dtype.itemsize * 8
    inside = np.minimum(amount, bits - 1).astype(value.dtype)
    if instruction.name == "shl":
        result = np.where(amount >= bits, 0, value << inside)
    else:
        beyond = (value >> (bits - 1)) if kind[0] == "s" else np.zeros_like(value)
        result = np.where(amount >= bits, beyond, value >> inside)
    machine.write(instruction.operands[0], result.astype(value.dtype), kind)


@handles("shf")
def funnel_shift(machine, instruction):
    low, high, amount = (machine.read(operand, "u32").astype(np.uint64) for operand in instruction.operands[1:])
    amount = amount & 31 if "wrap" in instruction.parts else np.minimum(amount, 32)
    both = high << np.uint64(32) | low
    result = (both << amount) >> np.uint64(32) if "l" in instruction.parts else both >> amount
    machine.write(instruction.operands[0], (result & 0xFFFFFFFF).astype(np.uint32), "b32")


@handles("prmt")
def permute(machine, instruction):
    a, b, selector = (machine.read(operand, "u32").astype(np.uint64) for operand in instruction.operands[1:4])
    both, result = b << np.uint64(32) | a, np.zeros(machine.num_threads, np.uint64)
    for byte in range(4):
        choice = selector >> np.uint64(4 * byte) & 15
        value = both >> ((choice & 7) * 8) & 255
        sign = np.where(value >= 128, np.uint64(255), np.uint64(0))
        result |= np.where(choice >= 8, sign, value) << np.uint64(8 * byte)
    machine.write(instruction.operands[0], result.astype(np.uint32), "b32")


@handles("lop3")
def combine_bits(machine, instruction):
    # Bit i of the table is the result where the three bits, the first one uppermost, are the number i.
    bits = [machine.read(operand, "u32") for operand in instruction.operands[1:4]]
    table, result = int(instruction.operands[4], 0), np.zeros(machine.num_threads, np.uint32)
    for row in range(8):
        if table >> row & 1:
            result |= np.bitwise_and.reduce([word if row >> 2 - place & 1 else ~word for place, word in enumerate(bits)])
    machine.write(instruction.operands[0], result, "b32")


@handles("bfe")
def extract_bits(machine, instruction):
    kind = instruction.type
    value = machine.read(instruction.operands[1], kind).astype(object)
    start, length = (machine.read(operand, "u32").astype(object) & 255 for operand in instruction.operands[2:])
    result = (value >> start) & ((1 << length) - 1)
    if kind[0] == "s":
        result = np.where((length > 0) & ((result >> np.maximum(length - 1, 0)) & 1 == 1), result - (1 << length), result)
    machine.write(instruction.operands[0], result.astype(DTYPES[kind]), kind)


@handles("bfi")
def insert_bits(machine, instruction):
    kind = instruction.type
    field, value = (machine.read(operand, kind).astype(object) for operand in instruction.operands[1:3])
    start, length = (machine.read(operand, "u32").astype(object) & 255 for operand in instruction.operands[3:5])
    mask = ((1 << length) - 1) << start
    result = (value & ~mask) | ((field << start) & mask)
    machine.write(instruction.operands[0], (result & (2 ** int(kind[1:]) - 1)).astype(DTYPES[kind]), kind)


@handles("bfind")
def find_bit(machine, instruction):
    """The highest bit that is set, or how far it is from the top; all ones where none is."""
    if instruction.type not in ("u32", "b32"):
        raise EmulationError(f"not emulated: {instruction.text}")
    lengths = np.array([int(v).bit_length() for v in machine.read(instruction.operands[1], "u32")], np.int64)
    places = 32 - lengths if "shiftamt" in instruction.parts else lengths - 1
    machine.write(instruction.operands[0], np.where(lengths == 0, 0xFFFFFFFF, places).astype(np.uint32), "u32")


@handles("popc", "clz", "brev")
def count_bits(machine, instruction):
    kind = instruction.type
    bits = int(kind[1:])
    texts = [format(int(v), f"0{bits}b") for v in machine.read(instruction.operands[1], kind)]
    if instruction.name == "brev":
        return machine.write(instruction.operands[0], np.array([int(t[::-1], 2) for t in texts], DTYPES[kind]), kind)
    count = [t.count("1") if instruction.name == "popc" else len(t) - len(t.lstrip("0")) for t in texts]
    machine.write(instruction.operands[0], np.array(count, np.uint32), "u32")


# ---------------------------------------------------------------------------
# Moves, comparisons, conversions
# ---------------------------------------------------------------------------


@handles("mov")
def move(machine, instruction):
    kind = instruction.type
    destination, source = instruction.operands
    if kind == "pred":
        return machine.write(destination, machine.read(source, kind), kind)
    bits = int(kind[1:])
    if source[0] == "{":
        parts = machine.list_of(source)
        each = bits // len(parts)
        value = np.zeros(machine.num_threads, np.uint64)
        for index, part in enumerate(parts):
            value |= machine.read(part, f"b{each}").astype(np.uint64) << np.uint64(index * each)
        return machine.write(destination, value.astype(DTYPES[f"b{bits}"]), f"b{bits}")
    if destination[0] == "{":
        parts = machine.list_of(destination)
        each = bits // len(parts)
        value = machine.read(source, f"b{bits}").astype(np.uint64)
        for index, part in enumerate(parts):
            machine.write(part, (value >> np.uint64(index * each)).astype(DTYPES[f"b{each}"]), f"b{each}")
        return None
    # A copy of an accumulator in flight is one: the assembler gives both the same register.
    group = machine.products.pop(source, None) if source in machine.products else None
    machine.write(destination, machine.read(source, kind), kind)
    if group is not None:
        machine.products[source] = machine.products[destination] = group
    return None


COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def compare(comparison, a, b):
    if comparison in COMPARISONS:
        unordered = np.isnan(a) | np.isnan(b) if a.dtype.kind == "f" else False
        return COMPARISONS[comparison](a, b) & ~np.asarray(unordered)
    unordered = np.isnan(a) | np.isnan(b)
    if comparison in ("num", "nan"):
        return unordered if comparison == "nan" else ~unordered
    return COMPARISONS[comparison[:-1]](a, b) | unordered  # "equ", "neu", ...


@handles("setp")
def set_predicate(machine, instruction):
    kind, comparison = instruction.type, instruction.parts[1]
    a, b = instruction.operands[1:3]
    if is_float(kind):
        lanes = compare(comparison, read_floats(machine, a, kind), read_floats(machine, b, kind))
    else:
        lanes = compare(comparison, machine.read(a, kind), machine.read(b, kind))[:, None]
    if len(instruction.operands) > 3:
        other = machine.read(instruction.operands[3], "pred")[:, None]
        lanes = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[instruction.parts[2]](lanes, other)
    # p|q: a predicate for each half of packed operands; of others q is the opposite, which nothing here asks for.
    for half, predicate in enumerate(instruction.operands[0].split("|")[: lanes.shape[1]]):
        machine.write(predicate, lanes[:, half], "pred")


@handles("selp")
def select(machine, instruction):
    kind = instruction.type
    a, b, predicate = instruction.operands[1:]
    chosen = np.where(machine.read(predicate, "pred"), machine.read(a, kind), machine.read(b, kind))
    machine.write(instruction.operands[0], chosen, kind)


FP8 = {"e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2}


def to_float(integers, dtype, parts):
    """Integers in a float type, rounded as the instruction says."""
    floats = integers.astype(dtype)
    mode = next((part for part in parts if part in ("rz", "rm", "rp")), "rn")
    for lane, exact in enumerate(integers.tolist() if mode != "rn" else ()):
        up = mode == "rp" or (mode == "rz" and exact < 0)
        if (int(floats[lane]) < exact) if up else (int(floats[lane]) > exact):
            floats[lane] = np.nextafter(floats[lane], dtype(np.inf if up else -np.inf))
    return floats


def toward_zero(lanes, to):
    """Lanes rounded to what `to` holds, never away from zero."""
    dtype = np.dtype(PACKED[to][1] if to in PACKED else DTYPES[to])
    rounded = np.ascontiguousarray(lanes.astype(dtype))
    is_larger = np.abs(rounded.astype(np.float64)) > np.abs(lanes.astype(np.float64))
    # Of one sign, floats are in the order of their bits.
    bits = rounded.view(UNSIGNED[dtype.itemsize])
    return np.where(is_larger, bits - 1, bits).astype(bits.dtype).view(dtype)


@handles("cvt", "cvta")
def convert(machine, instruction):
    to, source_kind = instruction.parts[-2:]
    destination, *sources = instruction.operands
    if instruction.name == "cvta":
        return machine.write(destination, machine.read(sources[0], "u64"), "u64")
    if source_kind in FP8:
        bytes_ = machine.read(sources[0], "b16").view(np.uint8).view(FP8[source_kind])
        return write_floats(machine, destination, bytes_.reshape(-1, 2).astype(np.float32), to)
    if to in FP8:
        # Two floats, the first in the upper half; or one pair.
        lanes = (
            read_floats(machine, sources[0], source_kind)
            if len(sources) == 1
            else np.concatenate([read_floats(machine, s, source_kind) for s in reversed(sources)], axis=1)
        )
        largest = float(ml_dtypes.finfo(FP8[to]).max)
        lanes = np.where(np.isnan(lanes), lanes, np.clip(lanes, -largest, largest))
        return machine.write(destination, np.ascontiguousarray(lanes.astype(FP8[to])).view(np.uint16)[:, 0], "b16")
    if to in ("f16x2", "bf16x2"):
        lanes = np.concatenate([read_floats(machine, s, source_kind) for s in reversed(sources)], axis=1)
        return write_floats(machine, destination, lanes, to)
    if is_float(source_kind):
        value = read_floats(machine, sources[0], source_kind)
        for mode, rounding in (("rzi", np.trunc), ("rni", np.rint), ("rmi", np.floor), ("rpi", np.ceil)):
            if mode in instruction.parts:
                value = rounding(value)
        if "sat" in instruction.parts:
            value = np.clip(np.nan_to_num(value, nan=0.0), 0, 1)
        if is_float(to):
            return write_floats(machine, destination, toward_zero(value, to) if "rz" in instruction.parts else value, to)
        info = np.iinfo(DTYPES[to])
        value = np.where(np.isnan(value), 0, np.clip(value[:, 0].astype(np.float64), info.min, info.max)[:, None])[:, 0]
        # The largest integer of 64 bits is no float64: the next one is beyond it.
        whole = [min(int(v), info.max) for v in value]
        return machine.write(destination, np.array(whole, object).astype(DTYPES[to]), to)
    value = machine.read(sources[0], source_kind)
    if is_float(to):
        rounded = to_float(value, np.float64 if to == "f64" else np.float32, instruction.parts)
        return write_floats(machine, destination, rounded[:, None], to)
    value = value.astype(DTYPES[to])
    # A register is wider than a byte: it is extended by the destination's type.
    wide = {"s8": "s32", "u8": "u32"}.get(to, to)
    return machine.write(destination, value.astype(DTYPES[wide]), wide)
