# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What may be called, and where an inlined op says it comes from."""

# RUN: %emit %s | FileCheck %s

"""Tile IR of calls."""

import math
from collections import namedtuple

import numpy as np
import tilewright
import tilewright.language as tl
from emit_ttir import show

LOG2E = tl.constexpr(1.5)
Range = namedtuple("Range", ["low", "high"])


@tilewright.constexpr_function
def twice(x):
    return 2 * x


@tilewright.jit
def square(x):
    return x * x


@tilewright.jit
def apply(x, function: tl.constexpr, *rest):
    x = function(x)
    for i in tl.static_range(len(rest)):
        x += rest[i]
    return x


# Jit functions are inlined, also those passed as values.
# CHECK-LABEL: // inlined
# CHECK: %[[SQUARE:.*]] = arith.muli %arg1, %arg1
# CHECK: %[[ONE:.*]] = arith.addi %[[SQUARE]], %arg1
# CHECK: arith.addi %[[ONE]], %c3_i32
@show(p="*i32", n="i32")
@tilewright.jit
def inlined(p, n):
    tl.store(p, apply(n, square, n, 3))


# Compile-time functions and Python's own compute while the kernel is made.
# CHECK-LABEL: // constants
# CHECK: tw.range 0 to 8
# CHECK: arith.constant 1.100000e+01 : f32
@show(p="*fp32", constants=dict(K=4))
@tilewright.jit
def constants(p, K: tl.constexpr):
    bits: tl.constexpr = int(math.log2(K)) + len((1, 2)) + twice(K)
    tl.static_assert(isinstance(K, int) and hasattr(p, "dtype"))
    tl.static_assert(f"{K:>3}{K!r}" == "  44")
    value: tl.constexpr = bits - max(1, 2) + LOG2E * 2 - abs(-2)
    tl.static_assert(value == 11.0)
    tl.static_assert(np.log2(K) == 2 and np.finfo(np.float32).bits == 32)
    tl.static_assert(Range(1, 2)._replace(low=p).high == 2)
    tl.store(p + tl.arange(0, twice(K)), value)


# `min` and `max` with a tensor are those of the language.
# CHECK-LABEL: // extrema
# CHECK: arith.minsi
# CHECK: arith.maxsi
# CHECK: math.absi
@show(p="*i32", n="i32")
@tilewright.jit
def extrema(p, n):
    tl.store(p, abs(max(min(n, 3), p.dtype.element_ty.primitive_bitwidth)))


# A namedtuple keeps its class through a branch.
# CHECK-LABEL: // records
# CHECK: %[[R:.*]]:2 = scf.if
# CHECK: arith.subi %[[R]]#1, %[[R]]#0
@show(p="*i32", n="i32")
@tilewright.jit
def records(p, n):
    if n > 3:
        r = Range(n, high=n + 1)
    else:
        r = Range(n * 2, n)
    tl.store(p, r.high - r.low)


# Recursion over constants ends while compiling.
# CHECK-LABEL: // recursion
# CHECK: arith.addi %arg1, %c3_i32
# CHECK: arith.addi %{{.*}}, %c2_i32
# CHECK: arith.addi %{{.*}}, %c1_i32
@tilewright.jit
def sum_down(x, N: tl.constexpr):
    if N == 0:
        return x
    return sum_down(x + N, N - 1)


@show(p="*i32", n="i32")
@tilewright.jit
def recursion(p, n):
    tl.store(p, sum_down(n, 3))


# print and assert, with what they say.
# CHECK-LABEL: // debugging
# CHECK: tw.print " n is: " %arg1 : i32 {isSigned = array<i1: true>}
# CHECK: tw.assert %{{.*}}, "n too small" : i1
# CHECK: %[[INACTIVE:.*]] = arith.xori
# CHECK: %[[HOLDS:.*]] = arith.ori %{{.*}}, %[[INACTIVE]] : tensor<16xi1>
# CHECK: tw.assert %[[HOLDS]], "masked" : tensor<16xi1>
@show(p="*i32", n="i32", options=dict(debug=True))
@tilewright.jit
def debugging(p, n):
    print("n is", n)
    assert n > 3, "n too small"
    i = tl.arange(0, 16)
    tl.device_assert(i < n, "masked", mask=i > 2)


# A comprehension over a tuple is a tuple.
# CHECK-LABEL: // comprehension
# CHECK-COUNT-2: arith.muli
# CHECK-NOT: arith.muli
@show(p="*i32", n="i32")
@tilewright.jit
def comprehension(p, n):
    a, b = [square(x) for x in (n, None, n) if x is not None]
    tl.store(p, a + b)


# An inlined op carries its own place and the call's.
# CHECK-LABEL: // places
# CHECK: arith.muli %arg1, %arg1 : i32 loc(#[[AT:.*]])
# CHECK-DAG: #[[CALLEE:.*]] = loc("square"(#[[SQUARE:.*]]))
# CHECK-DAG: #[[SQUARE]] = loc("calls.py":{{[0-9]+}}:12)
# CHECK-DAG: #[[AT]] = loc(callsite(#[[CALLEE]] at #{{.*}}))
@show(p="*i32", n="i32", locations=True)
@tilewright.jit
def places(p, n):
    tl.store(p, square(n))
