# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tl.atomic_load and tl.atomic_store: values, masks, ordering, what is refused."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs


EMULATED = True


def launch(kernel, *arguments):
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        tilewright.jit(kernel.fn)[(1,)](*arguments)


@tilewright.jit
def moves(x, out):
    i = tl.arange(0, 64)
    tl.atomic_store(out + i, tl.atomic_load(x + i), mask=i % 2 == 0)


@tilewright.jit
def relaxed(x, out):
    i = tl.arange(0, 64)
    tl.store(out + i, tl.atomic_load(x + i, sem="relaxed"))


@tilewright.jit
def by_methods(x, out):
    out.atomic_store(x.atomic_load(sem="relaxed", scope="sys") + 1, scope="cta")


@pytest.mark.parametrize("name", ["int8", "uint16", "float16", "int32", "uint32", "int64", "float32", "float64"])
def test_values_and_masks(device, name):
    x = np.arange(64).astype(name) - np.array(3).astype(name)
    out = device.array(np.full(64, 99, name))
    device.run(moves, (1,), device.array(x), out)
    np.testing.assert_array_equal(device.numpy(out), np.where(np.arange(64) % 2 == 0, x, np.array(99, name)))


@pytest.mark.parametrize("name", ["int8", "bool", "int16", "float16"])
def test_small_elements(device, name):
    x, out = np.arange(64).astype(name), device.array(np.zeros(64, name))
    device.run(relaxed, (1,), device.array(x), out)
    np.testing.assert_array_equal(device.numpy(out), x)


def test_methods_of_a_scalar():
    x, out = np.array([41], np.int32), np.zeros(1, np.int32)
    launch(by_methods, x, out)
    assert out[0] == 42


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_ordering_reaches_the_machine(target):
    def ptx(kernel):
        return tilewright.compile(tilewright.ASTSource(kernel, {"x": "*i32", "out": "*i32"}), target).asm["ptx"]

    text = ptx(by_methods)
    assert "ld.relaxed.sys.global.b32" in text and "st.release.cta.global.b32" in text and "atom." not in text
    text = ptx(moves)
    assert "fence.acq_rel.gpu" in text or "ld.acquire.gpu.global.b32" in text


@tilewright.jit
def releases(x):
    tl.atomic_load(x, sem="release")


@tilewright.jit
def acquires(x):
    tl.atomic_store(x, 1, sem="acq_rel")


@pytest.mark.parametrize(
    "kernel, dtype, text",
    [(releases, np.int32, "tl.atomic_load cannot release"), (acquires, np.int32, "tl.atomic_store cannot acquire")],
)
def test_refused(kernel, dtype, text):
    with pytest.raises(errors.TilewrightError, match=text):
        launch(kernel, np.zeros(1, dtype))
