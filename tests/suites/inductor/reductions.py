# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions along every axis, of every dtype, short and long, and normalisations."""

import torch
import torch.nn.functional as F

from .pointwise import integers, values
from .registry import Work, program


def everything(x, axis):
    return [
        x.sum(axis),
        x.mean(axis),
        x.var(axis),
        x.std(axis, unbiased=False),
        x.amax(axis),
        x.amin(axis),
        torch.logsumexp(x, axis),
        torch.linalg.vector_norm(x, dim=axis),
        torch.linalg.vector_norm(x, 1, dim=axis),
    ]


for _axis in (0, 1, (0, 1)):
    _name = {0: "columns", 1: "rows", (0, 1): "all"}[_axis]

    @program("reductions", f"everything_{_name}", timed=True)
    def reduced(device, axis=_axis):
        return Work(lambda x: everything(x, axis), [(values(device, 65, 301),)])

    @program("reductions", f"everything_long_{_name}", gpu=True, timed=True)
    def reduced_long(device, axis=_axis):
        return Work(lambda x: everything(x, axis), [(values(device, 1025, 4099),)])


for _dtype in (torch.float16, torch.bfloat16, torch.float64):

    @program("reductions", f"everything_{str(_dtype)[6:]}")
    def reduced_dtypes(device, dtype=_dtype):
        return Work(lambda x: everything(x, 1), [(values(device, 33, 515, dtype=dtype),)])


@program("reductions")
def extremes_with_places(device):
    def function(x, i):
        return [x.argmax(1), x.argmin(0), x.max(1).values, x.min(0), i.argmax(), torch.aminmax(x, dim=1), i.max(0).indices]

    return Work(function, [(values(device), integers(device, low=-5, high=5))])


@program("reductions")
def not_a_number(device):
    def function(x):
        return [x.amax(1), x.amin(0), x.argmax(1), x.sum(1), torch.nansum(x, 1), x.isnan().any(1), torch.nanmean(x, 1)]

    x = values(device)
    x[3, 5] = float("nan")
    x[7, 60] = float("inf")
    return Work(function, [(x,)])


for _dtype in (torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool):

    @program("reductions", f"sums_{str(_dtype)[6:]}")
    def integer_sums(device, dtype=_dtype):
        def function(x):
            return [
                x.sum(1),
                x.sum(),
                (x != 0).any(0),
                (x != 0).all(1),
                (x.to(torch.int32)).amax(1),
                x.count_nonzero(1),
                x.to(torch.int64).prod(1),
            ]

        return Work(function, [(integers(device, 33, 70, low=0, high=3).to(dtype),)])


@program("reductions", timed=True)
def softmaxes(device):
    def function(x):
        return [
            F.softmax(x, 1),
            F.log_softmax(x, 1),
            F.softmax(x, 0),
            F.softmin(x, 1),
            F.softmax(x.half(), 1),
            F.softmax(x * 30, -1),
        ]

    return Work(function, [(values(device, 65, 301),)])


@program("reductions", "softmax_long", gpu=True, timed=True, train=True)
def softmax_long(device):
    return Work(lambda x: F.softmax(x, -1) * 2, [(values(device, 128, 50257, dtype=torch.bfloat16).requires_grad_(),)])


@program("reductions", train=True, timed=True)
def layer_norm(device):
    torch.manual_seed(0)
    return Work(torch.nn.LayerNorm(259).to(device), [(values(device, 33, 259).requires_grad_(),)])


@program("reductions", train=True, tolerance=(2e-2, 2e-2))
def layer_norm_half(device):
    torch.manual_seed(0)
    return Work(torch.nn.LayerNorm(512).to(device).half(), [(values(device, 65, 512, dtype=torch.float16).requires_grad_(),)])


@program("reductions", train=True, timed=True)
def rms_norm(device):
    def function(x, w):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * w

    return Work(function, [(values(device, 33, 512).requires_grad_(), values(device, 512, seed=1).requires_grad_())])


@program("reductions", train=True, tolerance=(1e-3, 1e-4))
def batch_norm(device):
    torch.manual_seed(0)
    return Work(torch.nn.BatchNorm2d(6).to(device), [(values(device, 4, 6, 13, 11).requires_grad_(),)])


@program("reductions", train=True, tolerance=(1e-3, 1e-4))
def group_and_instance_norm(device):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.GroupNorm(3, 12), torch.nn.ReLU(), torch.nn.InstanceNorm2d(12)).to(device)
    return Work(module, [(values(device, 3, 12, 9, 7).requires_grad_(),)])


@program("reductions")
def statistics(device):
    def function(x):
        centered = x - x.mean(0)
        return [
            torch.var_mean(x, 1),
            torch.std_mean(x, 0),
            centered.pow(3).mean(0) / centered.pow(2).mean(0).pow(1.5),
            (centered.t() @ centered) / (x.shape[0] - 1),
            F.normalize(x, dim=1),
            F.cosine_similarity(x, x.flip(0)),
        ]

    return Work(function, [(values(device),)])


@program("reductions", train=True, tolerance=(1e-4, 1e-4))
def losses(device):
    def function(x, y, labels):
        return [
            F.mse_loss(x, y),
            F.l1_loss(x, y),
            F.smooth_l1_loss(x, y),
            F.cross_entropy(x, labels),
            F.huber_loss(x, y),
            F.binary_cross_entropy_with_logits(x, torch.sigmoid(y)),
            F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1)),
            F.cross_entropy(x, labels, label_smoothing=0.1, reduction="none"),
            F.nll_loss(F.log_softmax(x, 1), labels),
        ]

    return Work(
        function,
        [(values(device).requires_grad_(), values(device, seed=1), integers(device, 37, dtype=torch.int64, low=0, high=129))],
    )


@program("reductions")
def products_of_elements(device):
    def function(x):
        return [x.prod(1), x.prod(0), x.prod()]

    return Work(function, [(values(device, 20, 30, low=0.8, high=1.2),)])


@program("reductions")
def masked_means(device):
    def function(x, keep):
        count = keep.sum(1).clamp(min=1)
        return (x * keep).sum(1) / count, torch.where(keep, x, float("-inf")).amax(1), x.masked_fill(~keep, 0).mean((0, 1))

    return Work(function, [(values(device), values(device, seed=1) > 0)])


@program("reductions")
def several_axes(device):
    def function(x):
        return [
            x.sum((0, 2)),
            x.mean((1, 3)),
            x.amax((0, 1, 3)),
            x.sum((2, 3), keepdim=True) + x,
            x.var((0, 1, 2, 3)),
            x.transpose(0, 3).sum(1),
        ]

    return Work(function, [(values(device, 5, 7, 9, 11),)])


@program("reductions")
def chained_reductions(device):
    def function(x):
        y = x - x.amax(1, keepdim=True)
        z = y.exp() / y.exp().sum(1, keepdim=True)
        return (z * z.log()).sum(1), z.sum(0).argmax(), (z - z.mean()).pow(2).mean(0)

    return Work(function, [(values(device, 65, 129),)])
