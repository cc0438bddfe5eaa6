# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 13: attention for one new token, over keys and values that lie in pages.

Addresses through a table, work that is split so that the GPU is full, and partial
softmaxes that are joined afterwards.

    python tutorials/13_paged_attention.py [--quick]
"""

import math

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# A server that generates text keeps the keys and values of all tokens so far. It does
# not know how long a sequence will get, so it gives out memory in pages of 16 tokens or
# so, as an operating system does, and writes down for each sequence which pages it has:
#
#   k_cache, v_cache   pages x PAGE x heads x HEAD_DIM
#   table              sequences x most pages of one; table[s, i] holds tokens i * PAGE, ...
#   lengths            tokens of each sequence so far
#
# In each step there is one query per sequence and head. All keys and values are read once
# and used for one product, so memory is everything: the kernel is good when it reads at
# the memory's speed, and the tensor cores idle whatever it does.
#
# Several heads of queries share a head of keys and values (GROUP of them, 4 or 8 in most
# models). A program takes all of them together: the keys are then loaded once for GROUP
# products. A product on tensor cores has at least 16 rows, so GROUP is filled up; the rows
# that nobody needs cost nothing while the kernel waits for memory.
#
# A GPU with 132 multiprocessors and a batch of 8 sequences with 8 heads: 64 programs would
# leave half of it idle, and each would walk through its sequence alone. So a sequence is cut
# into parts, and each part gets a program, which leaves its sums as in lesson 6:
#
#   out   the weighted sum of values, divided by the sum of the weights
#   lse   log2 of that sum of weights, by which the parts are put together afterwards
LOG2_E = tl.constexpr(1.4426950408889634)

CONFIGS = [
    # Blocks of 64 tokens need fewer steps; with 32, four programs fit a multiprocessor in place of two.
    tw.Config({"BLOCK": 32}, num_warps=4, num_stages=3),
    tw.Config({"BLOCK": 64}, num_warps=4, num_stages=3),
    tw.Config({"BLOCK": 32}, num_warps=4, num_stages=4),
    tw.Config({"BLOCK": 128}, num_warps=8, num_stages=2),
]
SMALL = [tw.Config({"BLOCK": 32}, num_warps=4)]


# The lengths are no part of the key: they grow with each token, and each time tuning would begin anew.
@tw.autotune(configs=CONFIGS if lesson.ON_GPU else SMALL, key=["HEADS", "GROUP", "HEAD_DIM", "PAGE"])
@tw.jit
def part_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    table_ptr,
    lengths_ptr,
    out_ptr,
    lse_ptr,
    scale,
    table_width,
    part,
    HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    sequence, head, number = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    length = tl.load(lengths_ptr + sequence)
    begin = number * part
    end = min(length, begin + part)

    member = tl.arange(0, ROWS)
    dim = tl.arange(0, HEAD_DIM)
    # Queries and results are sequences x heads x GROUP x HEAD_DIM, results in parts besides.
    row = (sequence * HEADS + head) * GROUP + member
    is_row = member < GROUP
    q = tl.load(q_ptr + row[:, None] * HEAD_DIM + dim[None, :], mask=is_row[:, None], other=0.0)

    log2_scale = scale * LOG2_E
    accumulator = tl.zeros((ROWS, HEAD_DIM), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    # A number instead of -infinity: the difference of two of them is zero and not NaN, so
    # that parts beyond the end need no case of their own.
    largest = tl.full((ROWS,), -1.0e30, dtype=tl.float32)

    for start in range(begin, end, BLOCK):
        token = start + tl.arange(0, BLOCK)
        inside = token < end
        # The page of each token. A block may hold many pages or a part of one: BLOCK and
        # PAGE have nothing to do with each other. The loads of the next block's page
        # numbers and of its keys are on their way while this block is multiplied.
        page = tl.load(table_ptr + sequence * table_width + token // PAGE, mask=inside, other=0)
        # Pages times their size pass 2^31 in a large cache.
        place = (page.to(tl.int64) * PAGE + token % PAGE) * (HEADS * HEAD_DIM) + head * HEAD_DIM
        # One token's key is contiguous, 256 bytes of float16 for 128 dimensions: whatever
        # the order of the pages, whole sectors are read.
        k = tl.load(k_ptr + place[:, None] + dim[None, :], mask=inside[:, None], other=0.0)
        scores = tl.dot(q, k.T) * log2_scale
        scores = tl.where(inside[None, :], scores, -1.0e30)
        now = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - now[:, None])
        shrink = tl.exp2(largest - now)
        total = total * shrink + tl.sum(weights, axis=1)
        # Behind the end the values must be zeros, not whatever is in memory: a weight of
        # zero times infinity would not be zero.
        v = tl.load(v_ptr + place[:, None] + dim[None, :], mask=inside[:, None], other=0.0)
        accumulator = tl.dot(weights.to(v.dtype), v, accumulator * shrink[:, None])
        largest = now

    out_row = row * tl.num_programs(2) + number
    # A part beyond the end has total = 0; its result is 0, and its lse so small that it gets no weight.
    out = accumulator / tl.maximum(total, 1.0e-30)[:, None]
    tl.store(out_ptr + out_row[:, None] * HEAD_DIM + dim[None, :], out, mask=is_row[:, None])
    tl.store(lse_ptr + out_row, largest + tl.log2(tl.maximum(total, 1.0e-30)), mask=is_row)


# The parts of a row are few and small: one program per row reads them all.


@tw.jit
def join_kernel(parts_ptr, lse_ptr, out_ptr, parts, PARTS: tl.constexpr, HEAD_DIM: tl.constexpr):
    row = tl.program_id(0)
    number = tl.arange(0, PARTS)
    dim = tl.arange(0, HEAD_DIM)
    lse = tl.load(lse_ptr + row * parts + number, mask=number < parts, other=-1.0e30)
    weights = tl.exp2(lse - tl.max(lse, axis=0))
    ptrs = parts_ptr + (row * parts + number)[:, None] * HEAD_DIM + dim[None, :]
    out = tl.load(ptrs, mask=(number < parts)[:, None], other=0.0)
    joined = tl.sum(out * weights[:, None], axis=0) / tl.sum(weights, axis=0)
    tl.store(out_ptr + row * HEAD_DIM + dim, joined)


def attend(q, k_cache, v_cache, table, lengths, longest: int, part: int = 0):
    """Attention of q (sequences x query heads x HEAD_DIM); `longest` is the greatest of the lengths."""
    sequences, query_heads, dim = q.shape
    _, page, heads, _ = k_cache.shape
    if not part:
        # Enough programs for four on each multiprocessor, but none with less than some blocks to go through.
        wanted = tw.cdiv(4 * lesson.multiprocessors(), sequences * heads)
        step = 256 if lesson.ON_GPU else 64
        part = tw.cdiv(tw.cdiv(longest, wanted), step) * step
    parts = tw.cdiv(longest, part)
    partial = lesson.empty((sequences, query_heads, parts, dim), "float32")
    lse = lesson.empty((sequences, query_heads, parts), "float32")
    out = lesson.empty_like(q)
    group = query_heads // heads
    part_kernel[(sequences, heads, parts)](
        q,
        k_cache,
        v_cache,
        table,
        lengths,
        partial,
        lse,
        1 / math.sqrt(dim),
        table.shape[1],
        part,
        HEADS=heads,
        GROUP=group,
        ROWS=max(16, tw.next_power_of_2(group)),
        HEAD_DIM=dim,
        PAGE=page,
    )
    join_kernel[(sequences * query_heads,)](partial, lse, out, parts, PARTS=tw.next_power_of_2(parts), HEAD_DIM=dim)
    return out


def pages_of(lengths, page: int, rng):
    """A table of pages in an order as it gets in a server that has run for a while, and how many pages there are."""
    counts = [tw.cdiv(int(length), page) for length in lengths]
    numbers = rng.permutation(sum(counts) + 3).astype(np.int32)
    table = np.zeros((len(counts), max(counts)), np.int32)
    at = 0
    for sequence, count in enumerate(counts):
        table[sequence, :count] = numbers[at : at + count]
        at += count
    return table, len(numbers)


def reference(q, k_cache, v_cache, table, lengths):
    sequences, query_heads, dim = q.shape
    _, page, heads, _ = k_cache.shape
    out = np.empty(q.shape)
    for s, length in enumerate(lengths):
        used = table[s, : -(-length // page)]
        k, v = (cache[used].reshape(-1, heads, dim)[:length].astype(np.float64) for cache in (k_cache, v_cache))
        k, v = (np.repeat(array, query_heads // heads, axis=1) for array in (k, v))
        scores = np.einsum("hd,thd->ht", q[s].astype(np.float64), k) / math.sqrt(dim)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[s] = np.einsum("ht,thd->hd", weights / weights.sum(axis=1, keepdims=True), v)
    return out


def check(lengths: list[int], heads: int, group: int, dim: int, page: int, part: int = 0):
    rng = np.random.default_rng(0)
    table, pages = pages_of(lengths, page, rng)
    q = rng.standard_normal((len(lengths), heads * group, dim)).astype(np.float16)
    k_cache, v_cache = (rng.standard_normal((pages, page, heads, dim)).astype(np.float16) for _ in range(2))
    # What no sequence owns must not be read: the pages that are free, and the rest of the last ones.
    owned = np.zeros((pages, page), bool)
    for s, length in enumerate(lengths):
        for token in range(length):
            owned[table[s, token // page], token % page] = True
    k_cache[~owned], v_cache[~owned] = np.nan, np.nan
    caches = lesson.to_device(k_cache), lesson.to_device(v_cache)
    out = attend(
        lesson.to_device(q), *caches, lesson.to_device(table), lesson.to_device(np.array(lengths, np.int32)), max(lengths), part
    )
    lesson.check(
        f"{len(lengths)} sequences, {heads} x {group} heads",
        out,
        reference(q, k_cache, v_cache, table, lengths),
        tolerance=3e-3,
    )


def sweep():
    """Bandwidth of reading keys and values against the length, beside torch, whose cache is one piece per sequence."""
    import torch

    sequences, heads, group, dim, page = 16, 8, 4, 128, 16
    lengths = [1024, 2048, 4096, 8192, 16384, 32768]
    speeds = {"Tilewright": [], "torch, contiguous": [], "torch, gathered": []}
    for length in lengths:
        table, pages = pages_of([length] * sequences, page, np.random.default_rng(0))
        table = lesson.to_device(table)
        q = torch.randn(sequences, heads * group, dim, device="cuda", dtype=torch.float16)
        k, v = (torch.randn(pages, page, heads, dim, device="cuda", dtype=torch.float16) for _ in range(2))
        all_lengths = torch.full((sequences,), length, device="cuda", dtype=torch.int32)

        def gather(cache):
            return cache[table].view(sequences, length, heads, dim).transpose(1, 2)

        def torch_attention(k, v):
            return torch.nn.functional.scaled_dot_product_attention(q[:, :, None], k, v, enable_gqa=True)

        whole_k, whole_v = gather(k).contiguous(), gather(v).contiguous()
        measured = {
            "Tilewright": lambda: attend(q, k, v, table, all_lengths, length),
            "torch, contiguous": lambda: torch_attention(whole_k, whole_v),
            "torch, gathered": lambda: torch_attention(gather(k), gather(v)),
        }
        moved = whole_k.nbytes + whole_v.nbytes
        for name, function in measured.items():
            speeds[name].append(lesson.gigabytes_per_second(function, moved))
    lesson.show("paged attention", "tokens", lengths, speeds)


# What to try: keys and values in 8 bits (`.to(tl.float16)` after the load, a scale per token
# and head) halve what is read; pages of 1 token (sparse attention that chooses its tokens) work
# as they are; `join_kernel` can go where the last part to finish joins them, as in lesson 5.

if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check([100, 1, 37], heads=2, group=4, dim=32, page=16)
    check([64, 129], heads=1, group=1, dim=16, page=4, part=64)
    check([33], heads=1, group=20, dim=16, page=64, part=32)
    if lesson.ON_GPU:
        check([1000, 4096, 17, 2], heads=8, group=4, dim=128, page=16)
    if lesson.ON_GPU and not options.quick:
        sweep()
