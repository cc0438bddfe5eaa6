# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of other releases, other GPUs and other languages: one coded error says what to use."""

import importlib

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import _core, errors, foreign
from tilewright.language import elsewhere


@tilewright.jit
def transposing_kernel(x_ptr):
    offsets = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, tl.dot(x, x, trans_a=True))


@tilewright.jit
def descriptor_kernel(x_ptr):
    tl.store(x_ptr, tl._experimental_reinterpret_tensor_descriptor(x_ptr, [16], tl.float32))


@tilewright.jit
def plain_kernel(x_ptr):
    tl.store(x_ptr, 1.0)


CASES = [
    (transposing_kernel, "E0125", "'trans_a= of tl.dot' belongs to a release of Triton before 2.1", "tl.dot(tl.trans(a), b)"),
    (
        descriptor_kernel,
        "E0125",
        "'tl._experimental_reinterpret_tensor_descriptor' belongs to",
        "use tl.make_tensor_descriptor",
    ),
]


@pytest.mark.parametrize("kernel, code, message, help", CASES)
def test_kernels(kernel, code, message, help):
    with pytest.raises(errors.TilewrightError) as interpreted:
        kernel[(1,)](np.ones(256, np.float32))
    with pytest.raises(errors.TilewrightError) as compiled:
        _core.emit_ttir(kernel, {"x_ptr": "*fp32"})
    for info in (interpreted, compiled):
        assert info.value.code == code and message in info.value.message and help in info.value.help
        assert info.value.frames[0].function == kernel.__name__


@tilewright.jit
def clipping_kernel(x_ptr):
    tl.store(x_ptr, tl.clip(tl.load(x_ptr), 0.0, 1.0))


@tilewright.jit
def casting_kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr).astype(tl.float32))


@tilewright.jit
def tanh_kernel(x_ptr):
    tl.store(x_ptr, tl.tanh(tl.load(x_ptr)))


@tilewright.jit
def sigmoid_kernel(x_ptr):
    tl.store(x_ptr, tl.math.sigmoid(tl.load(x_ptr)))


@tilewright.jit
def number_kernel(x_ptr):
    tl.store(x_ptr, tl.float32(tl.load(x_ptr)))


ELSEWHERE = [
    (clipping_kernel, "E0104", "use tl.clamp(x, low, high)"),
    (casting_kernel, "E0104", "use .to(dtype)"),
    (tanh_kernel, "E0104", "use libdevice.tanh, from tilewright.language.extra import libdevice"),
    (sigmoid_kernel, "E0104", "use tl.sigmoid"),
    (number_kernel, "E0123", "a dtype is not called: use tl.cast(x, tl.float32)"),
]


@pytest.mark.parametrize("kernel, code, help", ELSEWHERE)
def test_names_of_numpy_and_names_that_stand_elsewhere(kernel, code, help):
    with pytest.raises(errors.TilewrightError) as interpreted:
        kernel[(1,)](np.ones(1, np.float32))
    with pytest.raises(errors.TilewrightError) as compiled:
        _core.emit_ttir(kernel, {"x_ptr": "*fp32"})
    assert [(info.value.code, info.value.help) for info in (interpreted, compiled)] == [(code, help)] * 2


def test_what_is_not_the_languages_own_gets_no_such_advice():
    assert elsewhere.advice(np, "clip") == "" and elsewhere.advice(tl, "no_such_name") == ""


@pytest.mark.parametrize("name", sorted(elsewhere.OTHER_WORDS))
def test_words_of_others_are_no_names_here(name):
    assert not hasattr(tl, name)


@pytest.mark.parametrize("name", sorted(foreign.OPTIONS))
def test_options(name):
    with pytest.raises(KeyError, match=f"'{name}' belongs to") as info:
        plain_kernel[(1,)](np.ones(1, np.float32), **{name: 2})
    assert info.value.code == "E0125" and info.value.help == foreign.OPTIONS[name][1]


@pytest.mark.parametrize("name", sorted(foreign.NAMES))
def test_programs_that_ask_for_a_name_first(name):
    assert not hasattr(tl, name)


@pytest.mark.parametrize("name", sorted(foreign.MODULES))
def test_modules(name):
    from tilewright import triton_alias

    with pytest.raises(ModuleNotFoundError, match=r"\[E0125\]") as info:
        triton_alias.spec_of(f"triton.{name}")
    assert info.value.help == foreign.MODULES[name][1]
    assert importlib.util.find_spec(f"tilewright.{name.split('.')[0]}") is None or "." in name
