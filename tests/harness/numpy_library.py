# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of the kernel language in NumPy: Philox 4x32, from its publication."""

import numpy as np


def philox(seed, counter, rounds=10):
    """Four arrays of 32-bit numbers for each counter."""
    mask = np.uint64(0xFFFFFFFF)
    words = [np.asarray(counter).astype(np.uint32).astype(np.uint64)] + [np.zeros(np.shape(counter), np.uint64)] * 3
    keys = [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF]
    for _ in range(rounds):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [(second >> np.uint64(32)) ^ words[1] ^ np.uint64(keys[0]), second & mask,
                 (first >> np.uint64(32)) ^ words[3] ^ np.uint64(keys[1]), first & mask]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return [word.astype(np.uint32) for word in words]
