# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the matrix instructions do: mma.sync, wgmma, ldmatrix, stmatrix.

Fragments and descriptors are decoded as the PTX manual draws them, not
with the compiler's layouts. Products are exact and summed in f64, then
rounded to the accumulator.
"""

import re

import ml_dtypes
import numpy as np

from harness.ptx_handlers import handles
from harness.ptx_words import SEVERAL_WARPS, EmulationError

OPERANDS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f64": np.float64, "s8": np.int8, "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
LANE = np.arange(32)
GROUP, MEMBER = LANE // 4, LANE % 4


def decode(raw: np.ndarray, kind: str) -> np.ndarray:
    """Bytes (..., n * size) as numbers in f64, or int64 for integers."""
    values = np.ascontiguousarray(raw).view(OPERANDS[kind])
    if kind == "tf32":
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return values.astype(np.int64 if kind in ("s8", "u8") else np.float64)


def words_of(machine, operands, threads, kind="b32"):
    """Registers as (thread, register) words."""
    return np.stack([machine.read(operand, kind)[threads] for operand in operands], axis=1)


def multiply(a, b, c, accumulator):
    """Rows x K times K x columns, added to c and rounded once."""
    product = c.astype(a.dtype) + a @ b
    if accumulator == "s32":
        return (product & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    return product.astype({"f32": np.float32, "f16": np.float16, "f64": np.float64}[accumulator])


# Accumulators as 16 x N: registers run over two columns, two row halves, then blocks of columns.


def scatter_accumulator(words, columns, accumulator):
    """(32, words) of one warp to (16, columns)."""
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[accumulator]
    values = np.ascontiguousarray(words).view(dtype)
    tile = np.zeros((16, columns), dtype)
    for index in range(values.shape[1]):
        tile[GROUP + 8 * (index // 2 % 2), 8 * (index // 4) + 2 * MEMBER + index % 2] = values[:, index]
    return tile


def gather_accumulator(tile, count, accumulator):
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[accumulator]
    values = np.zeros((32, count), dtype)
    for index in range(count):
        values[:, index] = tile[GROUP + 8 * (index // 2 % 2), 8 * (index // 4) + 2 * MEMBER + index % 2]
    return values.view(np.uint32)


def scatter_a(words, kind):
    """Four words of each lane to 16 x K."""
    values = decode(words.view(np.uint8), kind)
    per_word = values.shape[1] // 4
    tile = np.zeros((16, 8 * per_word), values.dtype)
    for register in range(4):
        for element in range(per_word):
            column = per_word * (MEMBER + 4 * (register // 2)) + element
            tile[GROUP + 8 * (register % 2), column] = values[:, register * per_word + element]
    return tile


def scatter_b(words, kind):
    values = decode(words.view(np.uint8), kind)
    per_word = values.shape[1] // 2
    tile = np.zeros((8 * per_word, 8), values.dtype)
    for register in range(2):
        for element in range(per_word):
            tile[per_word * (MEMBER + 4 * register) + element, GROUP] = values[:, register * per_word + element]
    return tile


def whole_warps(machine):
    active = machine.active.reshape(-1, 32)
    if (active.any(axis=1) != active.all(axis=1)).any():
        raise EmulationError("a warp reaches a matrix instruction in parts")
    return [warp * 32 + LANE for warp in np.nonzero(active.all(axis=1))[0]]


@handles("mma")
def mma(machine, instruction):
    accumulator, kind_a, kind_b = instruction.parts[-4:-1]
    outputs, a, b, c = (machine.list_of(operand) for operand in instruction.operands)
    if "m8n8k4" in instruction.parts:
        return mma_double(machine, outputs, a, b, c)
    results = np.zeros((machine.num_threads, len(outputs)), np.uint32)
    for threads in whole_warps(machine):
        tile = multiply(
            scatter_a(words_of(machine, a, threads), kind_a),
            scatter_b(words_of(machine, b, threads), kind_b),
            scatter_accumulator(words_of(machine, c, threads), 8, accumulator),
            accumulator,
        )
        results[threads] = gather_accumulator(tile, 4, accumulator)
    for index, output in enumerate(outputs):
        machine.write(output, results[:, index], "b32")
    return None


def mma_double(machine, outputs, a, b, c):
    results = np.zeros((machine.num_threads, 2))
    for threads in whole_warps(machine):
        left, right, sums = np.zeros((8, 4)), np.zeros((4, 8)), np.zeros((8, 8))
        left[GROUP, MEMBER] = machine.read(a[0], "f64")[threads]
        right[MEMBER, GROUP] = machine.read(b[0], "f64")[threads]
        for index in range(2):
            sums[GROUP, 2 * MEMBER + index] = machine.read(c[index], "f64")[threads]
        sums += left @ right
        for index in range(2):
            results[threads, index] = sums[GROUP, 2 * MEMBER + index]
    for index, output in enumerate(outputs):
        machine.write(output, results[:, index], "f64")


# ---------------------------------------------------------------------------
# wgmma
# ---------------------------------------------------------------------------


def descriptor_places(bits, extent, k, element_bytes, is_mn_major):
    """Byte addresses (extent, k) that a descriptor names."""
    start, leading, stride = ((bits >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    mode = bits >> 62
    log2_chunks = [0, 3, 2, 1][mode]
    if bits >> 49 & 7:
        raise EmulationError("a descriptor with a base offset")
    row = 16 << log2_chunks
    mn, step = np.arange(extent)[:, None], np.arange(k)[None, :]
    if is_mn_major:
        along_mn, along_k = (leading, stride) if mode else (stride, leading)
        per_row = row // element_bytes
        places = mn % per_row * element_bytes + mn // per_row * along_mn + step % 8 * row + step // 8 * along_k
    else:
        per_chunk = 16 // element_bytes
        along_k = 16 if mode else leading
        places = step % per_chunk * element_bytes + step // per_chunk * along_k + mn % 8 * row + mn // 8 * stride
    places = places + start
    for bit in range(log2_chunks):
        places = places ^ ((places >> (7 + bit) & 1) << (4 + bit))
    return places


def read_descriptor(machine, operand, threads, extent, k, kind, is_mn_major):
    values = machine.read(operand, "u64")[threads]
    if (values != values[0]).any():
        raise EmulationError("a descriptor differs between threads of a warpgroup")
    size = np.dtype(OPERANDS[kind]).itemsize
    places = descriptor_places(int(values[0]), extent, k, size, is_mn_major)[..., None] + np.arange(size)
    raw = machine.shared.load_async(places)
    machine.product_reads.append((machine.product_group, places))
    return decode(raw.reshape(extent, k * size), kind)


def wgmma_product(machine, instruction):
    shape = next(part for part in instruction.parts if re.fullmatch(r"m64n\d+k\d+", part))
    n, k = (int(number) for number in re.fullmatch(r"m64n(\d+)k(\d+)", shape).groups())
    accumulator, kind_a, kind_b = instruction.parts[-3:]
    outputs, a, b, scale = instruction.operands[:4]
    outputs = machine.list_of(outputs)
    flags = [int(flag) for flag in instruction.operands[4:]]
    if flags[:2] not in ([], [1, 1]):
        raise EmulationError("negated operands are not emulated")
    a_in_registers = a[0] == "{"
    transposes = flags[2:] + [0, 0]
    transpose_a, transpose_b = (0, transposes[0]) if a_in_registers else transposes[:2]
    adds = machine.read(scale, "pred")
    read = (outputs if adds.any() else []) + (machine.list_of(a) if a_in_registers else [])
    if not machine.unordered.isdisjoint(read):
        raise EmulationError("a product takes registers that were written since wgmma.fence")
    before = np.stack([machine.words(output).astype(np.uint32) for output in outputs], axis=1)
    results = before.copy()
    warps = whole_warps(machine)
    for first in range(0, len(warps), 4):
        group = np.concatenate(warps[first : first + 4])
        if len(group) != 128 or group[0] % 128 or group[-1] != group[0] + 127:
            raise EmulationError("a warpgroup reaches wgmma in parts")
        right = read_descriptor(machine, b, group, n, k, kind_b, transpose_b).T
        whole_left = None if a_in_registers else read_descriptor(machine, a, group, 64, k, kind_a, transpose_a)
        for warp in range(4):
            threads = group[32 * warp : 32 * warp + 32]
            if a_in_registers:
                left = scatter_a(words_of(machine, machine.list_of(a), threads), kind_a)
            else:
                left = whole_left[16 * warp : 16 * warp + 16]
            sums = scatter_accumulator(before[threads], n, accumulator)
            if not adds[threads[0]]:
                sums = np.zeros_like(sums)
            count = n // 2
            results[threads] = gather_accumulator(multiply(left, right, sums, accumulator), count, accumulator)
    for index, output in enumerate(outputs):
        machine.products.pop(output, None)
        machine.write(output, results[:, index], "b32")
        machine.products[output] = machine.product_group
        machine.unordered.discard(output)


@handles("wgmma")
def wgmma(machine, instruction):
    parts = instruction.parts
    if "fence" in parts:
        machine.unordered.clear()
    elif "commit_group" in parts:
        machine.product_group += 1
    elif "wait_group" in parts:
        pending = int(instruction.operands[0])
        newest_done = machine.product_group - 1 - pending
        machine.products = {name: group for name, group in machine.products.items() if group > newest_done}
        for group, places in machine.product_reads:
            if group <= newest_done:
                machine.shared.finish_reading(places, SEVERAL_WARPS)
        machine.product_reads = [read for read in machine.product_reads if read[0] > newest_done]
    else:
        wgmma_product(machine, instruction)


# ---------------------------------------------------------------------------
# Matrices of 8 x 8 units of 16 bits
# ---------------------------------------------------------------------------


def matrix_rows(machine, place, threads, count):
    """Addresses (matrix, row): lane 8 m + i gives row i of matrix m."""
    return machine.address(place)[threads][: 8 * count].reshape(count, 8)


@handles("ldmatrix")
def load_matrix(machine, instruction):
    outputs, place = machine.list_of(instruction.operands[0]), instruction.operands[1]
    results = np.zeros((machine.num_threads, len(outputs)), np.uint32)
    for threads in whole_warps(machine):
        rows = matrix_rows(machine, place, threads, len(outputs))
        for index in range(len(outputs)):
            matrix = machine.shared.load(rows[index], 16, threads[:8]).copy().view(np.uint16)
            if "trans" in instruction.parts:
                matrix = matrix.T
            pairs = np.stack([matrix[GROUP, 2 * MEMBER], matrix[GROUP, 2 * MEMBER + 1]], axis=1)
            results[threads, index] = np.ascontiguousarray(pairs).view(np.uint32)[:, 0]
    for index, output in enumerate(outputs):
        machine.write(output, results[:, index], "b32")


@handles("stmatrix")
def store_matrix(machine, instruction):
    place, sources = instruction.operands[0], machine.list_of(instruction.operands[1])
    for threads in whole_warps(machine):
        rows = matrix_rows(machine, place, threads, len(sources))
        for index, source in enumerate(sources):
            pairs = machine.read(source, "b32")[threads].copy().view(np.uint16).reshape(32, 2)
            matrix = np.zeros((8, 8), np.uint16)
            matrix[GROUP, 2 * MEMBER], matrix[GROUP, 2 * MEMBER + 1] = pairs[:, 0], pairs[:, 1]
            if "trans" in instruction.parts:
                matrix = matrix.T
            machine.shared.store(rows[index], np.ascontiguousarray(matrix).view(np.uint8).reshape(8, 16), threads[:8])
