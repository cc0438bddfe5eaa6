# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels with products in loops, as pipelining meets them. A seed alone gives the program.

The loop's variables are sums, rows to load, tiles, pointers and counters. They become what an
op of the body computes, what another variable was, or a value from before the loop. Loads and
stores take all keywords; some kernels write the array that they read, through the same argument
or another one. A warpgroup multiplies tiles of 64 rows; what descriptors load comes by TMA. All
numbers are small integers, so that every order of a sum gives the same bits.
"""

import random

import numpy as np

from harness.element_types import NUMPY_TYPES

SIZES = (32, 64, 64, 64, 128)
TYPES = ("float16", "float16", "float16", "bfloat16", "float32")
TILES = 6
HEADER = """import tilewright
import tilewright.language as tl


@tilewright.jit
def kernel(a_ptr, b_ptr, c_ptr, d_ptr, a_blocks, b_blocks, index_ptr, out_ptr, trips, B: tl.constexpr, T: tl.constexpr):
    index = tl.arange(0, B)
    rows = index[:, None]
    columns = index[None, :]
    tile = rows * B + columns
    picked = tl.load(index_ptr + index)
    outer = tl.load(b_ptr + tile)
    zero = tl.zeros((B, B), tl.float32)
    one = zero
    two = zero + 1.0
    where_to = picked
    peak = index * 0.0
    held = tl.load(a_ptr + tile)
    moving = a_ptr + tile
    last = 0
    total = 0"""
FOOTER = """    tl.store(out_ptr + tile, one)
    tl.store(out_ptr + B * B + tile, two)
    tl.store(out_ptr + 2 * B * B + tile, held.to(tl.float32))
    tl.store(out_ptr + 3 * B * B + index, where_to.to(tl.float32))
    tl.store(out_ptr + 3 * B * B + 2 * B + index, peak)
    tl.store(out_ptr + 3 * B * B + B, last.to(tl.float32))
    tl.store(out_ptr + 3 * B * B + B + 1, total.to(tl.float32))
    tl.store(out_ptr + 4 * B * B + tile, tl.load(moving).to(tl.float32))"""


class Loop:
    """One kernel: its text, and how it is launched."""

    grid = (1,)

    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.size, self.dtype = self.pick(*SIZES), self.pick(*TYPES)
        self.constants = {"B": self.size, "T": TILES}
        self.lines, self.loaded = [], []
        self.indent = 2
        self.moves = False
        # Which argument the loop stores to, and whether it is an array that is read as well.
        self.stores = self.random.random() < 0.4
        self.aliased = self.stores and self.random.random() < 0.6
        self.write()
        self.text = "\n".join([HEADER, *self.lines, FOOTER]) + "\n"

    def pick(self, *options):
        return self.random.choice(options)

    def chance(self, probability):
        return self.random.random() < probability

    def add(self, text, deeper=0):
        self.lines.append("    " * (self.indent + deeper) + text)

    def load_keywords(self):
        parts = []
        if self.chance(0.3):
            parts.append(self.pick("mask=columns < 24", "mask=(rows < 30) & (columns < B)", "mask=rows + trip < B"))
            if self.chance(0.7):
                parts.append(self.pick("other=0.0", "other=2.0", "other=0"))
        if self.chance(0.25):
            parts.append(f'eviction_policy="{self.pick("evict_first", "evict_last")}"')
        if self.chance(0.15):
            parts.append(f'cache_modifier="{self.pick(".ca", ".cg", ".cs")}"')
        if self.chance(0.05):
            parts.append("volatile=True")
        return "".join(", " + part for part in parts)

    def slot(self):
        return self.pick("trip", "trip", "(trip * 2) % T", "last % T", "trip % 2", "1")

    def address(self):
        array, slot = self.pick("a_ptr", "b_ptr", "c_ptr"), self.slot()
        row = self.pick("rows", "rows", "where_to[:, None]", "picked[:, None]", "(B - 1 - rows)")
        return f"{array} + {slot} * B * B + {row} * B + columns"

    def operand(self):
        """The name of a tile of the arrays' type, which may be made here."""
        if self.loaded and self.chance(0.25):
            return self.random.choice(self.loaded)
        choice = self.random.random()
        if choice < 0.08:
            return "held"
        if choice < 0.14:
            return "outer"
        name = f"x{len(self.loaded)}"
        if choice < 0.24:
            self.add(f"{name} = tl.load(moving{self.load_keywords()})")
        elif choice < 0.45:
            column = self.pick("0", "0", "0", "8", "B // 2")  # beyond the last one are zeros
            self.add(f"{name} = {self.pick('a_blocks', 'b_blocks')}.load([({self.slot()}) * B, {column}])")
        else:
            self.add(f"{name} = tl.load({self.address()}{self.load_keywords()})")
        if self.chance(0.15):
            self.add(
                f"{name} = {self.pick(f'tl.trans({name})', f'({name} * 2).to(tl.{self.dtype})', f'-{name}', f'tl.abs({name})')}"
            )
        self.loaded.append(name)
        return name

    def product(self):
        left, right = self.operand(), self.operand()
        target = self.pick("one", "one", "two")
        self.add(
            self.pick(
                f"{target} = tl.dot({left}, {right}, {target})",
                f"{target} += tl.dot({left}, {right})",
                f"{target} = tl.dot({left}, {right})",
            )
        )

    def chained(self):
        left, right, other = self.operand(), self.operand(), self.operand()
        self.add(f"middle = tl.dot({left}, {right})")
        self.add(f"small = (middle.to(tl.int32) % 3).to(tl.{self.dtype})")
        target = self.pick("one", "two")
        self.add(f"{target} = tl.dot(small, {other}, {target})")

    def attended(self):
        """Attention with whole numbers: scores, their largest by row, a sum that is scaled when that has grown."""
        left, right, other = self.operand(), self.operand(), self.operand()
        target = self.pick("one", "two")
        for line in [
            f"scores = tl.dot({left}, {self.pick(right, right, f'tl.trans({right})')})",
            "highest = tl.maximum(peak, tl.max(scores, axis=1))",
            "scale = (highest < peak + 3).to(tl.float32)",
            f"weights = (scores > highest[:, None] - 8).to(tl.{self.dtype})",
            f"{target} = {target} * scale[:, None]",
            f"{target} = tl.dot(weights, {other}, {target})",
            "peak = highest",
        ]:
            self.add(line)

    def change(self):
        """A variable becomes something else."""
        change = self.pick(
            "one, two = two, one",
            "one = zero",
            "two = one",
            "where_to = index",
            "where_to = picked",
            "where_to = (where_to + 1) % B",
            "held = outer",
            "held = tl.load(c_ptr + trip * B * B + tile)",
            "moving += B * B",
            "moving = b_ptr + tile",
            "last = trip",
            "last = trips",
            "total += trip",
            "total = last",
            "total += tl.sum(where_to, axis=0)",
            "one = two + 1.0",
            "one = tl.where(rows > columns, one, 1.0)",
            "two = two - tl.min(two, axis=0)[None, :]",
            "peak = peak + 1.0",
        )
        # Twice in an iteration would leave the array.
        self.add("moving = a_ptr + tile" if change == "moving += B * B" and self.moves else change)
        self.moves |= change == "moving += B * B"

    def branch(self):
        self.add(f"if {self.pick('trip % 2 == 0', 'trip > 1', 'last < 2', 'trip == trips - 1')}:")
        # Products of a warpgroup wait for each other where their sums change places in a branch.
        exchange = ["one, two = two, one"] if self.size < 64 else []
        for _ in range(self.random.randint(1, 2)):
            self.add(
                self.pick(
                    "one = one + 1.0",
                    "two = zero",
                    "where_to = picked",
                    "held = outer",
                    "total += 3",
                    "moving = a_ptr + tile",
                    *exchange,
                ),
                1,
            )
        if self.chance(0.3):
            self.add("else:")
            self.add(self.pick("two = two * 1.0 + 2.0", "last = 1", "where_to = index"), 1)

    def store(self):
        # Order between threads is the program's own affair.
        self.add("tl.debug_barrier()")
        value = self.pick(
            f"(one.to(tl.int32) % 3).to(tl.{self.dtype})",
            "outer",
            "held",
            *[f"({name} + 1).to(tl.{self.dtype})" for name in self.loaded],
        )
        slot = self.pick("trip", "(trip + 1) % T", "0")
        keywords = self.pick("", "", ", mask=columns < 20", ', eviction_policy="evict_first"', ', cache_modifier=".cg"')
        self.add(f"tl.store(d_ptr + {slot} * B * B + tile, {value}{keywords})")
        self.add("tl.debug_barrier()")

    def header(self):
        keywords = []
        for keyword, values in (
            ("num_stages", (1, 2, 3, 4)),
            ("loop_unroll_factor", (1, 2)),
            ("flatten", (True, False)),
            ("disallow_acc_multi_buffer", (True,)),
            ("disable_licm", (True,)),
        ):
            if self.chance(0.2):
                keywords.append(f"{keyword}={self.random.choice(values)}")
        bounds = self.pick("trips", "0, trips", "0, trips, 1", "0, trips, 2")
        name = "tl.range" if keywords else "range"
        return f"for trip in {name}({', '.join([bounds, *keywords])}):"

    def write(self):
        if self.chance(0.25):
            self.indent = 3
            self.add(f"for outer_trip in {self.pick('range(2)', 'tl.range(0, 2, flatten=True)')}:", -2)
            self.add("moving = a_ptr + tile", -1)
            if self.chance(0.5):
                self.add("one = zero", -1)
        self.add(self.header(), -1)
        self.pick(self.product, self.product, self.attended)()
        for _ in range(self.random.randint(1, 5)):
            self.pick(self.product, self.change, self.change, self.branch, self.chained, self.attended)()
        if self.stores:
            self.store()
        # Sums stay whole numbers that float32 holds.
        self.add("one = (one.to(tl.int32) % 1024).to(tl.float32)" if self.chance(0.3) else "pass")
        if self.indent == 3 and self.chance(0.5):
            self.add("two = one", -1)

    def arguments(self, device):
        """What a launch takes, and the arrays by name: the same numbers each time."""
        source = random.Random(self.seed + 1)
        numbers = np.random.default_rng(self.seed)
        # One tile more than the loop takes, for pointers that have moved on.
        size = self.size
        shape = (TILES + 2, size, size)
        a, b, c, d = (device.array(numbers.integers(-2, 3, shape).astype(NUMPY_TYPES[self.dtype])) for _ in range(4))
        if self.aliased:
            d = source.choice([a, b, c])
        blocks = [device.descriptor(array.reshape(-1, size), (size, size)) for array in (a, b)]
        index = device.array(numbers.permutation(size).astype(np.int32))
        out = device.array(np.zeros((5, size, size), np.float32))
        arrays = dict(a=a, b=b, c=c, d=d, index=index, out=out)
        return [a, b, c, d, *blocks, index, out, source.choice([0, 1, 2, 3, 4, 5])], arrays

    def options(self, random_source):
        """How one run of it is compiled."""
        # Registers of few threads for large tiles keep the assembler busy for minutes.
        warps = [1, 2, 4, 8] if self.size < 128 else [8]
        return {"num_warps": random_source.choice(warps), "num_stages": random_source.choice([1, 2, 3, 4])}
