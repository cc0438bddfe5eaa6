# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of the kernel language in NumPy, Philox 4x32 from its publication, and some functions of libdevice."""

import types

import numpy as np

from harness.numpy_values import Tile


def philox(seed, counter, rounds=10):
    """Four arrays of 32-bit numbers for each counter."""
    mask = np.uint64(0xFFFFFFFF)
    words = [np.asarray(counter).astype(np.uint32).astype(np.uint64)] + [np.zeros(np.shape(counter), np.uint64)] * 3
    keys = [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF]
    for _ in range(rounds):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            (second >> np.uint64(32)) ^ words[1] ^ np.uint64(keys[0]),
            second & mask,
            (first >> np.uint64(32)) ^ words[3] ^ np.uint64(keys[1]),
            first & mask,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return [word.astype(np.uint32) for word in words]


def of_words(function):
    """A function of Python numbers from 0 to 2**32 - 1, for each element of int32 tiles."""

    def apply(*tiles):
        words = np.vectorize(
            lambda *values: function(*[int(value) & 0xFFFFFFFF for value in values]) & 0xFFFFFFFF, otypes=[np.uint64]
        )
        return Tile(words(*[tile.data for tile in tiles]).astype(np.uint32).view(np.int32).reshape(tiles[0].shape), "int32")

    return apply


def of_floats(function, is_test=False):
    def apply(tile):
        return Tile(function(tile.data).astype(np.int32 if is_test else np.float32), "int32" if is_test else "float32")

    return apply


def signed(word):
    return word - (1 << 32) if word >> 31 else word


libdevice = types.SimpleNamespace(
    popc=of_words(lambda x: x.bit_count()),
    clz=of_words(lambda x: 32 - x.bit_length()),
    ffs=of_words(lambda x: (x & -x).bit_length()),
    brev=of_words(lambda x: int(f"{x:032b}"[::-1], 2)),
    mulhi=of_words(lambda x, y: (signed(x) * signed(y)) >> 32),
    hadd=of_words(lambda x, y: (signed(x) + signed(y)) >> 1),
    rint=of_floats(np.rint),
    trunc=of_floats(np.trunc),
    isnan=of_floats(np.isnan, True),
    finitef=of_floats(np.isfinite, True),
)
