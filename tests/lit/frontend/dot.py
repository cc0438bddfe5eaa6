# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products: accumulators, types, precision, loop hints."""

# RUN: %emit %s | FileCheck %s

import tilewright
import tilewright.language as tl
from emit_ttir import show


@tilewright.jit
def tile(p, M: tl.constexpr, N: tl.constexpr):
    return p + tl.arange(0, M)[:, None] * N + tl.arange(0, N)


# Without an accumulator the product is added to zeros; f16 gives f32.
# CHECK-LABEL: // plain
# CHECK: %[[ZEROS:.*]] = tw.splat %cst : f32 -> tensor<16x32xf32>
# CHECK: tw.dot %{{.*}}, %{{.*}}, %[[ZEROS]] : tensor<16x64xf16>, tensor<64x32xf16>, tensor<16x32xf32>
# CHECK-NOT: tw.unit
@show(a="*fp16", b="*fp16", c="*fp32")
@tilewright.jit
def plain(a, b, c):
    x = tl.load(tile(a, 16, 64))
    y = tl.load(tile(b, 64, 32))
    tl.store(tile(c, 16, 32), tl.dot(x, y))


# The accumulator's type decides where out_dtype does not.
# CHECK-LABEL: // accumulators
# CHECK: tw.dot %{{.*}} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf16>
# CHECK: tw.dot %{{.*}} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf16>
# CHECK: tw.dot %{{.*}} : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x16xf32>
# CHECK: tw.dot %{{.*}} : tensor<16x16xf64>, tensor<16x16xf64>, tensor<16x16xf64>
# CHECK: tw.dot %{{.*}} : tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xi32>
@show(a="*fp16", b="*bf16", c="*fp64", d="*i8", e="*i8", out="*fp64")
@tilewright.jit
def accumulators(a, b, c, d, e, out):
    x = tl.load(tile(a, 16, 16))
    x = tl.dot(x, x, out_dtype=tl.float16)
    x = tl.dot(x, x, acc=x)
    y = tl.load(tile(b, 16, 16))
    y = tl.dot(y, y)
    z = tl.load(tile(c, 16, 16))
    z = tl.dot(z, z)
    i = tl.dot(tl.load(tile(d, 16, 32)), tl.load(tile(e, 32, 16)), out_dtype=tl.float32)
    tl.store(tile(out, 16, 16), x + y + z + i)


# f32 operands stay f32; how they are used is an attribute. The default is tf32.
# CHECK-LABEL: // precisions
# CHECK: tw.dot %{{[^{]*}} : tensor<16x16xf32>
# CHECK: tw.dot {{.*}} {precision = #tw.precision<tf32x3>} : tensor<16x16xf32>
# CHECK: tw.dot {{.*}} {precision = #tw.precision<ieee>} : tensor<16x16xf32>
# CHECK: tw.dot {{.*}} {precision = #tw.precision<bf16x6>} : tensor<16x16xf32>
# CHECK: tw.dot {{.*}} {precision = #tw.precision<ieee>} : tensor<16x16xf32>
# CHECK: tw.dot %{{[^{]*}} : tensor<16x16xf16>
@show(a="*fp32")
@tilewright.jit
def precisions(a):
    x = tl.load(tile(a, 16, 16))
    x = tl.dot(x, x)
    x = tl.dot(x, x, input_precision="tf32x3")
    x = tl.dot(x, x, input_precision="IEEE")
    x = tl.dot(x, x, input_precision="bf16x6")
    x = tl.dot(x, x, allow_tf32=False)
    h = x.to(tl.float16)
    tl.store(tile(a, 16, 16), x + tl.dot(h, h, input_precision="ieee"))


# The launch's default counts where the call names none.
# CHECK-LABEL: // by_default
# CHECK: tw.dot {{.*}} {precision = #tw.precision<ieee>}
# CHECK: tw.dot %{{[^{]*}} : tensor<16x16xf32>
# CHECK: tw.dot {{.*}} {maxImprecise = 32 : i32} : tensor<16x64xf8E4M3FN>, tensor<64x16xf8E5M2>, tensor<16x16xf32>
# CHECK: tw.dot {{.*}} {maxImprecise = 64 : i32} : tensor<16x64xf8E4M3FN>, tensor<64x16xf8E5M2>, tensor<16x16xf32>
@show(a="*fp32", options=dict(default_dot_input_precision="ieee", max_num_imprecise_acc_default=32))
@tilewright.jit
def by_default(a):
    x = tl.load(tile(a, 16, 16))
    x = tl.dot(x, x)
    x = tl.dot(x, x, allow_tf32=True)
    e = tl.zeros((16, 64), tl.float8e4nv)
    f = tl.zeros((64, 16), tl.float8e5)
    x = tl.dot(e, f, x)
    tl.store(tile(a, 16, 16), tl.dot(e, f, x, max_num_imprecise_acc=64))


# A batch is a leading dimension.
# CHECK-LABEL: // batched
# CHECK: tw.dot %{{.*}} : tensor<4x1x16xbf16>, tensor<4x16x2xbf16>, tensor<4x1x2xf32>
@show(a="*fp32")
@tilewright.jit
def batched(a):
    x = tl.zeros((4, 1, 16), tl.bfloat16)
    y = tl.zeros((4, 16, 2), tl.bfloat16)
    tl.store(a, tl.sum(tl.dot(x, y)))


# Both ways to accumulate in a loop; all hints of tl.range arrive on it.
# CHECK-LABEL: // loops
# CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<16x16xf32>)
# CHECK: %[[DOT:.*]] = tw.dot %{{.*}}, %{{.*}}, %[[ACC]] :
# CHECK: scf.yield %[[DOT]]
# CHECK: } {tw.loop_flatten, tw.loop_no_licm, tw.loop_single_accumulator, tw.loop_stages = 4 : i32, tw.loop_unroll = 2 : i32, tw.loop_warp_specialize}
# CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<16x16xf32>)
# CHECK: %[[DOT:.*]] = tw.dot
# CHECK: %[[SUM:.*]] = arith.addf %[[ACC]], %[[DOT]]
# CHECK: scf.yield %[[SUM]]
@show(a="*fp16", c="*fp32", n="i32")
@tilewright.jit
def loops(a, c, n):
    x = tile(a, 16, 16)
    acc = tl.zeros((16, 16), tl.float32)
    for k in tl.range(
        0,
        n,
        num_stages=4,
        loop_unroll_factor=2,
        disallow_acc_multi_buffer=True,
        flatten=True,
        warp_specialize=True,
        disable_licm=True,
    ):
        acc = tl.dot(tl.load(x + k), tl.load(x), acc)
    for k in range(n):
        acc += tl.dot(tl.load(x + k), tl.load(x))
    tl.store(tile(c, 16, 16), acc)
