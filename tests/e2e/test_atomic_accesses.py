# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tl.atomic_load and tl.atomic_store: values, masks, ordering, what is refused."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs


def launch(kernel, *arguments):
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        tilewright.jit(kernel.fn)[(1, )](*arguments)


@tilewright.jit
def moves(x, out):
    i = tl.arange(0, 64)
    tl.atomic_store(out + i, tl.atomic_load(x + i), mask=i % 2 == 0)


@tilewright.jit
def moves_halves(x, out):
    i = tl.arange(0, 64)
    tl.store(out + i, tl.atomic_load(x + i, sem="relaxed"))


@tilewright.jit
def by_methods(x, out):
    out.atomic_store(x.atomic_load(sem="relaxed", scope="sys") + 1, scope="cta")


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
def test_values_and_masks(dtype):
    x, out = np.arange(64).astype(dtype) - np.array(3).astype(dtype), np.full(64, 99, dtype)
    launch(moves, x, out)
    np.testing.assert_array_equal(out, np.where(np.arange(64) % 2 == 0, x, np.array(99, dtype)))


@pytest.mark.parametrize("dtype", ["int16", "float16"])
def test_halves(dtype):
    x, out = np.arange(64).astype(dtype), np.zeros(64, dtype)
    launch(moves_halves, x, out)
    np.testing.assert_array_equal(out, x)


def test_methods_of_a_scalar():
    x, out = np.array([41], np.int32), np.zeros(1, np.int32)
    launch(by_methods, x, out)
    assert out[0] == 42


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_ordering_reaches_the_machine(target):
    def ptx(kernel):
        return tilewright.compile(tilewright.ASTSource(kernel, {"x": "*i32", "out": "*i32"}), target).asm["ptx"]

    text = ptx(by_methods)
    assert "atom.relaxed.sys.global.or.b32" in text and "release.cta.global.exch.b32" in text
    text = ptx(moves)
    assert "fence.acq_rel.gpu" in text or "atom.acquire.gpu.global.or.b32" in text


@tilewright.jit
def releases(x):
    tl.atomic_load(x, sem="release")


@tilewright.jit
def acquires(x):
    tl.atomic_store(x, 1, sem="acq_rel")


@tilewright.jit
def stores(x):
    tl.atomic_store(x, 1)


@tilewright.jit
def loads_masked(x):
    tl.atomic_load(x, mask=tl.full([], 1, tl.int1))


@pytest.mark.parametrize("kernel, dtype, text", [
    (releases, np.int32, "tl.atomic_load cannot release"), (acquires, np.int32, "tl.atomic_store cannot acquire"),
    (stores, np.int8, "tl.atomic_store does not support int8"), (stores, np.int16, "does not support int16"),
    (loads_masked, np.int16, "tl.atomic_load of int16 takes no mask")])
def test_refused(kernel, dtype, text):
    with pytest.raises(errors.TilewrightError, match=text):
        launch(kernel, np.zeros(1, dtype))
