# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types, special values, random inputs.

One table of the element types that memory can hold, by the name the
language gives them, and inputs that find mistakes: every special value first,
then random ones.
"""

import ml_dtypes
import numpy as np

NUMPY_TYPES = {
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64,
    "float8e4nv": ml_dtypes.float8_e4m3fn, "float8e5": ml_dtypes.float8_e5m2,
    "int1": np.bool_,
}  # fmt: skip

# How a signature writes each type.
SIGNATURE_NAMES = {
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "float8e4nv": "fp8e4nv", "float8e5": "fp8e5", "int1": "i1",
}  # fmt: skip

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float16", "bfloat16", "float32", "float64"]
FP8 = ["float8e4nv", "float8e5"]
ALL = INTEGERS + FLOATS

# Lengths around a block of 128 and tails that no vector width divides.
LENGTHS = [1, 127, 128, 129, 1000]


def name_of(dtype) -> str:
    """The language's name of a NumPy dtype."""
    for name, numpy_type in NUMPY_TYPES.items():
        if np.dtype(dtype) == np.dtype(numpy_type):
            return name
    raise KeyError(dtype)


def is_float(name: str) -> bool:
    return name.startswith(("float", "bfloat"))


def is_unsigned(name: str) -> bool:
    return name.startswith("uint") or name == "int1"


def bits(name: str) -> int:
    return 1 if name == "int1" else np.dtype(NUMPY_TYPES[name]).itemsize * 8


def special_values(name: str) -> np.ndarray:
    """Zeros of both signs, extremes, subnormals, infinities, NaN; for integers the ends and ones."""
    dtype = np.dtype(NUMPY_TYPES[name])
    if name == "int1":
        return np.array([False, True])
    if not is_float(name):
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, info.max, info.min, info.max - 1, info.min + 1, info.max // 2], dtype=dtype)
    info = ml_dtypes.finfo(dtype)
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        float(info.max),
        float(info.min),
        float(info.tiny),
        -float(info.tiny),
        float(info.smallest_subnormal),
        3.0,
    ]
    values += [float("nan")]
    if name != "float8e4nv":  # has no infinity
        values += [float("inf"), -float("inf")]
    return np.array(values, dtype=np.float64).astype(dtype)


def random_values(name: str, shape, seed: int = 0) -> np.ndarray:
    """Ordinary random values: normal floats, integers over the whole range."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(NUMPY_TYPES[name])
    if name == "int1":
        return rng.integers(0, 2, size=shape).astype(np.bool_)
    if is_float(name):
        return rng.standard_normal(shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)


def exact_values(name: str, shape, seed: int = 0, low: int = -4, high: int = 4) -> np.ndarray:
    """Small integers in any type, so that sums are exact in every order."""
    if is_unsigned(name):
        low = 0
    rng = np.random.default_rng(seed)
    return rng.integers(low, high, size=shape, endpoint=True).astype(NUMPY_TYPES[name])


def mixed_values(name: str, count: int, seed: int = 0) -> np.ndarray:
    """Random values with the special ones sprinkled in, each at least once where they fit."""
    values = random_values(name, count, seed)
    special = special_values(name)
    rng = np.random.default_rng(seed + 1)
    places = rng.permutation(count)[: len(special)]
    values[places] = special[: len(places)]
    return values


def multiple_of_16_bytes(name: str) -> int:
    """So many elements of a type are 16 bytes."""
    return 16 // np.dtype(NUMPY_TYPES[name]).itemsize
