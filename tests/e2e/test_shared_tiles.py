# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles in shared memory and layout changes, from IR to the emulator.

A tile is loaded in one layout, goes through shared memory in some way and is
stored in another layout: every element must arrive. The layouts are those of
memory accesses and of matrix instructions, and random ones; the emulator also
objects to accesses that nothing orders.
"""

import random
import subprocess

import numpy as np
import pytest

from harness.native import program
from harness.ptx_emulator import launch

TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


class Tile:
    """A shape of powers of two; elements are numbered row by row."""

    def __init__(self, rows, columns, element, warps):
        self.rows, self.columns, self.element, self.warps = rows, columns, element, warps
        self.size = rows * columns

    def bits(self):
        """Element bits, those of the column first."""
        return [1 << bit for bit in range(self.size.bit_length() - 1)]

    def split(self):
        count = self.columns.bit_length() - 1
        return self.bits()[:count], self.bits()[count:]

    def type(self, element=None):
        return f"{self.rows}x{self.columns}x{element or self.element}"


def layout(registers, lanes, warps):
    return f"#tw.layout<register = {registers}, lane = {lanes}, warp = {warps}, block = []>"


def hand_out(bits, lanes, warps):
    """Bits to lanes, then warps, then registers; copies where there are too few."""
    bits = bits + [0] * max(0, lanes + warps - len(bits))
    return bits[lanes + warps :], bits[:lanes], bits[lanes : lanes + warps]


def coalesced(tile, vector):
    bits = tile.bits()
    held = bits[: vector.bit_length() - 1]
    registers, lanes, warps = hand_out(bits[len(held) :], 5, tile.warps)
    return layout(held + registers, lanes, warps)


def accumulator(tile):
    """As mma leaves its result, warps along rows."""
    columns, rows = tile.split()
    if len(columns) < 3 or len(rows) < 4 + tile.warps:
        return None
    lanes = columns[1:3] + rows[:3]
    return layout([columns[0], rows[3]] + columns[3:] + rows[4 + tile.warps :], lanes, rows[4 : 4 + tile.warps])


def operand(tile, width, by_column):
    """As mma takes an operand, its inner dimension along rows or columns."""
    inner, outer = tile.split()[:: -1 if by_column else 1]
    packed = {8: 2, 16: 1, 32: 0}.get(width)
    if packed is None or len(inner) < packed + 3 or len(outer) < 4:
        return None
    lanes = inner[packed : packed + 2] + outer[:3]
    rest = inner[packed + 2 :] + outer[3:]
    return layout(inner[:packed] + rest[tile.warps :], lanes, rest[: tile.warps])


def scattered(tile, choose):
    bits = tile.bits()
    choose.shuffle(bits)
    registers, lanes, warps = hand_out(bits, 5, tile.warps)
    threads = lanes + warps
    choose.shuffle(threads)
    return layout(registers, threads[:5], threads[5:])


def random_layout(tile, choose):
    width = np.dtype(TYPES[tile.element]).itemsize * 8
    kinds = [coalesced(tile, 1 << choose.randrange(3)), accumulator(tile), operand(tile, width, False),
             operand(tile, width, True), scattered(tile, choose)]  # fmt: skip
    return choose.choice([kind for kind in [*kinds, *kinds[1:4]] if kind])


def memory(tile, choose):
    """Rows with the 16-byte chunks exchanged by row, or any invertible map."""
    columns, rows = tile.split()
    chunk = 16 // np.dtype(TYPES[tile.element]).itemsize
    if choose.random() < 0.7:
        exchanged = [bit for bit in columns if bit >= chunk]
        for row, bit in zip(range(len(rows)), exchanged, strict=False):
            rows[row] ^= bit
        return f"#tw.shared<offset = {columns + rows}>"
    bits = tile.bits()
    for _ in bits:
        to, source = choose.sample(range(len(bits)), 2)
        bits[to] ^= bits[source]
    return f"#tw.shared<offset = {bits}>"


def transposed(tile, offsets):
    """The layout in memory of the tile seen with its dimensions exchanged."""
    columns, rows = (len(part) for part in tile.split())

    def exchange(element):
        return (element & ((1 << columns) - 1)) << rows | element >> columns

    numbers = [int(text) for text in offsets.split("[")[1].split("]")[0].split(",")]
    return f"#tw.shared<offset = {[exchange(number) for number in numbers]}>"


def pointers_to(tile, where):
    """The type of a tile of pointers to the elements of `tile`."""
    return f"tensor<{tile.type(f'!tw.ptr<{tile.element}>')}, {where}>"


def pointers(name, tile, where, base):
    return f"""
  %{name}r = tw.range 0 to {tile.size} : tensor<{tile.size}xi32, {where}>
  %{name}i = tw.reshape %{name}r : tensor<{tile.size}xi32, {where}> -> tensor<{tile.type("i32")}, {where}>
  %{name}s = tw.splat {base} : !tw.ptr<{tile.element}> -> {pointers_to(tile, where)}
  %{name} = tw.addptr %{name}s, %{name}i : {pointers_to(tile, where)}, tensor<{tile.type("i32")}, {where}>"""


def kernel(tile, result, source, destination, body, vector):
    """Loads %v and stores %w; `body` makes the one of the other."""
    return f"""
module attributes {{tw.num_warps = {1 << tile.warps} : i32}} {{
func.func @kernel(%x: !tw.ptr<{tile.element}>, %y: !tw.ptr<{tile.element}>, %n: i32) {{
  {pointers("p", tile, source, "%x")}
  %v = tw.load %p {{tw.vector_elements = {vector} : i32}} : {pointers_to(tile, source)} -> tensor<{tile.type()}, {source}>
  {body}
  {pointers("q", result, destination, "%y")}
  tw.store %q, %w : tensor<{result.type(f"!tw.ptr<{tile.element}>")}, {destination}>, tensor<{result.type()}, {destination}>
  func.return
}}
}}"""


def run(text, target, tile, expected=None, limit=None, slot=0):
    allocate = f"--tw-allocate-shared=shared-limit={limit}" if limit else "--tw-allocate-shared"
    done = subprocess.run(
        [program("tools/tilewright-opt"), "-", "--tw-verify-layouts", allocate, "--tw-insert-barriers",
         f"--tw-emit-ptx=target={target}", "-o", "/dev/null"],
        input=text, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr[:4000] + text
    numbers = np.random.default_rng(tile.size)
    x = numbers.integers(-128, 127, tile.size).astype(TYPES[tile.element])
    y = np.zeros_like(x)
    launch(done.stdout, (1,), (x, y, slot))
    assert np.array_equal(y, x if expected is None else expected(x)), text
    return done.stdout


def random_tile(choose, least=6, most=11):
    element, warps = choose.choice([*TYPES, "i16", "i16"]), choose.randrange(3)
    size = choose.randint(least, most)
    columns = choose.randint(1, size - 1)
    return Tile(1 << size - columns, 1 << columns, element, warps)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_layout_changes(target):
    """In one go, or in pieces where memory is short."""
    choose, pieces = random.Random(3), 0
    for _ in range(40):
        tile = random_tile(choose, 7)
        vector = choose.choice([1, 2])
        source, destination = coalesced(tile, vector), random_layout(tile, choose)
        if choose.random() < 0.5:
            middle = random_layout(tile, choose)
            body = f"""
  %m = tw.convert_layout %v : tensor<{tile.type()}, {source}> -> tensor<{tile.type()}, {middle}>
  %w = tw.convert_layout %m : tensor<{tile.type()}, {middle}> -> tensor<{tile.type()}, {destination}>"""
        else:
            body = f"  %w = tw.convert_layout %v : tensor<{tile.type()}, {source}> -> tensor<{tile.type()}, {destination}>"
        whole = tile.size * np.dtype(TYPES[tile.element]).itemsize
        limit = choose.choice([None, max(256, whole // 4)])
        pieces += run(kernel(tile, tile, source, destination, body, vector), target, tile, limit=limit).count("bar.sync") > 3
    assert pieces > 5


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_buffers(target):
    """Stored in one layout, loaded in another, also through slots and exchanged dimensions."""
    choose, forms = random.Random(4), {"ldmatrix": 0, "stmatrix": 0, ".trans": 0}
    for _ in range(40):
        tile = random_tile(choose)
        offsets, vector = memory(tile, choose), choose.choice([1, 2])
        source, written = coalesced(tile, vector), random_layout(tile, choose)
        plain = f"!tw.buffer<{tile.type()}, {offsets}>"
        slots = choose.choice([1, 3])
        body = f"""
  %u = tw.convert_layout %v : tensor<{tile.type()}, {source}> -> tensor<{tile.type()}, {written}>"""
        if slots == 1:
            body += f"""
  %b = tw.alloc_shared %u : tensor<{tile.type()}, {written}> -> : {plain}"""
        else:
            ring = f"!tw.buffer<{tile.type()}, {offsets}, {slots}>"
            body += f"""
  %ring = tw.alloc_shared : {ring}
  %b = tw.buffer_slot %ring[%n] : {ring} -> {plain}
  tw.shared_store %u, %b : tensor<{tile.type()}, {written}>, {plain}
  tw.barrier"""
        result, expected, buffer, view = tile, None, "%b", plain
        if choose.random() < 0.3:
            result = Tile(tile.columns, tile.rows, tile.element, tile.warps)
            view, buffer = f"!tw.buffer<{result.type()}, {transposed(tile, offsets)}>", "%t"
            body += f"""
  %t = tw.buffer_permute %b [1, 0] : {plain} -> {view}"""
            expected = lambda x, tile=tile: x.reshape(tile.rows, tile.columns).T.reshape(-1)  # noqa: E731
        destination = random_layout(result, choose)
        body += f"""
  %w = tw.shared_load {buffer} : {view} -> tensor<{result.type()}, {destination}>"""
        ptx = run(kernel(tile, result, source, destination, body, vector), target, tile, expected, slot=slots - 1)
        for form in forms:
            forms[form] += form in ptx
    assert forms["ldmatrix"] > 3 and forms[".trans"] > 0
    assert (forms["stmatrix"] > 1) == (target == "sm_90a")


def test_asynchronous_copies():
    """Masked and not, with what stands in for masked elements, of all widths."""
    choose, widths = random.Random(5), set()
    for _ in range(40):
        tile = random_tile(choose)
        offsets, vector = memory(tile, choose), 1 << choose.randrange(4)
        held = min(vector, tile.columns)
        source, destination = coalesced(tile, held), random_layout(tile, choose)
        plain, where = f"!tw.buffer<{tile.type()}, {offsets}>", f"tensor<{tile.type('i1')}, {source}>"
        bound, other = choose.choice([None, tile.size // 2, tile.size]), choose.choice([None, 0, 7])
        body, operands, expected = "", "", None
        if bound is not None:
            body = f"""
  %limit = arith.constant dense<{bound}> : tensor<{tile.type("i32")}, {source}>
  %mask = arith.cmpi slt, %pi, %limit : tensor<{tile.type("i32")}, {source}>"""
            operands = f" mask %mask : {where}"
            expected = lambda x, bound=bound, other=other: np.where(np.arange(x.size) < bound, x, other or 0)  # noqa: E731
            if other is not None:
                body += f"""
  %other = arith.constant dense<{other}> : tensor<{tile.type()}, {source}>"""
                operands += f" other %other : tensor<{tile.type()}, {source}>"
        body += f"""
  %b = tw.alloc_shared : {plain}
  tw.async_copy %p, %b{operands} {{tw.vector_elements = {held} : i32}} : {pointers_to(tile, source)}, {plain}
  tw.async_commit
  tw.async_wait 0
  %w = tw.shared_load %b : {plain} -> tensor<{tile.type()}, {destination}>"""
        ptx = run(kernel(tile, tile, source, destination, body, 1), "sm_80", tile, expected)
        copies = [line for line in ptx.splitlines() if "cp.async.c" in line and "commit" not in line]
        widths |= {int(line.split("],")[2 if line.count("],") > 2 else -1].split(",")[0].strip(" ;")) for line in copies}
    assert widths == {4, 8, 16}
