# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 15: a mixture of experts: rows that are sorted by expert without being moved.

A counting sort by atomics, products whose rows are gathered and scattered, and a grid
whose size only the GPU knows.

    python tutorials/15_mixture_of_experts.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

# A layer with experts has many weight matrices, and a router that sends each token to the
# TOP_K best of them. For token t, its experts e and their shares s:
#
#   y[t] = sum over its experts of  s * down[e] (silu(gate[e] x[t]) * up[e] x[t])
#
# The tokens of one expert make a matrix product, but they are scattered over the batch, and
# how many there are is known on the GPU only. To ask for it would stop the host until
# all work so far is done, in each layer.
#
# Call a token on its way to one of its experts a slot: slot t * TOP_K + j. Slots are sorted by
# expert here, but what is sorted are their numbers. The rows of x stay where they are, and the
# products gather them.
#
# A sort by counting, in two kernels. First each slot takes a number within its
# expert: an atomic addition returns what was there before, which is how many came earlier.
# Who is first depends on the moment, so the order within an expert does, too; but each row of a
# product is computed for itself, and the result is the same in any order.


@tw.jit
def count_kernel(expert_ptr, count_ptr, rank_ptr, slots, BLOCK: tl.constexpr):
    slot = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = slot < slots
    expert = tl.load(expert_ptr + slot, mask=mask, other=0)
    # "relaxed": only the number matters, nothing else that was written has to be seen with it.
    rank = tl.atomic_add(count_ptr + expert, 1, mask=mask, sem="relaxed")
    tl.store(rank_ptr + slot, rank, mask=mask)


# Now all counts are known, and every program can compute where each expert begins: a
# running sum over a few dozen numbers, which is cheaper than a kernel that writes it down.


@tw.jit
def sort_kernel(expert_ptr, count_ptr, rank_ptr, sorted_ptr, slots, experts, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    slot = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = slot < slots
    expert = tl.load(expert_ptr + slot, mask=mask, other=0)
    rank = tl.load(rank_ptr + slot, mask=mask, other=0)
    each = tl.arange(0, EXPERTS)
    counts = tl.load(count_ptr + each, mask=each < experts, other=0)
    begins = tl.cumsum(counts, axis=0) - counts
    # An element of a tile by a number that is computed: within a program there are no addresses.
    place = tl.gather(begins, expert, axis=0) + rank
    tl.store(sorted_ptr + place, slot, mask=mask)


# The products. A tile must not mix experts, so each expert gets tiles of its own, the
# last of them not full. How many tiles that makes depends on the counts; at most it is
# slots / BLOCK_M + experts. So many programs are started, and those beyond the end leave
# at once, which costs less than to ask. Each finds its expert as above, by sums.


@tw.jit
def find_tile(count_ptr, tile, experts, EXPERTS: tl.constexpr, BLOCK_M: tl.constexpr):
    """The expert of a tile, its first place among the sorted slots, and how many there are from there on."""
    each = tl.arange(0, EXPERTS)
    counts = tl.load(count_ptr + each, mask=each < experts, other=0)
    ends = tl.cumsum((counts + BLOCK_M - 1) // BLOCK_M, axis=0)
    # The experts whose tiles all come before this one.
    before = ends <= tile
    expert = tl.sum(before.to(tl.int32), axis=0)
    row = (tile - tl.max(tl.where(before, ends, 0), axis=0)) * BLOCK_M
    place = tl.sum(tl.where(before, counts, 0), axis=0) + row
    left = tl.sum(tl.where(each == expert, counts, 0), axis=0) - row
    return expert, place, left


CONFIGS = [
    tw.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_warps=8, num_stages=3),
    # Two of these fit a multiprocessor: while one waits or stores, the other one multiplies.
    tw.Config({"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}, num_warps=4, num_stages=4),
    tw.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64}, num_warps=4, num_stages=4),
    # For a handful of tokens per expert: what counts is that many weights are on their way.
    tw.Config({"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 64}, num_warps=4, num_stages=5),
]
SMALL = [tw.Config({"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32}, num_warps=4)]


@tw.autotune(configs=CONFIGS if lesson.ON_GPU else SMALL, key=["slots", "experts", "hidden", "inner"])
@tw.jit
def up_kernel(
    x_ptr,
    w_ptr,
    sorted_ptr,
    count_ptr,
    h_ptr,
    slots,
    experts,
    hidden,
    inner,
    TOP_K: tl.constexpr,
    EXPERTS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # Programs with neighbouring numbers take neighbouring tiles of rows and the same columns:
    # the tiles of one expert read the same weights at about the same time, from the L2 cache.
    expert, place, left = find_tile(count_ptr, tl.program_id(0), experts, EXPERTS, BLOCK_M)
    if left <= 0:
        return
    row = tl.arange(0, BLOCK_M)
    slot = tl.load(sorted_ptr + place + row, mask=row < left, other=0)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    along = tl.arange(0, BLOCK_K)

    # Gathering: a row of the tile is the row of x that belongs to the slot's token.
    x_ptrs = x_ptr + (slot // TOP_K).to(tl.int64)[:, None] * hidden + along[None, :]
    # gate[e] and up[e] lie one after the other, inner x hidden each.
    w_start = w_ptr + expert.to(tl.int64) * (2 * inner * hidden)
    gate_ptrs = w_start + (columns % inner)[None, :] * hidden + along[:, None]
    up_ptrs = gate_ptrs + inner * hidden
    gate = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, hidden, BLOCK_K):
        # A tile of x is loaded once for two products.
        x = tl.load(x_ptrs + start, mask=along[None, :] < hidden - start, other=0.0)
        w_mask = along[:, None] < hidden - start
        gate = tl.dot(x, tl.load(gate_ptrs + start, mask=w_mask, other=0.0), gate)
        up = tl.dot(x, tl.load(up_ptrs + start, mask=w_mask, other=0.0), up)
    # What follows is in sorted order, so that the next product reads its rows one after the other.
    h = gate * tl.sigmoid(gate) * up
    h_ptrs = h_ptr + (place + row).to(tl.int64)[:, None] * inner + columns[None, :]
    tl.store(h_ptrs, h.to(h_ptr.dtype.element_ty), mask=(row < left)[:, None] & (columns < inner)[None, :])


@tw.autotune(configs=CONFIGS if lesson.ON_GPU else SMALL, key=["slots", "experts", "hidden", "inner"])
@tw.jit
def down_kernel(
    h_ptr,
    w_ptr,
    sorted_ptr,
    count_ptr,
    share_ptr,
    out_ptr,
    slots,
    experts,
    hidden,
    inner,
    EXPERTS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    expert, place, left = find_tile(count_ptr, tl.program_id(0), experts, EXPERTS, BLOCK_M)
    if left <= 0:
        return
    row = tl.arange(0, BLOCK_M)
    is_row = row < left
    slot = tl.load(sorted_ptr + place + row, mask=is_row, other=0)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    along = tl.arange(0, BLOCK_K)

    # Rows past this expert's last one belong to the next expert, or to nobody.
    h_ptrs = h_ptr + (place + row).to(tl.int64)[:, None] * inner + along[None, :]
    w_start = w_ptr + expert.to(tl.int64) * (hidden * inner)
    w_ptrs = w_start + (columns % hidden)[None, :] * inner + along[:, None]
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, inner, BLOCK_K):
        inside = along < inner - start
        h = tl.load(h_ptrs + start, mask=is_row[:, None] & inside[None, :], other=0.0)
        w = tl.load(w_ptrs + start, mask=inside[:, None], other=0.0)
        accumulator = tl.dot(h, w, accumulator)
    share = tl.load(share_ptr + slot, mask=is_row, other=0.0)
    # Scattering: back to the slot's own row. Each has one, so that no addition is needed here,
    # and no atomics, whose order and therefore rounding would change from run to run.
    out_ptrs = out_ptr + slot.to(tl.int64)[:, None] * hidden + columns[None, :]
    out = (accumulator * share[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptrs, out, mask=is_row[:, None] & (columns < hidden)[None, :])


@tw.jit
def combine_kernel(out_ptr, y_ptr, hidden, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < hidden
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for j in tl.static_range(TOP_K):
        total += tl.load(out_ptr + (token * TOP_K + j) * hidden + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + token * hidden + columns, total.to(y_ptr.dtype.element_ty), mask=mask)


def sort_slots(chosen, experts: int):
    """(the slots sorted by expert, how many each expert has) for the experts chosen by each token."""
    slots = chosen.shape[0] * chosen.shape[1]
    counts, ranks, order = lesson.zeros(experts, "int32"), lesson.empty(slots, "int32"), lesson.empty(slots, "int32")
    grid = (tw.cdiv(slots, 256),)
    count_kernel[grid](chosen, counts, ranks, slots, BLOCK=256)
    sort_kernel[grid](chosen, counts, ranks, order, slots, experts, EXPERTS=tw.next_power_of_2(experts), BLOCK=256)
    return order, counts


def mixture(x, chosen, shares, w_up, w_down):
    """The layer; chosen and shares are tokens x TOP_K, w_up experts x 2 inner x hidden, w_down experts x hidden x inner."""
    (tokens, hidden), top_k = x.shape, chosen.shape[1]
    experts, _, inner = w_down.shape
    slots = tokens * top_k
    order, counts = sort_slots(chosen, experts)
    h, out = lesson.empty((slots, inner), "float16"), lesson.empty((slots, hidden), "float16")

    def grid(columns):
        # No tile of a row belongs to two experts; a last one that is not full has each of them at most.
        return lambda meta: (slots // meta["BLOCK_M"] + min(experts, slots), tw.cdiv(columns, meta["BLOCK_N"]))

    rounded = tw.next_power_of_2(experts)
    up_kernel[grid(inner)](x, w_up, order, counts, h, slots, experts, hidden, inner, TOP_K=top_k, EXPERTS=rounded)
    down_kernel[grid(hidden)](h, w_down, order, counts, shares, out, slots, experts, hidden, inner, EXPERTS=rounded)
    y = lesson.empty_like(x)
    combine_kernel[(tokens, tw.cdiv(hidden, 1024))](out, y, hidden, TOP_K=top_k, BLOCK=1024)
    return y


def reference(x, chosen, shares, w_up, w_down):
    y = np.zeros(x.shape)
    x, inner = x.astype(np.float64), w_down.shape[2]
    for token, expert, share in ((t, e, s) for t in range(len(x)) for e, s in zip(chosen[t], shares[t])):
        both = w_up[expert].astype(np.float64) @ x[token]
        gate, up = both[:inner], both[inner:]
        y[token] += share * (w_down[expert].astype(np.float64) @ (gate / (1 + np.exp(-gate)) * up))
    return y


def route(rng, tokens: int, experts: int, top_k: int):
    """TOP_K different experts for each token, some of them far more often than others, and their shares."""
    logits = rng.standard_normal((tokens, experts)) + np.linspace(0, 3, experts)
    chosen = np.argsort(-logits, axis=1)[:, :top_k].astype(np.int32)
    shares = np.exp(np.take_along_axis(logits, chosen, axis=1))
    return chosen, (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)


def check(tokens: int, experts: int, top_k: int, hidden: int, inner: int):
    print(f"{tokens} tokens, {top_k} of {experts} experts, {hidden} x {inner}")
    rng = np.random.default_rng(0)
    chosen, shares = route(rng, tokens, experts, top_k)
    order, counts = sort_slots(lesson.to_device(chosen), experts)
    by_expert = chosen.reshape(-1)[lesson.to_numpy(order)]
    lesson.check("slots per expert", counts, np.bincount(chosen.reshape(-1), minlength=experts), tolerance=0.0)
    lesson.check("sorted", lesson.to_device(by_expert), np.sort(by_expert), tolerance=0.0)
    lesson.check("each slot once", lesson.to_device(np.sort(lesson.to_numpy(order))), np.arange(chosen.size), tolerance=0.0)

    x = rng.standard_normal((tokens, hidden)).astype(np.float16)
    w_up = (rng.standard_normal((experts, 2 * inner, hidden)) / hidden**0.5).astype(np.float16)
    w_down = (rng.standard_normal((experts, hidden, inner)) / inner**0.5).astype(np.float16)
    y = mixture(*map(lesson.to_device, (x, chosen, shares, w_up, w_down)))
    lesson.check("the layer", y, reference(x, chosen, shares, w_up, w_down), tolerance=3e-3)


def sweep():
    """Operations per second of a layer with 32 experts against the tokens, beside torch, expert by expert."""
    import torch

    experts, top_k, hidden, inner = 32, 4, 2048, 2048
    w_up = torch.randn(experts, 2 * inner, hidden, device="cuda", dtype=torch.float16) / hidden**0.5
    w_down = torch.randn(experts, hidden, inner, device="cuda", dtype=torch.float16) / inner**0.5

    def expert_by_expert(x, chosen, shares):
        y = torch.zeros_like(x)
        for expert in range(experts):
            # Here the host waits for the GPU: it needs to know how many tokens there are.
            tokens, place = torch.where(chosen == expert)
            gate, up = torch.mm(x[tokens], w_up[expert].T).chunk(2, dim=1)
            out = torch.mm(torch.nn.functional.silu(gate) * up, w_down[expert].T)
            y.index_add_(0, tokens, out * shares[tokens, place][:, None].half())
        return y

    counts = [64, 256, 1024, 4096, 16384]
    speeds = {"Tilewright": [], "torch": []}
    for tokens in counts:
        chosen, shares = map(lesson.to_device, route(np.random.default_rng(0), tokens, experts, top_k))
        x = torch.randn(tokens, hidden, device="cuda", dtype=torch.float16)
        operations = 2 * tokens * top_k * 3 * inner * hidden
        speeds["Tilewright"].append(lesson.tflops_per_second(lambda: mixture(x, chosen, shares, w_up, w_down), operations))
        speeds["torch"].append(lesson.tflops_per_second(lambda: expert_by_expert(x, chosen, shares), operations))
    lesson.show("mixture of experts", "tokens", counts, speeds, unit="TFLOP/s")


# What to try: descriptors for the weights (lesson 9), which the copy engine then brings in; weights
# of 8 bits (lesson 14), which pay most where each expert has few tokens; a fixed number of
# programs that take tile after tile (lesson 8) in place of the grid that is too large.

if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    check(37, 5, 2, 48, 40)
    check(3, 8, 1, 32, 32)
    if lesson.ON_GPU:
        check(500, 8, 2, 512, 256)
    if lesson.ON_GPU and not options.quick:
        sweep()
