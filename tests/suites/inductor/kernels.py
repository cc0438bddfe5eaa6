# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the user's own inside compiled functions."""

import torch
import triton
import triton.language as tl
from triton.language import arange, load, program_id, store
from triton.language.extra.libdevice import exp2 as exp_of_base_two

from .pointwise import integers, values
from .registry import Work, program

FACTOR = tl.constexpr(3)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) + tl.load(y_ptr + i, i < n), i < n)


@triton.jit
def square(x):
    return x * x * FACTOR


@triton.jit
def accumulate_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(total_ptr + i, tl.load(total_ptr + i, i < n) + square(tl.load(x_ptr + i, i < n)), i < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=4), triton.Config({"BLOCK": 256}, num_warps=8)], key=["n"])
@triton.jit
def tuned_scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) * factor, i < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"], restore_value=["x_ptr"])
@triton.jit
def tuned_in_place_kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, i < n) + 1, i < n)


@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def heuristic_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i) if EVEN else tl.load(x_ptr + i, i < n)
    tl.store(out_ptr + i, -x, i < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def tuned_heuristic_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i) if EVEN else tl.load(x_ptr + i, i < n)
    tl.store(out_ptr + i, -x, i < n)


def large_blocks(configs, named_args, **keywords):
    return [config for config in configs if config.kwargs["BLOCK"] >= 128]


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})],
    key=["n"],
    prune_configs_by={"early_config_prune": large_blocks},
)
@triton.jit
def pruned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) + BLOCK, i < n)


@triton.jit
def count_kernel(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts_ptr + tl.load(x_ptr + i, i < n, other=0), 1, i < n)


@triton.jit
def optional_kernel(x_ptr, bias_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, i < n)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + i, i < n)
    tl.store(out_ptr + i, x, i < n)


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], (rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], (inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(
        c_ptr + rows[:, None] * N + columns[None, :],
        total.to(c_ptr.dtype.element_ty),
        (rows[:, None] < M) & (columns[None, :] < N),
    )


@triton.constexpr_function
def twice(number):
    return number * 2


@triton.jit
def named_functions_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Calls functions by names of their own, without `tl`."""
    i = program_id(0) * twice(BLOCK) + arange(0, twice(BLOCK))
    store(out_ptr + i, exp_of_base_two(load(x_ptr + i, i < n)), i < n)


@triton.jit
def sum_rows_kernel(x_ptr, out_ptr, length, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + i, i < length, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, 0))


@triton.jit
def descriptor_kernel(source, target, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]) * 2)


@triton.jit
def made_descriptor_kernel(x_ptr, out_ptr, M, N: tl.constexpr, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK, N])
    target = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK, N])
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]) + 1)


def grid_of(x, block=64):
    return (triton.cdiv(x.numel(), block),)


def added(x, y):
    out = torch.empty_like(x)
    add_kernel[grid_of(x)](x, y, out, x.numel(), BLOCK=64)
    return out


@program("kernels")
def plain(device):
    return Work(
        lambda x, y: added(x.sin(), y) * 2, [(values(device), values(device, seed=1))], reference=lambda x, y: (x.sin() + y) * 2
    )


@program("kernels")
def in_place(device):
    def function(x, total):
        y = total * 1
        accumulate_kernel[grid_of(x)](x, y, x.numel(), BLOCK=64)
        accumulate_kernel[grid_of(x)](x, total, x.numel(), BLOCK=64)
        return y.sum(1), total + 1

    def reference(x, total):
        y = total + 3 * x * x
        total += 3 * x * x
        return y.sum(1), total + 1

    return Work(function, [(values(device), values(device, seed=1))], reference=reference)


@program("kernels")
def used_before_and_after(device):
    """A tensor read before and after a kernel changes it: the change must not move."""

    def function(x):
        total = torch.zeros_like(x)
        before = total.sum()
        accumulate_kernel[grid_of(x)](x, total, x.numel(), BLOCK=64)
        middle = total.sum()
        accumulate_kernel[grid_of(x)](x, total, x.numel(), BLOCK=64)
        return before, middle, total.sum(), x + 1

    def reference(x):
        one = 3 * x * x
        return torch.zeros((), device=x.device), one.sum(), (2 * one).sum(), x + 1

    return Work(function, [(values(device),)], reference=reference)


@program("kernels")
def only_one_argument_changes(device):
    def function(x, y):
        out = torch.zeros_like(x)
        z = x * 2
        add_kernel[grid_of(x)](z, y, out, x.numel(), BLOCK=64)
        return z, out, z + out

    return Work(function, [(values(device), values(device, seed=1))], reference=lambda x, y: (x * 2, x * 2 + y, x * 4 + y))


@program("kernels")
def tuned(device):
    def function(x):
        out = torch.empty_like(x)
        tuned_scale_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x.cos(), out, x.numel(), 2.5)
        return out + 1

    return Work(function, [(values(device),)], reference=lambda x: x.cos() * 2.5 + 1)


@program("kernels")
def tuned_in_place(device):
    def function(x):
        y = x.clone()
        tuned_in_place_kernel[lambda meta: (triton.cdiv(y.numel(), meta["BLOCK"]),)](y, y.numel())
        return y * 2

    return Work(function, [(values(device),)], reference=lambda x: (x + 1) * 2)


@program("kernels", compile={"fullgraph": True, "dynamic": False})
def with_heuristics(device):
    def function(x):
        out = torch.empty_like(x)
        heuristic_kernel[grid_of(x)](x, out, x.numel(), BLOCK=64)
        return out - 1

    return Work(function, [(values(device, 64),), (values(device, 65),)], reference=lambda x: -x - 1)


# torch takes heuristics of numbers that it knows.
@program("kernels", compile={"dynamic": False})
def tuned_with_heuristics(device):
    def function(x):
        out = torch.empty_like(x)
        tuned_heuristic_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out - 1

    return Work(function, [(values(device, 128),), (values(device, 65),)], reference=lambda x: -x - 1)


@program("kernels")
def pruned_configurations(device):
    def function(x):
        out = torch.empty_like(x)
        pruned_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out * 2

    return Work(function, [(values(device),)], reference=lambda x: (x + 128) * 2)


@program("kernels")
def atomic_counts(device):
    def function(x):
        counts = torch.zeros(10, dtype=torch.int32, device=x.device)
        count_kernel[grid_of(x)](x, counts, x.numel(), BLOCK=64)
        return counts * 2

    return Work(
        function, [(integers(device, 500, low=0, high=10),)], reference=lambda x: torch.bincount(x, minlength=10).int() * 2
    )


@program("kernels")
def without_an_argument(device):
    def function(x, bias):
        first, second = torch.empty_like(x), torch.empty_like(x)
        optional_kernel[grid_of(x)](x, None, first, x.numel(), BLOCK=64)
        optional_kernel[grid_of(x)](x, bias, second, x.numel(), BLOCK=64)
        return first * 2, second * 2

    return Work(function, [(values(device), values(device, seed=1))], reference=lambda x, b: (x * 2, (x + b) * 2))


@program("kernels", tolerance=(2e-2, 2e-2))
def product(device):
    def function(a, b):
        c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
        product_kernel[(triton.cdiv(a.shape[0], 32), triton.cdiv(b.shape[1], 32))](
            a, b, c, a.shape[0], b.shape[1], a.shape[1], BLOCK=32
        )
        return c.relu()

    return Work(
        function,
        [
            (
                values(device, 70, 50, dtype=torch.float16, low=-1, high=1),
                values(device, 50, 90, dtype=torch.float16, low=-1, high=1, seed=1),
            )
        ],
        reference=lambda a, b: (a @ b).relu(),
    )


@program("kernels", compile={"dynamic": True})
def sizes_that_change(device):
    def function(x):
        out = torch.empty(x.shape[0], device=x.device)
        sum_rows_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), BLOCK=32)
        return out / x.shape[1]

    return Work(function, [(values(device, n, m),) for n, m in ((5, 16), (7, 100), (16, 33))], reference=lambda x: x.mean(1))


# torch 2.13 reads a copy of `out` beyond the one row of it that it keeps, which the interpreter refuses.
@program("kernels", gpu=True)
def views_as_arguments(device):
    def function(x):
        out = torch.zeros(4, 129, device=x.device)
        add_kernel[(3,)](x[3], x[5], out[2], 129, BLOCK=64)
        return out, out[2] * 2

    def reference(x):
        out = torch.zeros(4, 129, device=x.device)
        out[2] = x[3] + x[5]
        return out, out[2] * 2

    return Work(function, [(values(device),)], reference=reference)


@program("kernels")
def same_tensor_twice(device):
    def function(x):
        y = x + 1
        add_kernel[grid_of(x)](y, y, y, x.numel(), BLOCK=64)
        return y.sum(0)

    return Work(function, [(values(device),)], reference=lambda x: (2 * (x + 1)).sum(0))


@program("kernels", gpu=True)
def host_descriptors(device):
    from triton.tools.tensor_descriptor import TensorDescriptor

    def function(x):
        out = torch.empty_like(x)
        descriptor_kernel[(triton.cdiv(x.shape[0], 32),)](
            TensorDescriptor.from_tensor(x, [32, 64]), TensorDescriptor.from_tensor(out, [32, 64]), BLOCK=32
        )
        return out + 1

    return Work(function, [(values(device, 100, 64),)], reference=lambda x: x * 2 + 1)


@program("kernels", gpu=True)
def descriptors_made_in_the_kernel(device):
    def allocate(size, alignment, stream):
        return torch.empty(size, dtype=torch.int8, device="cuda")

    triton.set_allocator(allocate)

    def function(x):
        out = torch.empty_like(x)
        made_descriptor_kernel[(triton.cdiv(x.shape[0], 32),)](x, out, x.shape[0], N=64, BLOCK=32)
        return out * 2

    return Work(function, [(values(device, 100, 64),)], reference=lambda x: (x + 1) * 2)


@program("kernels", train=True)
def in_an_autograd_function(device):
    class Added(torch.autograd.Function):
        @staticmethod
        def forward(context, x, y):
            return added(x, y)

        @staticmethod
        def backward(context, gradient):
            return gradient, added(gradient.contiguous(), gradient.contiguous())

    def reference(x, y):
        return ((x * 2) + (y + (y - y.detach()))).sin()

    return Work(
        lambda x, y: Added.apply(x * 2, y).sin(),
        [(values(device).requires_grad_(), values(device, seed=1).requires_grad_())],
        reference=reference,
    )


@program("kernels")
def launched_in_a_loop(device):
    def function(x):
        total = torch.zeros_like(x)
        for _ in range(5):
            accumulate_kernel[grid_of(x)](x, total, x.numel(), BLOCK=64)
        return total

    return Work(function, [(values(device),)], reference=lambda x: 15 * x * x)


@program("kernels")
def given_warps_and_stages(device):
    def function(x, y):
        out = torch.empty_like(x)
        add_kernel[grid_of(x, 256)](x, y, out, x.numel(), BLOCK=256, num_warps=8, num_stages=2)
        return out

    return Work(function, [(values(device), values(device, seed=1))], reference=lambda x, y: x + y)


@program("kernels")
def functions_by_their_names(device):
    def function(x):
        out = torch.empty_like(x)
        named_functions_kernel[grid_of(x, 64)](x, out, x.numel(), BLOCK=32)
        return out + 1

    return Work(function, [(values(device),)], reference=lambda x: torch.exp2(x) + 1)


@program("kernels")
def brain_float_arguments(device):
    return Work(
        lambda x, y: added(x, y) * 2,
        [(values(device, dtype=torch.bfloat16), values(device, dtype=torch.bfloat16, seed=1))],
        reference=lambda x, y: (x + y) * 2,
    )
