# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flex attention: functions of scores and masks, forward, backward, and decoding."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from .pointwise import integers, values
from .registry import Work, program

CLOSE = (2e-2, 2e-2)


def heads(device, batch=2, count=4, length=256, width=64, dtype=torch.float16, keys=None, key_heads=None, grad=False):
    shapes = ((batch, count, length, width), (batch, key_heads or count, keys or length, width))
    made = [values(device, *shapes[min(i, 1)], dtype=dtype, low=-1, high=1, seed=i) for i in range(3)]
    return tuple(x.requires_grad_(grad) for x in made)


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return (q >= k) & (q - k < 64)


def prefix(b, h, q, k):
    return (k < 100) | (q >= k)


def distance(score, b, h, q, k):
    return score + (k - q) * 0.05


def slopes(score, b, h, q, k):
    return score + (k - q) * torch.exp2(-(h + 1.0))


def capped(score, b, h, q, k):
    return 5 * torch.tanh(score / 5)


def causal_score(score, b, h, q, k):
    return torch.where(q >= k, score, float("-inf"))


for _function in (None, distance, slopes, capped, causal_score):

    @program(
        "flex", f"score_{_function.__name__ if _function else 'plain'}", gpu=True, tolerance=CLOSE, timed=_function is None
    )
    def scores(device, function=_function):
        return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=function), [heads(device)])

    @program("flex", f"score_{_function.__name__ if _function else 'plain'}_backward", gpu=True, tolerance=CLOSE, train=True)
    def scores_backward(device, function=_function):
        return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=function), [heads(device, grad=True)])


for _mask in (causal, window, prefix):

    @program("flex", f"mask_{_mask.__name__}", gpu=True, tolerance=CLOSE, timed=_mask is causal)
    def masked(device, mask=_mask):
        blocks = create_block_mask(mask, None, None, 512, 512, device=device)
        return Work(lambda q, k, v: flex_attention(q, k, v, block_mask=blocks), [heads(device, length=512)])

    @program("flex", f"mask_{_mask.__name__}_backward", gpu=True, tolerance=CLOSE, train=True, timed=_mask is causal)
    def masked_backward(device, mask=_mask):
        blocks = create_block_mask(mask, None, None, 512, 512, device=device)
        return Work(lambda q, k, v: flex_attention(q, k, v, block_mask=blocks), [heads(device, length=512, grad=True)])


@program("flex", gpu=True, tolerance=CLOSE, train=True)
def documents(device):
    document = torch.arange(512, device=device) // 150

    def mask(b, h, q, k):
        return (document[q] == document[k]) & (q >= k)

    blocks = create_block_mask(mask, None, None, 512, 512, device=device)
    return Work(lambda q, k, v: flex_attention(q, k, v, block_mask=blocks), [heads(device, length=512, grad=True)])


@program("flex", gpu=True, tolerance=CLOSE, train=True)
def learned_bias(device):
    def function(q, k, v, bias):
        return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + bias[h, i - j + 255])

    return Work(function, [(*heads(device, grad=True), values(device, 4, 511, low=-1, high=1, seed=9).requires_grad_())])


@program("flex", gpu=True, tolerance=CLOSE, train=True)
def grouped_heads(device):
    return Work(
        lambda q, k, v: flex_attention(q, k, v, score_mod=causal_score, enable_gqa=True),
        [heads(device, count=8, key_heads=2, grad=True)],
    )


@program("flex", gpu=True, tolerance=CLOSE)
def with_log_sums(device):
    def function(q, k, v):
        out, sums = flex_attention(q, k, v, score_mod=distance, return_lse=True)
        return out * 2, sums + 1

    return Work(function, [heads(device)])


for _width in (16, 32, 128, 256):

    @program("flex", f"width_{_width}", gpu=True, tolerance=CLOSE)
    def widths(device, width=_width):
        return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=causal_score), [heads(device, width=width)])


@program("flex", gpu=True, tolerance=CLOSE, train=True)
def brain_float(device):
    return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=capped), [heads(device, dtype=torch.bfloat16, grad=True)])


@program("flex", gpu=True, tolerance=(2e-2, 5e-3))
def single_precision(device):
    return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=distance), [heads(device, dtype=torch.float32)])


@program("flex", gpu=True, tolerance=CLOSE)
def odd_lengths(device):
    return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=causal_score), [heads(device, length=211, keys=307)])


@program("flex", gpu=True, tolerance=CLOSE)
def decoding(device):
    return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=distance), [heads(device, length=1, keys=1024)])


@program("flex", gpu=True, tolerance=CLOSE)
def decoding_grouped(device):
    def mask(b, h, q, k):
        return k < 700

    blocks = create_block_mask(mask, None, None, 1, 1024, device=device)
    return Work(
        lambda q, k, v: flex_attention(q, k, v, block_mask=blocks, enable_gqa=True),
        [heads(device, count=8, key_heads=2, length=1, keys=1024)],
    )


@program("flex", gpu=True, tolerance=CLOSE, compile={"dynamic": True})
def lengths_that_change(device):
    return Work(
        lambda q, k, v: flex_attention(q, k, v, score_mod=causal_score), [heads(device, length=n) for n in (128, 200, 384)]
    )


@program("flex", gpu=True, tolerance=CLOSE, config={"max_autotune": True})
def tuned(device):
    return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=slopes), [heads(device, length=384)])


@program("flex", gpu=True, tolerance=CLOSE)
def pages(device):
    table = torch.randperm(8, generator=torch.Generator().manual_seed(0)).to(device)

    def moved(score, b, h, q, k):
        # The first key stays visible, so that no row is empty.
        return torch.where((table[k // 64] * 64 + k % 64 <= q) | (k == 0), score, float("-inf"))

    return Work(lambda q, k, v: flex_attention(q, k, v, score_mod=moved), [heads(device, length=512)])


@program("flex", gpu=True, tolerance=CLOSE)
def many_batches_of_masks(device):
    lengths = integers(device, 3, dtype=torch.int64, low=50, high=256)

    def mask(b, h, q, k):
        return k < lengths[b]

    blocks = create_block_mask(mask, 3, None, 256, 256, device=device)
    return Work(lambda q, k, v: flex_attention(q, k, v, block_mask=blocks), [heads(device, batch=3)])
