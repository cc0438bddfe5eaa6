# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running sums, sorting, and functions of functions."""

import torch

from .pointwise import integers, values
from .registry import Work, program


@program("scans", tolerance=(1e-4, 1e-3))
def running_sums(device):
    def function(x):
        return [x.cumsum(0), x.cumsum(1), (x / 3).exp().cumsum(-1), x.flip(1).cumsum(1).flip(1), x.cumsum(1) / 2 + x]

    return Work(function, [(values(device),)])


@program("scans", gpu=True, tolerance=(1e-4, 1e-2), timed=True)
def running_sums_long(device):
    return Work(lambda x: [x.cumsum(0), x.cumsum(0).sin()], [(values(device, 100003),)])


@program("scans", tolerance=(1e-4, 1e-4))
def running_products(device):
    return Work(
        lambda x: [x.cumprod(0), x.cumprod(1), torch.logcumsumexp(x, 1)], [(values(device, 20, 50, low=0.8, high=1.2),)]
    )


@program("scans")
def running_extremes(device):
    def function(x, i):
        return [torch.cummax(x, 1), torch.cummin(x, 0), torch.cummax(i, 0)]

    return Work(function, [(values(device), integers(device, low=-4, high=4))])


@program("scans")
def integer_scans(device):
    return Work(
        lambda x: [x.cumsum(1), (x > 0).cumsum(0), x.to(torch.int64).cumprod(1)], [(integers(device, 30, 40, low=-2, high=3),)]
    )


@program("scans", gpu=True)
def sorts(device):
    def function(x, i):
        return [
            x.sort(1).values,
            x.sort(1, descending=True),
            i.sort(dim=0, stable=True),
            torch.argsort(i, stable=True),
            x.msort(),
        ]

    return Work(function, [(values(device, 33, 100), integers(device, 33, 100, low=-9, high=9))])


@program("scans", gpu=True)
def largest(device):
    def function(x):
        return [x.topk(5, 1), x.topk(3, 0, largest=False), x.kthvalue(4, 1).values, x.median(1).values, x.quantile(0.3, 1)]

    return Work(function, [(values(device, 33, 100),)])


def _recurrence(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]


@program("scans", gpu=True, tolerance=(1e-3, 1e-3))
def associative_scan_of_pairs(device):
    from torch._higher_order_ops.associative_scan import associative_scan

    def function(a, b):
        return associative_scan(_recurrence, (a, b), dim=0, combine_mode="pointwise")

    def reference(a, b):
        state, states, gates = torch.zeros_like(b[0]), [], []
        gate = torch.ones_like(a[0])
        for row_a, row_b in zip(a, b):
            state, gate = state * row_a + row_b, gate * row_a
            states.append(state)
            gates.append(gate)
        return torch.stack(gates), torch.stack(states)

    return Work(function, [(values(device, 70, 40, low=0.5, high=1), values(device, 70, 40, seed=1))], reference=reference)


@program("scans", gpu=True)
def associative_scan_of_maximum(device):
    from torch._higher_order_ops.associative_scan import associative_scan

    return Work(
        lambda x: associative_scan(torch.maximum, x, dim=1, combine_mode="pointwise"),
        [(values(device),)],
        reference=lambda x: torch.cummax(x, 1).values,
    )


@program("scans", train=True, tolerance=(1e-4, 1e-3))
def scan_gradients(device):
    return Work(lambda x: (x.cumsum(1).tanh() * x).sum(0), [(values(device).requires_grad_(),)])


@program("scans")
def histogram_and_counts(device):
    def function(i):
        return torch.bincount(i, minlength=10), torch.zeros(10, device=i.device).index_add(
            0, i, torch.ones(i.shape, device=i.device)
        )

    return Work(function, [(integers(device, 1000, dtype=torch.int64, low=0, high=10),)])


@program("scans", compile={"dynamic": True})
def unique_values(device):
    return Work(lambda i: torch.unique(i) * 2 + 1, [(integers(device, 200, low=0, high=30),)])
