# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of the user on elements: functions of scalars, inline assembly."""

# RUN: %emit %s | FileCheck %s

import tilewright
import tilewright.language as tl
from emit_ttir import show


@tilewright.jit
def clip(x, low):
    if x < low:
        return low, True
    return x, False


# The function becomes a region on scalars with its branches.
# CHECK-LABEL: // mapped
# CHECK: %[[OUT:.*]]:2 = tw.map %{{.*}}, %{{.*}} pack 1 {
# CHECK: ^bb0(%[[X:.*]]: f32, %[[LOW:.*]]: f32):
# CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[X]], %[[LOW]] : f32
# CHECK: %[[IF:.*]]:2 = scf.if %[[LESS]] -> (f32, i1)
# CHECK: tw.yield %[[IF]]#0, %[[IF]]#1 : f32, i1
# CHECK: } : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xi1>)
@show(p="*fp32", low="fp32")
@tilewright.jit
def mapped(p, low):
    p += tl.arange(0, 16)
    x, changed = tl.map_elementwise(clip, tl.load(p), low)
    tl.store(p, x, mask=changed)


@tilewright.jit
def halves(a, b):
    return a * 0.5, b * 0.5


# CHECK-LABEL: // packed
# CHECK: tw.map %{{.*}} pack 2 {
# CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
# CHECK: } : (tensor<16xf32>) -> tensor<16xf32>
@show(p="*fp32")
@tilewright.jit
def packed(p):
    p += tl.arange(0, 16)
    tl.store(p, tl.map_elementwise(halves, tl.load(p), pack=2)[0])


# Operands are broadcast; without arguments the result is a scalar.
# CHECK-LABEL: // assembly
# CHECK: tw.inline_asm "add.f16x2 $0, $1, $2;", "=r,r,r" pack 2 pure(%{{.*}}, %{{.*}}) : (tensor<16xf16>, tensor<16xf16>) -> tensor<16xf16>
# CHECK: %{{.*}}:2 = tw.inline_asm "two", "=r,=r,r" pack 1(%{{.*}}) : (f32) -> (i32, f32)
# CHECK: tw.inline_asm "mov.u64 $0, %globaltimer;", "=l" pack 1() : () -> i64
@show(p="*fp16", s="fp32", q="*i64")
@tilewright.jit
def assembly(p, s, q):
    p += tl.arange(0, 16)
    x = tl.load(p)
    one = tl.full((1,), 1.0, tl.float16)
    tl.store(p, tl.inline_asm_elementwise("add.f16x2 $0, $1, $2;", "=r,r,r", [x, one], tl.float16, is_pure=True, pack=2))
    a, b = tl.inline_asm_elementwise("two", "=r,=r,r", [s], (tl.int32, tl.float32), is_pure=False, pack=1)
    tl.store(q, tl.extra.cuda.globaltimer() + a)
    tl.store(p, b)


# Functions of libdevice by the type of their operands; what the language has stays its own.
# CHECK-LABEL: // library
# CHECK: tw.extern_call "__nv_asinf"(%{{.*}}) : (tensor<16xf32>) -> tensor<16xf32>
# CHECK: tw.extern_call "__nv_hypot"(%{{.*}}, %{{.*}}) : (tensor<16xf64>, tensor<16xf64>) -> tensor<16xf64>
# CHECK: tw.extern_call "__nv_float2int_rd"(%{{.*}}) : (tensor<16xf32>) -> tensor<16xi32>
# CHECK: math.exp
@show(p="*fp32", q="*fp64")
@tilewright.jit
def library(p, q):
    x = tl.load(p + tl.arange(0, 16))
    x = tl.extra.libdevice.asin(x)
    y = tl.extra.libdevice.hypot(tl.load(q + tl.arange(0, 16)), x)
    tl.store(q + tl.arange(0, 16), y + tl.extra.libdevice.float2int_rd(x))
    tl.store(p + tl.arange(0, 16), tl.extra.libdevice.exp(x))
