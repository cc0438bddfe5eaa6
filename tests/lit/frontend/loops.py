# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""for and while: what is carried, the type of the index, hints, unrolling."""

# RUN: %emit %s | FileCheck %s

"""Tile IR of loops."""

import tilewright
import tilewright.language as tl
from emit_ttir import show


# Only what the body assigns and had a value before is carried.
# CHECK-LABEL: // carried
# CHECK: %[[R:.*]] = scf.for %[[I:.*]] = %c0_i32{{.*}} to %arg1 step %c1_i32{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32)  : i32 {
# CHECK: %[[NEXT:.*]] = arith.addf %[[ACC]]
# CHECK: scf.yield %[[NEXT]] : f32
# CHECK: tw.store %{{.*}}, %[[R]]
@show(p="*fp32", n="i32")
@tilewright.jit
def carried(p, n):
    acc = 0.0
    for i in range(n):
        x = tl.load(p + i)
        acc += x
    tl.store(p, acc)


# An int64 bound makes an int64 index; a uint32 one counts in 64 bits.
# CHECK-LABEL: // index_types
# CHECK: scf.for {{.*}} : i64 {
# CHECK-NEXT: tw.addptr %arg0, %{{.*}} : !tw.ptr<f32>, i64
# CHECK: arith.extui %arg2 : i32 to i64
# CHECK: scf.for {{.*}} : i64 {
# CHECK-NEXT: arith.trunci %{{.*}} : i64 to i32
# CHECK-NEXT: tw.addptr %arg0, %{{.*}} unsigned
@show(p="*fp32", n="i64", u="u32")
@tilewright.jit
def index_types(p, n, u):
    for i in range(n):
        tl.store(p + i, 1.0)
    for j in range(u):
        tl.store(p + j, 1.0)


# Downward: the loop counts up from the end and mirrors the index.
# CHECK-LABEL: // descending
# CHECK: %[[STOP:.*]] = arith.constant 0 : i32
# CHECK: %[[STEP:.*]] = arith.constant 2 : i32
# CHECK: scf.for %[[K:.*]] = %[[STOP]] to %arg1 step %[[STEP]]
# CHECK-NEXT: %[[DONE:.*]] = arith.subi %[[K]], %[[STOP]]
# CHECK-NEXT: %[[I:.*]] = arith.subi %arg1, %[[DONE]]
# CHECK-NEXT: tw.addptr %arg0, %[[I]]
@show(p="*fp32", n="i32")
@tilewright.jit
def descending(p, n):
    for i in range(n, 0, -2):
        tl.store(p + i, 1.0)


# CHECK-LABEL: // hints
# CHECK: } {tw.loop_flatten, tw.loop_no_licm, tw.loop_stages = 3 : i32, tw.loop_unroll = 2 : i32, tw.loop_warp_specialize}
@show(p="*fp32", n="i32")
@tilewright.jit
def hints(p, n):
    for i in tl.range(0, n, 4, num_stages=3, loop_unroll_factor=2, flatten=True, warp_specialize=True, disable_licm=True):
        tl.store(p + i, 1.0)


# CHECK-LABEL: // unrolled
# CHECK-NOT: scf.for
# CHECK: tw.range 0 to 2
# CHECK: tw.range 0 to 4
# CHECK-NOT: tw.range
# CHECK: return
@show(p="*fp32")
@tilewright.jit
def unrolled(p):
    for i in tl.static_range(1, 3):
        tl.store(p + tl.arange(0, 2 * i), i)


# The choice between the two may itself be made at compile time.
# CHECK-LABEL: // chosen
# CHECK: scf.for
# CHECK-NOT: scf.for
# CHECK: return
@tilewright.jit
def fill(p, UNROLL: tl.constexpr):
    for i in (tl.static_range if UNROLL else range)(2):
        tl.store(p + i, i)


@show(p="*fp32")
@tilewright.jit
def chosen(p):
    fill(p, False)
    fill(p, True)


# An argument specialised to 1 is a constant until the body changes it.
# CHECK-LABEL: // promoted
# CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (i32)
# CHECK: %[[NEXT:.*]] = arith.muli %[[S]]
# CHECK: scf.yield %[[NEXT]] : i32
# CHECK: tw.range 0 to 4
@show(p="*i32", n="i32", constants=dict(s=1, k=4))
@tilewright.jit
def promoted(p, n, s, k):
    for i in range(n):
        s = s * 2
        if k > 8:
            k = s
    tl.store(p + tl.arange(0, k), s)


# Condition in one region, body in the other, both on the carried names.
# CHECK-LABEL: // while_loop
# CHECK: scf.while (%[[A:.*]] = %arg1, %[[B:.*]] = %{{.*}}) : (i32, i32) -> (i32, i32) {
# CHECK-NEXT: %[[C:.*]] = arith.constant 0 : i32
# CHECK-NEXT: %[[GO:.*]] = arith.cmpi sgt, %[[A]], %[[C]]
# CHECK-NEXT: scf.condition(%[[GO]]) %[[A]], %[[B]] : i32, i32
# CHECK: } do {
# CHECK: ^bb0(%[[X:.*]]: i32, %[[Y:.*]]: i32):
# CHECK: %[[HALF:.*]] = arith.divsi %[[X]]
# CHECK: %[[COUNT:.*]] = arith.addi %[[Y]]
# CHECK: scf.yield %[[HALF]], %[[COUNT]]
@show(p="*i32", n="i32")
@tilewright.jit
def while_loop(p, n):
    count = 0
    while n > 0:
        n = n // 2
        count += 1
    tl.store(p, count)


# A spin lock: the condition itself has effects, nothing is carried.
# CHECK-LABEL: // lock
# CHECK: scf.while : () -> () {
# CHECK: %[[OLD:.*]] = tw.atomic_cas
# CHECK: %[[GO:.*]] = arith.cmpi eq, %[[OLD]]
# CHECK: scf.condition(%[[GO]])
# CHECK: } do {
# CHECK-NEXT: scf.yield
# CHECK: tw.atomic_rmw <exchange>
@show(p="*i32")
@tilewright.jit
def lock(p):
    while tl.atomic_cas(p, 0, 1) == 1:
        pass
    tl.debug_barrier()
    tl.atomic_xchg(p, 0)


# Inner loops carry through outer ones.
# CHECK-LABEL: // nest
# CHECK: %[[OUT:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (i32)
# CHECK: %[[IN:.*]] = scf.for {{.*}} iter_args(%[[B:.*]] = %[[A]]) -> (i32)
# CHECK: scf.yield %{{.*}} : i32
# CHECK: scf.yield %[[IN]] : i32
# CHECK: tw.store %{{.*}}, %[[OUT]]
@show(p="*i32", n="i32")
@tilewright.jit
def nest(p, n):
    total = 0
    for i in range(n):
        for j in range(i):
            total += j
    tl.store(p, total)


# A block pointer is a record: base, extents and coordinates are carried, the shape
# of its block and its unit stride stay constants.
# CHECK-LABEL: // block_pointer
# CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %arg0, %[[N:.*]] = %arg1, %[[S:.*]] = %arg1, %[[Y:.*]] = %{{.*}}, %[[X:.*]] = %{{.*}}) ->
# CHECK: %[[X1:.*]] = arith.addi %[[X]], %{{.*}} : i32
# CHECK: scf.yield %[[P]], %[[N]], %[[S]], %[[Y]], %[[X1]]
@show(p="*fp32", n="i32")
@tilewright.jit
def block_pointer(p, n):
    tile = tl.make_block_ptr(p, (16, n), (n, 1), (0, 0), (16, 32), (1, 0))
    for i in range(0, n, 32):
        x = tl.load(tile, boundary_check=(1,))
        tl.store(tile, x + 1, boundary_check=(1,))
        tile = tl.advance(tile, (0, 32))


# A constant inside a carried tuple stays one.
# CHECK-LABEL: // tuple_with_constant
# CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
@tilewright.jit
def step(state):
    return (state[0] + 1.0, state[1])


@show(p="*fp32", n="i32")
@tilewright.jit
def tuple_with_constant(p, n):
    state = (tl.load(p), None)
    for i in range(n):
        state = step(state)
    tl.store(p, state[0])
