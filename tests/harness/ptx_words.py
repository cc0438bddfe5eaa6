# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types, addresses and limits of the PTX emulator, and the error of a program that is wrong."""

import numpy as np

from tilewright import _core


DTYPES = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "b8": np.uint8, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64,
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "f16x2": np.uint32, "bf16": np.uint16, "bf16x2": np.uint32, "tf32": np.uint32,
}  # fmt: skip

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

SHARED_BYTES = _core.target_limits("sm_90a")["shared"]

GLOBAL_BASE = 1 << 32

PARAMETER_BASE = 1 << 48

# Who read a byte of shared memory, if not one warp only.
NOBODY, SEVERAL_WARPS = -1, -2

# The same of blocks of a cluster.
SEVERAL = -2

# Where the memories of the blocks begin in the window of shared memory of a cluster.
WINDOW_BITS = 24

# Instructions of one block, many times those of the tests.
MOST_STEPS = 2_000_000

# Apart from each other, so that overruns do not hit the next array.
ARRAY_GAP = 4096


class EmulationError(AssertionError):
    """The kernel did what hardware does not define, or what is not emulated."""
