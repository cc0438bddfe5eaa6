# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright.jax.call`: kernels in programs of JAX, on the CPU in the interpreter and on a GPU."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness import devices
from tilewright import errors

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import tilewright.jax  # noqa: E402


@tilewright.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) * factor, i < n)


@tilewright.jit
def accumulate_kernel(x_ptr, total_ptr, count_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(total_ptr + i, tl.load(total_ptr + i, i < n) + tl.load(x_ptr + i, i < n), i < n)
    tl.store(count_ptr + tl.program_id(0), BLOCK)


@tilewright.jit
def copy_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


def grid(meta):
    return (tilewright.cdiv(meta["n"], meta["BLOCK"]),)


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def scale(x, factor=2.0, kernel=scale_kernel, **constants):
    return tilewright.jax.call(kernel, x, n=x.size, factor=factor, grid=grid, out_shape=like(x), **(constants or {"BLOCK": 32}))


def accumulate(x, total, **changes):
    arguments = {
        "x_ptr": x,
        "total_ptr": total,
        "n": x.size,
        "BLOCK": 32,
        "grid": grid,
        "out_shape": {"total_ptr": like(total), "count_ptr": jax.ShapeDtypeStruct((3,), jnp.int32)},
        "input_output_aliases": {"total_ptr": "total_ptr"},
        **changes,
    }
    return tilewright.jax.call(accumulate_kernel, **arguments)


def numbers(*shape, dtype=jnp.float32):
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape), dtype)


def test_eagerly():
    x = numbers(70)
    result = scale(x)
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(result, 2 * x)
    assert scale(x, 0.0).max() == 0, "the value of a number is part of the call"


def test_in_a_compiled_function():
    x = numbers(70)
    np.testing.assert_allclose(jax.jit(lambda x: scale(scale(x + 1), 3.0) - 1)(x), 6 * (x + 1) - 1, rtol=1e-6)


def test_results_have_the_form_of_their_declaration():
    x = numbers(8)
    shape = like(x)
    for declared in (shape, [shape], (shape,), {"out_ptr": shape}):
        result = tilewright.jax.call(copy_kernel, x, BLOCK=8, grid=(1,), out_shape=declared)
        assert type(result) is (type(x) if declared is shape else type(declared))
        np.testing.assert_array_equal(jax.tree.leaves(result)[0], x)
    by_name = tilewright.jax.call(scale_kernel, x, 8, 2.0, 8, grid=[1], out_shape={"out_ptr": shape})
    np.testing.assert_array_equal(by_name["out_ptr"], 2 * x)


def test_arguments_do_not_change():
    x, total = numbers(70), jnp.ones(70)
    results = accumulate(x, total)
    np.testing.assert_array_equal(results["total_ptr"], 1 + x)
    assert results["count_ptr"].tolist() == [32, 32, 32]
    assert total.max() == 1, "the argument was overwritten"
    donated = jax.jit(lambda x, total: accumulate(x, total)["total_ptr"], donate_argnums=1)
    np.testing.assert_array_equal(donated(x, jnp.ones(70)), 1 + x)


@pytest.mark.parametrize(
    "dtype", [jnp.bfloat16, jnp.float16, jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.int8, jnp.uint32, jnp.bool_]
)
def test_types(dtype):
    x = jnp.asarray([0, 1, 1, 0, 1, 0, 0, 1], dtype)
    result = tilewright.jax.call(copy_kernel, x, BLOCK=8, grid=1, out_shape=like(x))
    assert result.dtype == dtype and (result == x).all()


def test_empty_arrays():
    assert scale(jnp.ones((0, 4))).shape == (0, 4)


def test_mapped_over():
    x = numbers(3, 40)
    np.testing.assert_array_equal(jax.vmap(scale)(x), 2 * x)


def test_gradients_are_given_as_in_any_program_of_jax():
    @jax.custom_vjp
    def doubled(x):
        return scale(x)

    doubled.defvjp(lambda x: (scale(x), None), lambda kept, gradient: (scale(gradient),))
    x = numbers(40)
    np.testing.assert_array_equal(jax.grad(lambda x: (doubled(x) * x).sum())(x), 4 * x)
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x: scale(x).sum())(x)


def test_tuned_kernel():
    tuned = tilewright.autotune(configs=[tilewright.Config({"BLOCK": 32}), tilewright.Config({"BLOCK": 64})], key=["n"])(
        scale_kernel
    )
    x = numbers(70)
    np.testing.assert_array_equal(tilewright.jax.call(tuned, x, n=70, factor=2.0, grid=grid, out_shape=like(x)), 2 * x)


def test_equal_calls_are_one_launch():
    x, before = numbers(33), len(tilewright.jax._launches)
    for factor in (5.0, 5.0, 5, 5.0):  # a float and an int are two kernels
        np.testing.assert_array_equal(scale(x, factor), 5 * x)
    assert len(tilewright.jax._launches) == before + 2


def test_mistake_of_the_running_kernel():
    with pytest.raises(jax.errors.JaxRuntimeError, match="E0407.*x_ptr.*element 8"):
        jax.block_until_ready(
            tilewright.jax.call(copy_kernel, numbers(8), BLOCK=16, grid=1, out_shape=jax.ShapeDtypeStruct((16,), jnp.float32))
        )


def test_launch_of_another_process():
    run = jax.ffi.ffi_call("tilewright_launch", jax.ShapeDtypeStruct((8,), jnp.float32))
    with pytest.raises(jax.errors.JaxRuntimeError) as info:
        jax.block_until_ready(run(launch="unheard of"))
    assert (
        "[E0117] this program of XLA's launches a kernel that this process does not know\n"
        "  help: trace the function in the process that runs it" in str(info.value)
    )


X = np.ones(70, np.float32)
S = jax.ShapeDtypeStruct((70,), np.float32)


@pytest.mark.parametrize(
    "kernel, args, named, message",
    [
        (scale_kernel, (X, X), {"n": 70, "factor": 2.0, "BLOCK": 32, "out_shape": S}, r"E0205.*unexpected.*out_shape\[0\]"),
        (scale_kernel, (X,), {"n": 70, "BLOCK": 32, "out_shape": S}, "E0205.*missing.*factor"),
        (scale_kernel, (X,), {"n": 70, "factor": 2.0, "out_shape": S}, "E0205.*missing.*BLOCK"),
        (scale_kernel, (X,), {"n": 70, "factor": 2.0, "BLOCK": 32, "out_shape": [S, S]}, r"E0205.*out_shape\[1\]"),
        (scale_kernel, (X,), {"n": 70, "factor": 2.0, "BLOCK": 32, "out_shape": {"other": S}}, "E0205.*missing.*out_ptr"),
        (scale_kernel, (X, 70, 2.0, 32, 1), {"out_shape": {"out_ptr": S}}, "E0205.*number 5"),
        (scale_kernel, (X,), {"x_ptr": X, "n": 70, "factor": 2.0, "BLOCK": 32, "out_shape": S}, "E0205.*repeated.*x_ptr"),
        (scale_kernel, (X,), {"n": 70, "factr": 2.0, "BLOCK": 32, "out_shape": S}, "E0210.*factr"),
        (scale_kernel, (X,), {"n": 70, "factor": [2.0], "BLOCK": 32, "out_shape": S}, "E0204.*factor"),
        (scale_kernel, (X,), {"n": 70, "factor": 2.0, "BLOCK": 32, "out_shape": S, "grid": (-1,)}, "E0207"),
        (scale_kernel, (X.astype(np.complex64),), {"n": 70, "factor": 2.0, "BLOCK": 32, "out_shape": S}, "E0206.*complex64"),
        (
            scale_kernel,
            (X,),
            {"n": 70, "factor": 2.0, "BLOCK": 32, "out_shape": S, "input_output_aliases": {"x_ptr": 1}},
            "E0205.*= 1",
        ),
        (copy_kernel, (X,), {"BLOCK": 8, "out_shape": S, "input_output_aliases": {"x_ptr": 0}}, "E0205.*missing.*out_ptr"),
    ],
)
def test_mistakes_of_the_call(kernel, args, named, message):
    with pytest.raises(errors.TilewrightError, match=message):
        tilewright.jax.call(kernel, *args, **{"grid": grid, **named})


# What is done -> code, sentence, help.
ADVISED = {
    "result that is no array": (
        lambda: scale_call(out_shape=70),
        "E0204",
        "argument 'out_shape[0]' has type int",
        "declare results by jax.ShapeDtypeStruct(shape, dtype)",
    ),
    "result by name that is no array": (
        lambda: scale_call(out_shape={"out_ptr": "fp32"}),
        "E0204",
        "argument 'out_shape['out_ptr']' has type str",
        "declare results by jax.ShapeDtypeStruct(shape, dtype)",
    ),
    "array for a constant": (
        lambda: scale_call(BLOCK=X),
        "E0204",
        "argument 'BLOCK' has type ndarray, and is a constant of the kernel",
        "pass a value of Python's; in jax.jit, name the argument in static_argnums",
    ),
    "traced number for a constant": (
        lambda: jax.jit(lambda block: scale_call(BLOCK=block))(32),
        "E0204",
        "argument 'BLOCK' has type DynamicJaxprTracer, and is a constant of the kernel",
        "pass a value of Python's; in jax.jit, name the argument in static_argnums",
    ),
    "argument that changes": (
        lambda: accumulate(X, X, out_shape=jax.ShapeDtypeStruct((3,), np.int32), input_output_aliases=None),
        "E0216",
        "'total_ptr' is read-only and the kernel writes it",
        "arrays of JAX do not change: declare a result in out_shape and name it, as in input_output_aliases={'total_ptr': 0}",
    ),
    "result of another type than its argument": (
        lambda: accumulate(
            X,
            X,
            count_ptr=X.astype(np.int32),
            out_shape={"total_ptr": S, "count_ptr": S},
            input_output_aliases={"total_ptr": "total_ptr", "count_ptr": "count_ptr"},
        ),
        "E0121",
        "'count_ptr' is int32[70] and its result float32[70]",
        "an argument and its result are one buffer",
    ),
    "result of another shape than its argument": (
        lambda: accumulate(
            X,
            X,
            out_shape={"total_ptr": jax.ShapeDtypeStruct((69,), np.float32), "count_ptr": jax.ShapeDtypeStruct((3,), np.int32)},
        ),
        "E0121",
        "'total_ptr' is float32[70] and its result float32[69]",
        "an argument and its result are one buffer",
    ),
}


def scale_call(**changes):
    return tilewright.jax.call(
        scale_kernel, X, **{"n": 70, "factor": 2.0, "BLOCK": 32, "grid": grid, "out_shape": S, **changes}
    )


@pytest.mark.parametrize("action, code, sentence, advice", ADVISED.values(), ids=ADVISED)
def test_advice(action, code, sentence, advice):
    with pytest.raises(errors.TilewrightError) as info:
        action()
    assert (info.value.code, info.value.message, info.value.help) == (code, sentence, advice)


@pytest.mark.parametrize("interpret", [False, True])
def test_direct_launch_in_a_traced_function(interpret, monkeypatch):
    """The launcher and the interpreter read arguments each in its own way, and say the same."""
    monkeypatch.setattr(tilewright.knobs.runtime, "interpret", interpret)
    kernel = tilewright.jit(copy_kernel.fn)
    with pytest.raises(errors.TilewrightError) as info:
        jax.jit(lambda x: kernel[(1,)](x, x, BLOCK=8))(numbers(8))
    assert (info.value.code, info.value.message) == ("E0204", "argument 'x_ptr' has type DynamicJaxprTracer")
    assert info.value.help == "in a function that JAX traces, launch by tilewright.jax.call(kernel, ...)"


@pytest.mark.gpu
def test_on_the_gpu():
    if problem := devices.gpu_problem():
        pytest.skip(problem)
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    x, total = numbers(70), jnp.ones(70)
    np.testing.assert_array_equal(scale(x), 2 * x)
    np.testing.assert_allclose(jax.jit(lambda x: scale(scale(x + 1), 3.0) - 1)(x), 6 * (x + 1) - 1, rtol=1e-6)
    np.testing.assert_array_equal(accumulate(x, total)["total_ptr"], 1 + x)
    assert total.max() == 1
    big = numbers(1 << 22)

    @jax.jit
    def chain(x):  # each step must wait for XLA's own kernels before it
        for _ in range(20):
            x = scale(jnp.sin(x), 1.0)
        return x

    expected = big
    for _ in range(20):
        expected = jnp.sin(expected)
    np.testing.assert_allclose(chain(big), expected, rtol=1e-5, atol=1e-6)
    for dtype in (jnp.bfloat16, jnp.float8_e4m3fn):
        narrow = jnp.ones(64, dtype)
        assert (tilewright.jax.call(copy_kernel, narrow, BLOCK=64, grid=1, out_shape=like(narrow)) == narrow).all()
