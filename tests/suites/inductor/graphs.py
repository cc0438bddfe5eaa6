# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA graphs: recorded by the second call, replayed by those after it."""

import torch
import torch.nn.functional as F
from torch import nn

from .kernels import add_kernel, tuned_scale_kernel
from .layers import Block
from .pointwise import chain, values
from .registry import Work, program

GRAPHS = {"compile": {"mode": "reduce-overhead"}, "gpu": True, "repeats": 4}


@program("graphs", timed=True, **GRAPHS)
def elements(device):
    return Work(chain, [(values(device), values(device, seed=1))])


@program("graphs", tolerance=(1e-3, 1e-3), **GRAPHS)
def block(device):
    torch.manual_seed(0)
    module = Block(64, 4).to(device).eval().requires_grad_(False)
    return Work(module, [(values(device, 2, 33, 64),)])


@program("graphs", train=True, tolerance=(1e-3, 1e-3), **GRAPHS)
def block_trained(device):
    torch.manual_seed(0)
    return Work(Block(64, 4).to(device), [(values(device, 2, 33, 64).requires_grad_(),)])


@program("graphs", **GRAPHS)
def reductions(device):
    return Work(lambda x: (F.softmax(x, 1), x.sum(0), x.amax(), x.sum()), [(values(device, 129, 3000),)])


@program("graphs", **GRAPHS)
def buffer_changed(device):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(129))

        def forward(self, x):
            self.total += x.sum(0)
            return self.total * 2

    return Work(Counter().to(device), [(values(device),)])


@program("graphs", **GRAPHS)
def user_kernel(device):
    def function(x, y):
        out = torch.empty_like(x)
        add_kernel[(x.numel() // 64 + 1,)](x, y, out, x.numel(), BLOCK=64)
        return out * 2

    return Work(function, [(values(device), values(device, seed=1))])


@program("graphs", **GRAPHS)
def user_kernel_tuned(device):
    def function(x):
        out = torch.empty_like(x)
        tuned_scale_kernel[lambda meta: (-(-x.numel() // meta["BLOCK"]),)](x, out, x.numel(), 3.0)
        return out + 1

    return Work(function, [(values(device),)])


@program("graphs", **{**GRAPHS, "compile": {"mode": "reduce-overhead", "dynamic": True}})
def sizes_that_change(device):
    return Work(lambda x: chain(x, x + 1).sum(1), [(values(device, n, 64),) for n in (8, 9, 40)])


@program("graphs", tolerance=(2e-2, 5e-2), config={"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}, **GRAPHS)
def products(device):
    return Work(
        lambda a, b: F.gelu(a @ b),
        [
            (
                values(device, 256, 128, dtype=torch.float16, low=-1, high=1),
                values(device, 128, 192, dtype=torch.float16, low=-1, high=1, seed=1),
            )
        ],
    )


@program("graphs", gpu=True)
def recorded_by_hand(device):
    """A compiled function inside a graph of the user's own."""
    compiled = torch.compile(chain)

    def replayed(x, y):
        for _ in range(2):
            compiled(x, y)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = compiled(x, y)
        out.zero_()
        graph.replay()
        torch.cuda.synchronize()
        return out.clone()

    return Work(torch.compiler.disable(replayed), [(values(device), values(device, seed=1))], reference=chain)
