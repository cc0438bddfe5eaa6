# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch tensors in the interpreter: CPU ones in place, CUDA ones copied in and back."""

import pytest

import tilewright
import tilewright.language as tl
from harness import devices
from tilewright import errors, knobs

torch = pytest.importorskip("torch")


def interpreted(function):
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        return tilewright.jit(function)


@interpreted
def scale(x, out, rows, columns, stride_x, stride_out, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * stride_x + offsets, mask=mask)
    tl.store(out + row * stride_out + offsets, values * factor, mask=mask)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def place(request):
    if request.param == "cuda" and devices.gpu_problem():
        pytest.skip(devices.gpu_problem())
    return request.param


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_views_of_one_tensor(place, dtype):
    whole = torch.arange(12 * 40, device=place).reshape(12, 40).to(getattr(torch, dtype))
    before = whole.clone()
    x, out = whole[:, :16], whole[:, 20:36]
    scale[(12,)](x, out, 12, 16, x.stride(0), out.stride(0), 2.0, BLOCK=16)
    assert torch.equal(whole[:, 20:36], (before[:, :16].float() * 2).to(whole.dtype))
    assert torch.equal(whole[:, :20], before[:, :20]) and torch.equal(whole[:, 36:], before[:, 36:])


def test_out_of_bounds_of_a_view(place):
    whole = torch.zeros(100, device=place)
    with pytest.raises(errors.OutOfBounds, match="load of 'x' at element 10; size is 10"):
        scale[(1,)](whole[:10], whole, 1, 11, 0, 0, 2.0, BLOCK=16)


def test_leaves_that_need_a_gradient_are_written_as_on_the_gpu(place):
    """Backward passes write the gradient over an input of theirs."""
    parameter = torch.zeros(16, device=place, requires_grad=True)
    scale[(1,)](torch.ones(16, device=place), parameter, 1, 16, 0, 0, 2.0, BLOCK=16)
    assert torch.equal(parameter.detach(), torch.full((16,), 2.0, device=place))
