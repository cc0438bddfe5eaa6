# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an `if` becomes: nothing where the condition is known, else an scf.if
whose results are the names that both sides leave with a value."""

# RUN: %emit %s | FileCheck %s

"""Tile IR of branches."""

import tilewright
import tilewright.language as tl
from emit_ttir import show


# The dead branch is not even looked at: `missing` has no meaning.
# CHECK-LABEL: // static
# CHECK-NOT: scf.if
# CHECK: tw.store
# CHECK-NOT: tw.store
# CHECK: return
@show(p="*fp32", constants=dict(q=None, MODE="sum"))
@tilewright.jit
def static(p, q, MODE: tl.constexpr):
    if q is not None:
        tl.store(q, missing)  # noqa: F821
    elif MODE == "sum" and p is not None:
        tl.store(p, 1.0)
    else:
        missing()  # noqa: F821


# `x` is changed on one side, `y` made on both, `z` on one only.
# CHECK-LABEL: // merge
# CHECK: %[[R:.*]]:2 = scf.if %{{.*}} -> (f32, i32) {
# CHECK: scf.yield %{{.*}}, %{{.*}} : f32, i32
# CHECK: } else {
# CHECK: scf.yield %[[X:.*]], %{{.*}} : f32, i32
# CHECK: tw.addptr %{{.*}}, %[[R]]#1
# CHECK: tw.store %{{.*}}, %[[R]]#0
@show(p="*fp32", n="i32")
@tilewright.jit
def merge(p, n):
    x = tl.load(p)
    if n > 3:
        x += 1
        y = n
        z = n + 1
        tl.store(p + z, 0.0)
    else:
        y = n * 2
    tl.store(p + y, x)


# A branch without results and without else has no else region.
# CHECK-LABEL: // effects
# CHECK: scf.if %{{.*}} {
# CHECK-NEXT: tw.store
# CHECK-NEXT: }
# CHECK-NEXT: return
@show(p="*i32", n="i32")
@tilewright.jit
def effects(p, n):
    if n:
        tl.store(p, n)


# A tuple is merged part by part; the part that is the same on both sides stays.
# CHECK-LABEL: // tuples
# CHECK: %[[R:.*]] = scf.if %{{.*}} -> (i32) {
# CHECK: arith.addi %[[R]], %arg1
@show(p="*i32", n="i32")
@tilewright.jit
def tuples(p, n):
    if n > 3:
        t = (n * 2, n)
    else:
        t = (n * 3, n)
    tl.store(p, t[0] + t[1])


# The rest of the kernel moves into the branch that goes on.
# CHECK-LABEL: // early_return
# CHECK: scf.if %{{.*}} {
# CHECK-NEXT: } else {
# CHECK: tw.store
# CHECK: }
# CHECK-NEXT: return
@show(p="*fp32", n="i32")
@tilewright.jit
def early_return(p, n):
    if tl.program_id(0) >= n:
        return
    tl.store(p, 1.0)


# Two returns of a helper meet in one value; what follows the `if` is the else.
# CHECK-LABEL: // helper_returns
# CHECK: %[[R:.*]] = scf.if %{{.*}} -> (f32) {
# CHECK:   %[[INNER:.*]] = scf.if %{{.*}} -> (f32) {
# CHECK:     scf.yield
# CHECK:   } else {
# CHECK:     arith.addf
# CHECK:     arith.mulf
# CHECK:   scf.yield %[[INNER]]
# CHECK: } else {
# CHECK:   arith.mulf
# CHECK: tw.store %{{.*}}, %[[R]]
@tilewright.jit
def choose(x, n):
    if n > 0:
        if n > 5:
            return x
        x = x + 1.0
    return x * 2.0


@show(p="*fp32", n="i32")
@tilewright.jit
def helper_returns(p, n):
    tl.store(p, choose(tl.load(p), n))


# A return under a condition that is false now leaves an ordinary if.
# CHECK-LABEL: // unused_return
# CHECK: %[[R:.*]] = scf.if %{{.*}} -> (f32) {
# CHECK-NEXT: arith.constant
# CHECK-NEXT: arith.addf
# CHECK-NEXT: scf.yield
# CHECK-NEXT: } else {
# CHECK-NEXT: scf.yield
# CHECK-NEXT: }
# CHECK: arith.mulf %[[R]]
@tilewright.jit
def maybe(x, n, STOP: tl.constexpr):
    if n > 0:
        if STOP:
            return x
        x = x + 1.0
    return x * 2.0


@show(p="*fp32", n="i32")
@tilewright.jit
def unused_return(p, n):
    tl.store(p, maybe(tl.load(p), n, False))


# The conditional expression is a branch; a known condition is none.
# CHECK-LABEL: // expressions
# CHECK: %[[R:.*]] = scf.if %{{.*}} -> (i32) {
# CHECK-NOT: scf.if
# CHECK: tw.store %{{.*}}, %[[R]]
@show(p="*i32", n="i32", constants=dict(K=3))
@tilewright.jit
def expressions(p, n, K: tl.constexpr):
    a = n if n > 3 else n * 2
    b = p if K > 2 else None
    tl.store(b, a)


# Constants decide `and` and `or` or drop out; values are combined bit by bit.
# CHECK-LABEL: // logic
# CHECK: %[[A:.*]] = arith.cmpi sgt
# CHECK: %[[B:.*]] = arith.cmpi slt
# CHECK: %[[AND:.*]] = arith.andi %[[A]], %[[B]] : i1
# CHECK-NOT: arith.ori
# CHECK: scf.if %[[AND]]
@show(p="*i32", n="i32", constants=dict(K=3))
@tilewright.jit
def logic(p, n, K: tl.constexpr):
    if n > 3 and K and n < 9:
        tl.store(p, n)
    tl.static_assert((n > 3 or K) == 3)
