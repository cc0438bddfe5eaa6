# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels without control flow: parameters, options, elementwise work, memory."""

# RUN: %emit %s | FileCheck %s

"""Tile IR of straight line."""

import tilewright
import tilewright.language as tl
from emit_ttir import show


# Pointers and integers become arguments; divisibility and launch options become
# attributes; the mask goes to both loads and the store.
# CHECK-LABEL: // add
# CHECK: module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32}
# CHECK: func.func @add(%[[X:.*]]: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %[[Y:.*]]: !tw.ptr<f32>, %[[N:.*]]: i32)
# CHECK: %[[PID:.*]] = tw.program_id 0
# CHECK: %[[START:.*]] = arith.muli %[[PID]], %c128_i32
# CHECK: %[[RANGE:.*]] = tw.range 0 to 128
# CHECK: %[[I:.*]] = arith.addi %{{.*}}, %[[RANGE]] : tensor<128xi32>
# CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[I]]
# CHECK: %[[SUM:.*]] = arith.addf
# CHECK: tw.store %{{.*}}, %[[SUM]] mask %[[MASK]]
# CHECK: return
@show(
    x="*fp32",
    y="*fp32",
    n="i32",
    constants=dict(BLOCK=128),
    divisibility=dict(x=16),
    options=dict(num_warps=4, num_stages=3, debug=False),
    target="sm_90a",
)
@tilewright.jit
def add(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask=mask)


# A boolean is a byte in memory and i1 in registers.
# CHECK-LABEL: // booleans
# CHECK: func.func @booleans(%{{.*}}: !tw.ptr<i8>, %[[FLAG:.*]]: i1)
# CHECK: %[[BYTES:.*]] = tw.load {{.*}} -> tensor<16xi8>
# CHECK: arith.cmpi ne, %[[BYTES]]
# CHECK: %[[OUT:.*]] = arith.extui {{.*}} : tensor<16xi1> to tensor<16xi8>
# CHECK: tw.store %{{.*}}, %[[OUT]]
@show(p="*i1", flag="i1")
@tilewright.jit
def booleans(p, flag):
    p += tl.arange(0, 16)
    tl.store(p, tl.load(p) & flag)


# Types of 8 bits, rounding, bits as another type.
# CHECK-LABEL: // casts
# CHECK: tw.float_cast %{{.*}} : tensor<16xf32> -> tensor<16xf8E4M3FN>
# CHECK: tw.float_cast %{{.*}} {rounding = #tw.rounding<toward_zero>} : tensor<16xf32> -> tensor<16xf16>
# CHECK: arith.truncf %{{.*}} : tensor<16xf32> to tensor<16xbf16>
# CHECK: tw.bitcast %{{.*}} : tensor<16xf32> -> tensor<16xi32>
# CHECK-NOT: tw.bitcast
# CHECK: arith.fptoui %{{.*}} : tensor<16xf32> to tensor<16xi32>
# CHECK: arith.uitofp %{{.*}} : tensor<16xi32> to tensor<16xf64>
@show(p="*fp32", q="*fp64")
@tilewright.jit
def casts(p, q):
    i = tl.arange(0, 16)
    x = tl.load(p + i)
    tl.static_assert(x.to(tl.float8e4nv).dtype == tl.float8e4nv)
    x.to(tl.float16, fp_downcast_rounding="rtz")
    x.to(tl.bfloat16)
    x.to(tl.int32, bitcast=True).to(tl.uint32, bitcast=True)
    tl.store(q + i, x.to(tl.uint32).to(tl.float64))


# Unsigned offsets are zero-extended, which addptr says.
# CHECK-LABEL: // offsets
# CHECK: tw.addptr %{{.*}}, %{{.*}} unsigned : !tw.ptr<f32>, i32
# CHECK: tw.addptr %{{.*}}, %{{.*}} : !tw.ptr<f32>, i64
@show(p="*fp32", u="u32", s="i64")
@tilewright.jit
def offsets(p, u, s):
    tl.store(p + u, 1.0)
    tl.store(p + s, 1.0)


# A combine function is walked once, inside the region.
# CHECK-LABEL: // reductions
# CHECK: tw.reduce %{{.*}}, %{{.*}} axis 0 {
# CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[I:.*]]: i32, %[[B:.*]]: f32, %[[J:.*]]: i32):
# CHECK-NEXT: %[[GREATER:.*]] = arith.cmpf ogt, %[[A]], %[[B]]
# CHECK-NEXT: %[[VALUE:.*]] = arith.select %[[GREATER]], %[[A]], %[[B]]
# CHECK-NEXT: %[[INDEX:.*]] = arith.select %[[GREATER]], %[[I]], %[[J]]
# CHECK-NEXT: tw.yield %[[VALUE]], %[[INDEX]]
# CHECK: (tensor<16xf32>, tensor<16xi32>) -> (f32, i32)
# CHECK: tw.scan %{{.*}} axis 0 reverse {
@tilewright.jit
def larger(a, i, b, j):
    keep = a > b
    return tl.where(keep, a, b), tl.where(keep, i, j)


@tilewright.jit
def plus(a, b):
    return a + b


@show(p="*fp32")
@tilewright.jit
def reductions(p):
    i = tl.arange(0, 16)
    x = tl.load(p + i)
    value, index = tl.reduce((x, i), 0, larger)
    tl.store(p + index, value)
    tl.store(p + i, tl.associative_scan(x, 0, plus, reverse=True))


# Names are bound to values, so a tuple, its parts and a namedtuple cost nothing;
# a number that is assigned becomes a scalar, an annotated one stays a constant.
# CHECK-LABEL: // bindings
# CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i32
# CHECK: arith.muli %{{.*}}, %[[TWO]]
# CHECK: tw.range 0 to 8
@show(p="*fp32", n="i32", constants=dict(K=4))
@tilewright.jit
def bindings(p, n, K: tl.constexpr):
    two = 2
    pair = (n, two)
    first, second = pair
    eight: tl.constexpr = K * 2
    tl.store(p + first * second + tl.arange(0, eight), 1.0)
