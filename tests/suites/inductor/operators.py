# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of torch with kernels inside, and control flow of tensors."""

import functools

import torch

from .kernels import accumulate_kernel, add_kernel, grid_of, tuned_scale_kernel
from .pointwise import values
from .registry import Work, program


@functools.cache
def operators():
    """Registered when first needed: an import alone touches no registry."""
    from torch.library import custom_op, register_autograd, triton_op, wrap_triton

    @triton_op("suite::added", mutates_args={})
    def added(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        wrap_triton(add_kernel)[grid_of(x)](x, y, out, x.numel(), BLOCK=64)
        return out

    @triton_op("suite::accumulated", mutates_args={"total"})
    def accumulated(x: torch.Tensor, total: torch.Tensor) -> None:
        wrap_triton(accumulate_kernel)[grid_of(x)](x, total, x.numel(), BLOCK=64)

    @triton_op("suite::scaled", mutates_args={})
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        out = torch.empty_like(x)
        wrap_triton(tuned_scale_kernel)[lambda meta: (-(-x.numel() // meta["BLOCK"]),)](x, out, x.numel(), factor)
        return out

    @custom_op("suite::opaque", mutates_args=())
    def opaque(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        add_kernel[grid_of(x)](x, y, out, x.numel(), BLOCK=64)
        return out

    opaque.register_fake(lambda x, y: torch.empty_like(x))

    def backward(context, gradient):
        return added(gradient.contiguous(), torch.zeros_like(gradient)), gradient * 1

    register_autograd("suite::added", backward)
    return added, accumulated, scaled, opaque


@program("operators", train=True)
def with_gradients(device):
    added = operators()[0]
    return Work(
        lambda x, y: added(x.sin(), y).cos(),
        [(values(device).requires_grad_(), values(device, seed=1).requires_grad_())],
        reference=lambda x, y: (x.sin() + y).cos(),
    )


@program("operators")
def changing_an_argument(device):
    accumulated = operators()[1]

    def function(x, total):
        accumulated(x, total)
        return total * 2

    def reference(x, total):
        total += 3 * x * x
        return total * 2

    return Work(function, [(values(device), values(device, seed=1))], reference=reference)


@program("operators")
def tuned(device):
    scaled = operators()[2]
    return Work(lambda x: scaled(x + 1, 2.5) * 2, [(values(device),)], reference=lambda x: (x + 1) * 5)


@program("operators", gpu=True)
def opaque(device):
    function = operators()[3]
    return Work(
        lambda x, y: function(x, y.exp()) * 2,
        [(values(device), values(device, seed=1))],
        reference=lambda x, y: (x + y.exp()) * 2,
    )


@program("operators", gpu=True)
def checked_by_torch(device):
    """torch's own examination of an operator: schema, fake function, autograd, compiled form."""
    added = operators()[0]

    def function(x, y):
        torch.library.opcheck(added, (x, y), test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"))
        return added(x, y)

    return Work(torch.compiler.disable(function), [(values(device), values(device, seed=1))], reference=lambda x, y: x + y)


@program("operators")
def branches(device):
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() * 2, lambda x: x.cos() - 1, (x,))

    return Work(function, [(values(device),), (-values(device).abs(),)])


@program("operators")
def loops(device):
    from torch._higher_order_ops.while_loop import while_loop

    def function(x, count):
        return while_loop(lambda count, x: count < 5, lambda count, x: (count + 1, (x * 1.1).sin()), (count, x))

    def reference(x, count):
        for _ in range(5):
            x = (x * 1.1).sin()
        return count + 5, x

    return Work(function, [(values(device), torch.zeros((), dtype=torch.int64, device=device))], reference=reference)


# On the CPU torch 2.13 fails where it writes scans as loops.
@program("operators", gpu=True, tolerance=(1e-3, 1e-3))
def scanned(device):
    from torch._higher_order_ops.scan import scan

    def step(state, x):
        state = torch.tanh(state + x)
        return state, state * 2

    def function(state, x):
        return scan(step, state, x)

    def reference(state, x):
        out = []
        for row in x:
            state, y = step(state, row)
            out.append(y)
        return state, torch.stack(out)

    return Work(function, [(values(device, 20), values(device, 6, 20, seed=1))], reference=reference)


@program("operators", gpu=True)
def mapped(device):
    from torch._higher_order_ops.map import map

    return Work(
        lambda x: map(lambda row: row.exp() / row.exp().sum(), x),
        [(values(device, 8, 40),)],
        reference=lambda x: torch.softmax(x, 1),
    )


@program("operators")
def vectorised(device):
    return Work(lambda x, w: torch.vmap(lambda row: (row * w).sum().sin())(x), [(values(device), values(device, 129, seed=1))])


@program("operators", tolerance=(1e-3, 1e-3))
def gradients_inside(device):
    return Work(lambda x: torch.func.grad(lambda y: (y.sin() * y).sum())(x) * 2, [(values(device),)])


@program("operators", gpu=True)
def exported(device):
    """A program exported to a graph, then compiled."""

    class Module(torch.nn.Module):
        def forward(self, x, y):
            return added(x, y).relu()

    added = operators()[0]
    x, y = values(device), values(device, seed=1)
    module = torch.export.export(Module(), (x, y)).module()
    return Work(module, [(x, y)], reference=lambda x, y: (x + y).relu())
