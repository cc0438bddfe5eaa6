# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright.torch.custom_op`: kernels as operators of torch, in the interpreter and on a GPU."""

import itertools
import os
import subprocess
import sys

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
def moments_kernel(x_ptr, square_ptr, cube_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, i < n)
    tl.store(square_ptr + i, x * x, i < n)
    tl.store(cube_ptr + i, x * x * x, i < n)


@interpreted
def add_product_kernel(x_ptr, square_ptr, cube_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, i < n)
    result = 2 * x * tl.load(square_ptr + i, i < n) + 3 * x * x * tl.load(cube_ptr + i, i < n)
    tl.store(out_ptr + i, result, i < n)


@interpreted
def accumulate_kernel(x_ptr, total_ptr, count_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(total_ptr + i, tl.load(total_ptr + i, i < n) + tl.load(x_ptr + i, i < n), i < n)
    tl.atomic_add(count_ptr, 1)


def grid(meta):
    return (tilewright.cdiv(meta["n"], meta["BLOCK"]),)


def name():
    """Operators cannot be registered twice."""
    return f"tilewright_tests::operator_{next(_numbers)}"


@pytest.fixture
def scale():
    return tilewright.torch.custom_op(
        name(),
        scale_kernel,
        grid,
        "*fp32,*fp32,i32,fp32",
        BLOCK=32,
        outputs={"out_ptr": lambda x_ptr, n, factor: torch.empty_like(x_ptr)},
    )


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
    torch.testing.assert_close(x.grad, torch.full((40,), 2.0))


@pytest.fixture
def moments():
    """Two results, and gradients that another operator computes."""
    add_product = tilewright.torch.custom_op(
        name(),
        add_product_kernel,
        grid,
        "*fp32,*fp32,*fp32,*fp32,i32",
        BLOCK=32,
        outputs={"out_ptr": lambda x_ptr, square_ptr, cube_ptr, n: torch.empty_like(x_ptr)},
    )

    def backward(gradients, x_ptr, square_ptr, cube_ptr, n):
        assert all(gradient.is_contiguous() for gradient in gradients.values())
        return {"x_ptr": add_product(x_ptr, gradients["square_ptr"], gradients["cube_ptr"], n)}

    def like_x(x_ptr, n):
        return torch.empty_like(x_ptr)

    return tilewright.torch.custom_op(
        name(),
        moments_kernel,
        grid,
        "*fp32,*fp32,*fp32,i32",
        BLOCK=32,
        backward=backward,
        outputs={"square_ptr": like_x, "cube_ptr": like_x},
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_a_backward_kernel(moments, compiled):
    def function(x):
        square, cube = moments(x, x.numel())
        return square.sum() + 2 * cube.sum()

    x = torch.randn(70, requires_grad=True)
    run = torch.compile(function, backend="aot_eager", fullgraph=True) if compiled else function
    run(x).backward()
    torch.testing.assert_close(x.grad, 2 * x.detach() + 6 * x.detach() ** 2)


def test_torch_finds_nothing_wrong_with_gradients(moments):
    torch.library.opcheck(moments, (torch.randn(64, requires_grad=True), 64))


def test_gradient_of_what_is_no_argument():
    operator = tilewright.torch.custom_op(
        name(),
        scale_kernel,
        grid,
        "*fp32,*fp32,i32,fp32",
        BLOCK=32,
        outputs={"out_ptr": lambda x_ptr, n, factor: torch.empty_like(x_ptr)},
        backward=lambda gradients, **arguments: {"y_ptr": gradients["out_ptr"]},
    )
    with pytest.raises(errors.TilewrightError, match="E0205.*y_ptr"):
        operator(torch.randn(8, requires_grad=True), 8, 2.0).sum().backward()


def test_gradients_of_what_changes_its_arguments():
    with pytest.raises(errors.TilewrightError, match="E0122.*total_ptr") as info:
        tilewright.torch.custom_op(
            name(), accumulate_kernel, grid, "*fp32,*fp32,*i32,i32", BLOCK=32, backward=lambda g, **a: {}
        )
    assert info.value.help == "let the kernel write to results alone (outputs=)"


@pytest.mark.parametrize("axis", [0, 1])
def test_vmap_runs_one_slice_after_the_other(scale, moments, axis, recwarn):
    x = torch.randn(3, 50)
    # With an axis of its own in the middle, the slices have strides: the kernel is for contiguous ones.
    mapped = torch.vmap(lambda row: scale(row.contiguous(), 50, 2.0), in_dims=axis)(x if axis == 0 else x.T)
    torch.testing.assert_close(mapped, 2 * x)
    square, cube = torch.vmap(lambda row: moments(row, 50))(x)
    torch.testing.assert_close((square, cube), (x**2, x**3))
    assert not [warning for warning in recwarn if "batching rule" in str(warning.message)]


def test_vmap_of_changed_arguments(accumulate):
    x, total, count = torch.randn(3, 50), torch.ones(3, 50), torch.zeros(3, 1, dtype=torch.int32)

    def accumulated(row, part, counter):
        accumulate(row, part, counter, 50)
        return part * 2

    torch.testing.assert_close(torch.vmap(accumulated)(x, total, count), 2 + 2 * x)
    torch.testing.assert_close(total, 1 + x)
    assert count.tolist() == [[2], [2], [2]]
    with pytest.raises(errors.TilewrightError, match="E0122.*torch.vmap gives each slice the same 'count_ptr'") as info:
        torch.vmap(accumulated, in_dims=(0, 0, None))(x, total, count[0])
    assert info.value.help == "map over that argument too, or register a rule by register_vmap"
    with pytest.raises(errors.TilewrightError, match="E0122.*extent 0") as info:
        torch.vmap(accumulated)(x[:0], total[:0], count[:0])
    assert info.value.help == "leave the call out where there are no slices"


def test_tuned_kernel():
    tuned = tilewright.autotune(configs=[tilewright.Config({"BLOCK": 32}), tilewright.Config({"BLOCK": 64})], key=["n"])(
        scale_kernel
    )
    operator = tilewright.torch.custom_op(
        name(), tuned, grid, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32"}
    )
    assert "Tensor(a1!) out_ptr" in str(operator._opoverload._schema)


@pytest.mark.gpu
def test_on_the_gpu():
    if problem := devices.gpu_problem():
        pytest.skip(problem)
    operator = tilewright.torch.custom_op(
        name(),
        tilewright.jit(scale_kernel.fn),
        grid,
        "*fp32,*fp32,i32,fp32",
        BLOCK=32,
        outputs={"out_ptr": lambda x_ptr, n, factor: torch.empty_like(x_ptr)},
    )
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


FOLLOWED = """
import torch
import torch.utils._triton

# torch follows kernels where it sees a GPU; to follow them needs none.
torch.utils._triton.has_triton = lambda **options: True

import triton
import triton.language as tl


@triton.heuristics({"STEP": lambda arguments: 1})
@triton.heuristics({"BLOCK": lambda arguments: 64})
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) * 2, i < n)


def doubled(x):
    out = torch.empty_like(x)
    double_kernel[(2,)](x, out, 100)
    return out + 1


graph = torch._dynamo.export(doubled)(torch.ones(100)).graph_module.graph
print(*(type(node.target).__name__ for node in graph.nodes))
"""


def test_torch_follows_launches_with_heuristics(tmp_path):
    script = tmp_path / "followed.py"
    script.write_text(FOLLOWED)
    environment = {**os.environ, "TILEWRIGHT_AS_TRITON": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "run", str(script)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "TritonKernelWrapperMutation" in done.stdout
