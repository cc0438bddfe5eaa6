# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright.torch.custom_op`: kernels as operators of torch, in the interpreter and on a GPU."""

import itertools

import pytest

import tilewright
import tilewright.language as tl
from harness import devices
from tilewright import errors, knobs

torch = pytest.importorskip("torch")

_numbers = itertools.count()


def interpreted(function):
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        return tilewright.jit(function)


@interpreted
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) * factor, i < n)


@interpreted
def accumulate_kernel(x_ptr, total_ptr, count_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(total_ptr + i, tl.load(total_ptr + i, i < n) + tl.load(x_ptr + i, i < n), i < n)
    tl.atomic_add(count_ptr, 1)


def grid(meta):
    return (tilewright.cdiv(meta["n"], meta["BLOCK"]), )


def name():
    """Operators cannot be registered twice."""
    return f"tilewright_tests::operator_{next(_numbers)}"


@pytest.fixture
def scale():
    return tilewright.torch.custom_op(name(), scale_kernel, grid, "*fp32,*fp32,i32,fp32", BLOCK=32,
                                      outputs={"out_ptr": lambda x_ptr, n, factor: torch.empty_like(x_ptr)})


@pytest.fixture
def accumulate():
    return tilewright.torch.custom_op(name(), accumulate_kernel, grid, "*fp32,*fp32,*i32,i32", BLOCK=32)


def test_result_is_made_by_the_operator(scale):
    x = torch.randn(100)
    torch.testing.assert_close(scale(x, 100, 2.5), x * 2.5)
    assert str(scale._opoverload._schema).endswith("(Tensor x_ptr, SymInt n, float factor) -> Tensor")


def test_written_arguments_are_found(accumulate):
    x, total, count = torch.randn(100), torch.ones(100), torch.zeros(1, dtype=torch.int32)
    accumulate(x, total, count, 100)
    torch.testing.assert_close(total, x + 1)
    assert count.item() == 4
    assert "(Tensor x_ptr, Tensor(a1!) total_ptr, Tensor(a2!) count_ptr, SymInt n) -> ()" in str(accumulate._opoverload._schema)


def test_torch_finds_nothing_wrong(scale, accumulate):
    torch.library.opcheck(scale, (torch.randn(64), 64, 2.0))
    torch.library.opcheck(accumulate, (torch.randn(64), torch.ones(64), torch.zeros(1, dtype=torch.int32), 64))


def test_in_a_compiled_function(scale, accumulate):
    def function(x, total, count):
        y = scale(x.sin(), x.numel(), 3.0)
        before = total.sum()
        accumulate(y, total, count, x.numel())
        return before, total * 2

    def reference(x, total):
        return total.sum(), (total + x.sin() * 3) * 2

    x, total, count = torch.randn(70), torch.ones(70), torch.zeros(1, dtype=torch.int32)
    expected = reference(x, total.clone())
    torch.testing.assert_close(torch.compile(function, backend="aot_eager", fullgraph=True)(x, total, count), expected)


def test_gradients_are_registered_as_for_any_operator(scale):
    scale.register_autograd(lambda context, gradient: (scale(gradient.contiguous(), gradient.numel(), 2.0), None, None))
    x = torch.randn(40, requires_grad=True)
    scale(x, 40, 2.0).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((40, ), 2.0))


def test_tuned_kernel():
    tuned = tilewright.autotune(configs=[tilewright.Config({"BLOCK": 32}), tilewright.Config({"BLOCK": 64})], key=["n"])(scale_kernel)
    operator = tilewright.torch.custom_op(name(), tuned, grid, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32"})
    assert "Tensor(a1!) out_ptr" in str(operator._opoverload._schema)


@pytest.mark.gpu
def test_on_the_gpu():
    if problem := devices.gpu_problem():
        pytest.skip(problem)
    operator = tilewright.torch.custom_op(name(), tilewright.jit(scale_kernel.fn), grid, "*fp32,*fp32,i32,fp32", BLOCK=32,
                                          outputs={"out_ptr": lambda x_ptr, n, factor: torch.empty_like(x_ptr)})
    x = torch.randn(1000, device="cuda")
    torch.testing.assert_close(torch.compile(lambda x: operator(x + 1, x.numel(), 2.0) - 1)(x), (x + 1) * 2 - 1)


def test_result_that_is_not_written():
    with pytest.raises(errors.TilewrightError, match="E0205.*x_ptr"):
        tilewright.torch.custom_op(name(), scale_kernel, grid, "*fp32,*fp32,i32,fp32", outputs={"x_ptr": None}, BLOCK=32)


def test_types_that_are_missing_or_too_many():
    with pytest.raises(errors.TilewrightError, match="E0205.*factor"):
        tilewright.torch.custom_op(name(), scale_kernel, grid, "*fp32,*fp32,i32", BLOCK=32)
    with pytest.raises(errors.TilewrightError, match="E0205.*i8"):
        tilewright.torch.custom_op(name(), scale_kernel, grid, "*fp32,*fp32,i32,fp32,i8", BLOCK=32)
