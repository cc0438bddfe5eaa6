# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module that tests of Triton's packages import: questions about the GPU, random arrays, fresh knobs."""

import os
import sys

import numpy as np
import pytest

import tilewright
import tilewright._internal_testing as helpers
import tilewright.language as tl
from tilewright import knobs


@pytest.fixture
def arch(monkeypatch):
    """The active driver has a device of this compute capability."""

    def give(capability):
        monkeypatch.setenv("TILEWRIGHT_OVERRIDE_ARCH", capability)
        knobs.runtime.interpret = False

    # What is set in Python is exported; the scope takes that back.
    with knobs.runtime.scope():
        yield give


@pytest.mark.parametrize(
    "capability, true",
    [
        ("80", {"is_cuda", "is_ampere_or_newer"}),
        ("90", {"is_cuda", "is_ampere_or_newer", "is_hopper_or_newer", "is_hopper", "supports_tma", "supports_ws"}),
        ("100", {"is_cuda", "is_ampere_or_newer", "is_hopper_or_newer", "is_blackwell", "supports_tma", "supports_ws"}),
        ("120", {"is_cuda", "is_ampere_or_newer", "is_hopper_or_newer", "is_sm12x", "supports_tma", "supports_ws"}),
    ],
)
def test_questions_about_the_gpu(arch, capability, true):
    arch(capability)
    questions = [name for name in dir(helpers) if name.startswith(("is_", "supports_")) and name != "is_interpreter"]
    assert {name for name in questions if getattr(helpers, name)()} == true
    assert helpers.get_arch() == capability


def test_questions_in_the_interpreter():
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        assert helpers.is_interpreter() and helpers.supports_tma()
        assert not helpers.is_cuda() and helpers.get_current_target() is None and helpers.get_arch() == ""


@pytest.mark.parametrize("name", [*helpers.dtypes_with_bfloat16, "bool", "float8e5"])
def test_random_arrays(name):
    values = helpers.numpy_random((32, 8), name)
    assert values.shape == (32, 8) and len(np.unique(values)) > 1
    if name in helpers.integral_dtypes:
        assert values.dtype == name and (values != 0).all()
    if name == "bfloat16":
        assert (values.view(np.uint32) & 0xFFFF == 0).all()
    assert (values == helpers.numpy_random((32, 8), name)).all(), "the seed is fixed"


def test_bounds_of_random_arrays():
    values = helpers.numpy_random(1000, "int32", low=-2, high=3)
    assert set(np.unique(values)) == {-2, -1, 1, 2}
    with pytest.raises(ValueError, match="no random numbers of 'complex'"):
        helpers.numpy_random(4, "complex")


def test_tensors_and_back():
    pytest.importorskip("torch")
    import torch

    for name in helpers.dtypes:
        values = helpers.numpy_random(64, name)
        tensor = helpers.to_triton(values, "cpu")
        assert (helpers.to_numpy(tensor) == values).all() and helpers.to_numpy(tensor).dtype == name
        assert helpers.torch_dtype_name(tensor.dtype) == name
        assert isinstance(helpers.unwrap_tensor(tensor), torch.Tensor)
    rounded = helpers.to_triton(helpers.numpy_random(64, "bfloat16"), "cpu", dst_type="bfloat16")
    assert rounded.dtype is torch.bfloat16 and helpers.to_numpy(rounded).dtype == np.float32
    assert helpers.to_triton(helpers.numpy_random(64, "float8e5"), "cpu", dst_type="float8e5").dtype == tl.float8e5
    with pytest.raises(ValueError, match="neither a tensor nor a wrapper of one"):
        helpers.to_numpy([1])


def test_names_of_types():
    assert helpers.str_to_triton_dtype("bfloat16") == tl.bfloat16 and helpers.str_to_triton_dtype("i8") == tl.int8
    assert helpers.torch_dtype_name(tl.float16) == "float16" and helpers.torch_dtype_name(tl.int32) == "int32"
    with pytest.raises(TypeError, match="no type of elements: str"):
        helpers.torch_dtype_name("float32")


def test_fresh_knobs(monkeypatch):
    monkeypatch.setenv("TRITON_DEBUG", "1")
    before = dict(os.environ)
    fresh, restore = helpers._fresh_knobs_impl(skipped_attr={"autotuning"})
    with knobs.autotuning.scope():
        knobs.autotuning.print = True
        try:
            given = fresh()
            assert given is knobs and not given.runtime.debug and given.autotuning.print
            given.runtime.jit_cache_hook = lambda **kwargs: True
            given.compilation.always_compile = True
        finally:
            restore()
    assert knobs.runtime.debug and knobs.runtime.jit_cache_hook is None and not knobs.compilation.always_compile
    assert dict(os.environ) == before


def test_mark_of_descriptors(arch):
    arch("80")
    assert helpers.requires_tma.args == (True,)
    arch("90")
    assert helpers.requires_tma.args == (False,)
    with pytest.raises(AttributeError, match="has no attribute 'requires_tea'"):
        getattr(tilewright._internal_testing, "requires_tea")


@pytest.mark.parametrize("name", ["is_hip", "is_hip_cdna4", "is_hip_mi200", "is_hip_mi300", "is_hip_mi350", "is_xpu"])
def test_no_gpu_of_another_maker(name):
    assert getattr(helpers, name)() is False


def leave(code):
    sys.stderr.write("last words")
    sys.stderr.flush()
    if code:
        os._exit(code)
    if os.environ["HELPED"] == "no":
        raise RuntimeError("not helped")


def test_functions_in_processes_of_their_own():
    ended = helpers.run_in_process(leave, (0,), env={"HELPED": "yes"})
    assert ended.exc is None and ended.driver_stderr_output == "last words"
    raised = helpers.run_in_process(leave, kwargs={"code": 0}, env={"HELPED": "no"})
    assert isinstance(raised.exc, RuntimeError) and str(raised.exc) == "not helped"
    gone = helpers.run_in_process(leave, (7,))
    assert isinstance(gone.exc, RuntimeError) and "exit code 7" in str(gone.exc)
    assert "HELPED" not in os.environ
