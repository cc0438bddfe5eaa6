# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes that change from call to call, and shapes that the data decides."""

import torch
import torch.nn.functional as F

from .layers import Block
from .pointwise import chain, integers, values
from .reductions import everything
from .registry import Work, program

DYNAMIC = {"dynamic": True}


@program("dynamic", compile=DYNAMIC)
def elements(device):
    return Work(
        chain, [(values(device, n, m), values(device, n, m, seed=1)) for n, m in ((8, 16), (9, 33), (100, 7), (64, 128))]
    )


@program("dynamic", compile=DYNAMIC)
def rows_reduced(device):
    return Work(lambda x: everything(x, 1), [(values(device, n, m),) for n, m in ((8, 16), (9, 1025), (100, 7))])


@program("dynamic", compile=DYNAMIC)
def columns_reduced(device):
    return Work(lambda x: everything(x, 0), [(values(device, n, m),) for n, m in ((8, 16), (1025, 9), (7, 100))])


@program("dynamic", compile=DYNAMIC)
def everything_reduced(device):
    return Work(lambda x: (x.sum(), x.amax(), x.mean()), [(values(device, n),) for n in (10, 1000, 70001)])


@program("dynamic", compile=DYNAMIC)
def softmax(device):
    return Work(lambda x: F.softmax(x, -1), [(values(device, n, m),) for n, m in ((8, 16), (9, 1025), (3, 5))])


@program("dynamic", compile=DYNAMIC)
def joined_and_split(device):
    def function(x, y):
        z = torch.cat([x, y, x * 2], 0)
        return z[: x.shape[0] // 2], z.view(-1)[::3], z.sum(0)

    return Work(function, [(values(device, n, 12), values(device, m, 12, seed=1)) for n, m in ((4, 6), (7, 9), (30, 11))])


@program("dynamic", compile=DYNAMIC)
def indices(device):
    return Work(
        lambda x, i: (x[i], F.one_hot(i, 50).sum(0), x.flip(0)),
        [(values(device, 50, 8), integers(device, n, dtype=torch.int64, low=0, high=50)) for n in (5, 19, 64)],
    )


@program("dynamic", compile=DYNAMIC, tolerance=(1e-4, 1e-3))
def scans(device):
    return Work(lambda x: (x.cumsum(0), x.cumsum(1)), [(values(device, n, m),) for n, m in ((8, 16), (9, 130))])


@program("dynamic", compile=DYNAMIC, train=True, tolerance=(1e-3, 1e-3))
def block_of_any_length(device):
    torch.manual_seed(0)
    return Work(Block(32, 2).to(device), [(values(device, 2, n, 32).requires_grad_(),) for n in (7, 12, 33)])


@program("dynamic")
def automatic(device):
    return Work(lambda x: (x * 2).sum(1) + x.shape[0], [(values(device, n, 40),) for n in (8, 9, 10, 33)])


@program("dynamic")
def marked(device):
    calls = [(values(device, n, 40),) for n in (8, 9, 33)]
    for call in calls:
        torch._dynamo.mark_dynamic(call[0], 0)
    return Work(lambda x: torch.tanh(x).sum(0) * x.shape[0], calls)


@program("dynamic", config={}, compile=DYNAMIC)
def chosen_by_data(device):
    return Work(lambda x: (x[x > 0] * 2, torch.nonzero(x > 1).sum(0)), [(values(device, n, 20),) for n in (8, 13)])


@program("dynamic", compile=DYNAMIC)
def read_by_the_host(device):
    def function(x):
        count = int((x > 0).sum().item())
        torch._check(count >= 0)
        return torch.ones(count, device=x.device) * 3, x * count

    return Work(function, [(values(device, 12),), (values(device, 23),)])


@program("dynamic", compile=DYNAMIC)
def numbers_as_arguments(device):
    return Work(
        lambda x, k, f: (x * k + f, x[:k], x.sum() * f),
        [(values(device, 30), 3, 0.5), (values(device, 31), 17, 2.25), (values(device, 32), 1, 1.0)],
    )


@program("dynamic", compile=DYNAMIC)
def with_graph_breaks(device):
    def function(x):
        y = x.sin() * 2
        if y.sum().item() > 0:
            return y + 1
        return y - 1

    return Work(function, [(values(device, 30),), (values(device, 40, seed=3),)])


@program("dynamic", gpu=True, compile=DYNAMIC)
def more_than_two_to_the_31(device):
    def function(x):
        return (x[-100:].float() + 1, x.view(torch.int8)[-5:] + 1)

    return Work(function, [(torch.ones(2**31 + 1024, dtype=torch.int8, device=device),)])


@program("dynamic", gpu=True)
def wide_offsets(device):
    def function(x):
        return (x + 1)[-4096:], x.view(-1, 4096).to(torch.int32).sum(1)[-3:]

    return Work(function, [(torch.ones(2**31 + 4096, dtype=torch.int8, device=device),)])
