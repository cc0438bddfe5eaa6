# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 21: kernels in programs of JAX.

Results that are declared, jit, gradients, and arrays that never change.

    python tutorials/21_jax.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

jax = lesson.framework("jax", 'pip install jax, or "jax[cuda13]" for a GPU')
import jax.numpy as jnp  # noqa: E402

import tilewright.jax  # noqa: E402

# The kernel is like any other: it gets pointers, and stores its result through one.


@tw.jit
def softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, offsets < columns, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + offsets, numerator / tl.sum(numerator, axis=0), offsets < columns)


@tw.jit
def softmax_gradient_kernel(y_ptr, grad_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    y = tl.load(y_ptr + row * columns + offsets, mask, other=0.0).to(tl.float32)
    gradient = tl.load(grad_ptr + row * columns + offsets, mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * columns + offsets, y * (gradient - tl.sum(y * gradient, axis=0)), mask)


# In JAX a function gives new arrays. So a call declares its results, by shape and type;
# the kernel's parameter that gets no value, out_ptr, is the result. The arrays are XLA's: inside
# jit the kernel runs on XLA's stream between XLA's own kernels, and nothing is copied.


def softmax_rows(x):
    rows, columns = x.shape
    return tilewright.jax.call(
        softmax_kernel,
        x,
        columns=columns,
        BLOCK=tw.next_power_of_2(columns),
        grid=(rows,),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )


def softmax_gradient(y, gradient):
    rows, columns = y.shape
    return tilewright.jax.call(
        softmax_gradient_kernel,
        y,
        gradient,
        columns=columns,
        BLOCK=tw.next_power_of_2(columns),
        grid=(rows,),
        out_shape=jax.ShapeDtypeStruct(y.shape, y.dtype),
    )


# JAX cannot look into a kernel, so the gradient is given, by another kernel here.


@jax.custom_vjp
def softmax(x):
    return softmax_rows(x)


def forward(x):
    y = softmax_rows(x)
    return y, y


softmax.defvjp(forward, lambda y, gradient: (softmax_gradient(y, gradient),))

# A kernel that changes its argument is refused: the program would see an array of JAX change. One
# that works in place says which result the argument becomes, and XLA copies it unless nobody needs it any more.


@tw.jit
def add_kernel(total_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(total_ptr + offsets, offsets < n)
    tl.store(total_ptr + offsets, total + tl.load(x_ptr + offsets, offsets < n), offsets < n)


def add(total, x, **aliases):
    return tilewright.jax.call(
        add_kernel,
        total,
        x,
        n=x.size,
        BLOCK=256,
        grid=(tw.cdiv(x.size, 256),),
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype)] if aliases else [],
        **aliases,
    )


def compare(what: str, actual, expected, tolerance: float):
    lesson.check(what, np.asarray(actual, np.float64), np.asarray(expected, np.float64), tolerance)


def check(rows: int, columns: int, dtype):
    x = jnp.asarray(np.random.default_rng(0).standard_normal((rows, columns)), dtype)
    weights = jnp.arange(columns, dtype=jnp.float32)
    tolerance = 1e-5 if dtype == jnp.float32 else 3e-2

    def loss(x, function):
        return (function(x * 2).astype(jnp.float32) * weights).mean()

    def reference(x):
        return jax.nn.softmax(x.astype(jnp.float32), axis=1).astype(dtype)

    compare(f"{rows} x {columns} {x.dtype}", softmax(x), reference(x), tolerance)
    compare(
        "compiled, with gradient",
        jax.jit(jax.grad(lambda x: loss(x, softmax)))(x),
        jax.grad(lambda x: loss(x, reference))(x),
        tolerance,
    )


def check_in_place():
    x, total = jnp.arange(1000.0), jnp.ones(1000)
    try:
        add(total, x)
    except tw.TilewrightError as error:
        print("\n".join("    " + line for line in str(error).splitlines()))
    else:
        raise SystemExit("a kernel that changes an argument was not refused: WRONG")
    (result,) = add(total, x, input_output_aliases={"total_ptr": 0})
    compare("an argument that becomes a result", result, 1 + np.arange(1000.0), tolerance=0.0)
    compare("the argument itself", total, np.ones(1000), tolerance=0.0)


def sweep():
    """Bandwidth against the row length, beside XLA: one read and one write."""
    columns = [2**i for i in range(8, 16)]
    ours, theirs = [], []
    for n in columns:
        x = jnp.ones((2**26 // n, n))
        run, reference = jax.jit(softmax_rows), jax.jit(lambda x: jax.nn.softmax(x, axis=1))
        ours.append(lesson.gigabytes_per_second_with_waiting(lambda: run(x).block_until_ready(), 2 * x.nbytes))
        theirs.append(lesson.gigabytes_per_second_with_waiting(lambda: reference(x).block_until_ready(), 2 * x.nbytes))
    lesson.show("softmax in JAX", "columns", columns, {"Tilewright": ours, "XLA": theirs})


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0], on_gpu=jax.default_backend() == "gpu")
    check(5, 781, jnp.float32)
    check(4, 64, jnp.bfloat16)
    check_in_place()
    if jax.default_backend() == "gpu" and not options.quick:
        sweep()
