# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of lengths that nobody chose: bandwidth beside torch and Triton.

    python benchmarks/other_sizes.py [--quick] [--only softmax] [--out FOLDER]

As memory_bound.py, with rows that are no power of two: multiples of 8, of 16 and odd
ones, in tiles of the next power of two.
"""

import sys

import memory_bound
import peers

COLUMNS = (1000, 1001, 3000, 5003, 12288, 20000, 30001)


def make_rows(quick: bool) -> list[memory_bound.Row]:
    n = 2**25 if quick else 2**27
    return [
        memory_bound.RowWise(kind, type_name, columns, n)
        for kind in ("softmax", "layer norm")
        for type_name in ("fp16", "fp32")
        for columns in COLUMNS
    ]


def main() -> int:
    return memory_bound.run(
        __doc__.splitlines()[0], make_rows, peers.KERNELS, "other_sizes", "Rows of other lengths, GB/s of useful traffic"
    )


if __name__ == "__main__":
    sys.exit(main())
