// Products of registers: instruction forms, small tiles, operands in parts.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/half.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=HALF
// RUN: tilewright-opt %t/pairs.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=PAIRS
// RUN: tilewright-opt %t/double.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=DOUBLE
// RUN: tilewright-opt %t/bytes.mlir --tw-emit-ptx=target=sm_89 -o /dev/null | FileCheck %s --check-prefix=BYTES
// RUN: tilewright-opt %t/parts.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=PARTS
// RUN: tilewright-opt %t/tiny.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=TINY
// RUN: tilewright-opt %t/fma.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=FMA

//--- half.mlir
// One instruction.
// HALF: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{%f[0-9]+, %f[0-9]+, %f[0-9]+, %f[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+}}}, {{{%f[0-9]+, %f[0-9]+, %f[0-9]+, %f[0-9]+}}};
// HALF-NOT: mma.sync
#a = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#b = #tw.layout<register = [8, 64], lane = [16, 32, 1, 2, 4], warp = [], block = []>
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @half(%x: f16, %y: f16, %z: f32, %out: !tw.ptr<f32>) {
  %a = tw.splat %x : f16 -> tensor<16x16xf16, #a>
  %b = tw.splat %y : f16 -> tensor<16x8xf16, #b>
  %c = tw.splat %z : f32 -> tensor<16x8xf32, #c>
  %d = tw.dot %a, %b, %c {unit = #tw.unit<mma>, precision = #tw.precision<tf32>, warps = array<i32: 0, 0>}
       : tensor<16x16xf16, #a>, tensor<16x8xf16, #b>, tensor<16x8xf32, #c>
  %i = tw.range 0 to 128 : tensor<128xi32, #c>
  %j = tw.reshape %i : tensor<128xi32, #c> -> tensor<16x8xi32, #c>
  %s = tw.splat %out : !tw.ptr<f32> -> tensor<16x8x!tw.ptr<f32>, #c>
  %p = tw.addptr %s, %j : tensor<16x8x!tw.ptr<f32>, #c>, tensor<16x8xi32, #c>
  tw.store %p, %d : tensor<16x8x!tw.ptr<f32>, #c>, tensor<16x8xf32, #c>
  func.return
}
}

//--- pairs.mlir
// Sums of f16 are pairs.
// PAIRS: mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {{{%r[0-9]+, %r[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+}}};
#a = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#b = #tw.layout<register = [8, 64], lane = [16, 32, 1, 2, 4], warp = [], block = []>
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @pairs(%x: f16, %y: f16, %z: f16, %out: !tw.ptr<f16>) {
  %a = tw.splat %x : f16 -> tensor<16x16xf16, #a>
  %b = tw.splat %y : f16 -> tensor<16x8xf16, #b>
  %c = tw.splat %z : f16 -> tensor<16x8xf16, #c>
  %d = tw.dot %a, %b, %c {unit = #tw.unit<mma>, precision = #tw.precision<tf32>, warps = array<i32: 0, 0>}
       : tensor<16x16xf16, #a>, tensor<16x8xf16, #b>, tensor<16x8xf16, #c>
  %i = tw.range 0 to 128 : tensor<128xi32, #c>
  %j = tw.reshape %i : tensor<128xi32, #c> -> tensor<16x8xi32, #c>
  %s = tw.splat %out : !tw.ptr<f16> -> tensor<16x8x!tw.ptr<f16>, #c>
  %p = tw.addptr %s, %j : tensor<16x8x!tw.ptr<f16>, #c>, tensor<16x8xi32, #c>
  tw.store %p, %d : tensor<16x8x!tw.ptr<f16>, #c>, tensor<16x8xf16, #c>
  func.return
}
}

//--- double.mlir
// Two steps of K; the row halves have equal operands here, so one stands for both.
// DOUBLE-COUNT-2: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{%fd[0-9]+, %fd[0-9]+}}}, {{{%fd[0-9]+}}}, {{{%fd[0-9]+}}}, {{{%fd[0-9]+, %fd[0-9]+}}};
// DOUBLE-NOT: mma.sync
#a = #tw.layout<register = [64, 4], lane = [1, 2, 8, 16, 32], warp = [], block = []>
#b = #tw.layout<register = [32], lane = [8, 16, 1, 2, 4], warp = [], block = []>
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @double(%x: f64, %y: f64, %z: f64, %out: !tw.ptr<f64>) {
  %a = tw.splat %x : f64 -> tensor<16x8xf64, #a>
  %b = tw.splat %y : f64 -> tensor<8x8xf64, #b>
  %c = tw.splat %z : f64 -> tensor<16x8xf64, #c>
  %d = tw.dot %a, %b, %c {unit = #tw.unit<mma>, precision = #tw.precision<tf32>, warps = array<i32: 0, 0>}
       : tensor<16x8xf64, #a>, tensor<8x8xf64, #b>, tensor<16x8xf64, #c>
  %i = tw.range 0 to 128 : tensor<128xi32, #c>
  %j = tw.reshape %i : tensor<128xi32, #c> -> tensor<16x8xi32, #c>
  %s = tw.splat %out : !tw.ptr<f64> -> tensor<16x8x!tw.ptr<f64>, #c>
  %p = tw.addptr %s, %j : tensor<16x8x!tw.ptr<f64>, #c>, tensor<16x8xi32, #c>
  tw.store %p, %d : tensor<16x8x!tw.ptr<f64>, #c>, tensor<16x8xf64, #c>
  func.return
}
}

//--- bytes.mlir
// fp8 sums are f32 whatever the tile's type, and rounded once.
// BYTES: cvt.f32.f16
// BYTES: mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {{{%f[0-9]+, %f[0-9]+, %f[0-9]+, %f[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+}}}, {{{%f[0-9]+, %f[0-9]+, %f[0-9]+, %f[0-9]+}}};
// BYTES: cvt.rn.f16
#a = #tw.layout<register = [1, 2, 256, 16], lane = [4, 8, 32, 64, 128], warp = [], block = []>
#b = #tw.layout<register = [8, 16, 128], lane = [32, 64, 1, 2, 4], warp = [], block = []>
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @bytes(%x: !tw.ptr<f8E4M3FN>, %y: !tw.ptr<f8E5M2>, %z: f16, %out: !tw.ptr<f16>) {
  %x0 = tw.load %x : !tw.ptr<f8E4M3FN> -> f8E4M3FN
  %y0 = tw.load %y : !tw.ptr<f8E5M2> -> f8E5M2
  %a = tw.splat %x0 : f8E4M3FN -> tensor<16x32xf8E4M3FN, #a>
  %b = tw.splat %y0 : f8E5M2 -> tensor<32x8xf8E5M2, #b>
  %c = tw.splat %z : f16 -> tensor<16x8xf16, #c>
  %d = tw.dot %a, %b, %c {unit = #tw.unit<mma>, precision = #tw.precision<tf32>, warps = array<i32: 0, 0>}
       : tensor<16x32xf8E4M3FN, #a>, tensor<32x8xf8E5M2, #b>, tensor<16x8xf16, #c>
  %i = tw.range 0 to 128 : tensor<128xi32, #c>
  %j = tw.reshape %i : tensor<128xi32, #c> -> tensor<16x8xi32, #c>
  %s = tw.splat %out : !tw.ptr<f16> -> tensor<16x8x!tw.ptr<f16>, #c>
  %p = tw.addptr %s, %j : tensor<16x8x!tw.ptr<f16>, #c>, tensor<16x8xi32, #c>
  tw.store %p, %d : tensor<16x8x!tw.ptr<f16>, #c>, tensor<16x8xf16, #c>
  func.return
}
}

//--- parts.mlir
// Leading and remaining upper halves: two small products in a sum that starts at
// zero, in which a NaN counts as nothing, and the large one. K = 16 is one step of
// bf16.
// PARTS: and.b32 {{.*}}, -65536;
// PARTS: sub{{(.rn)?}}.f32
// PARTS-COUNT-3: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PARTS-NOT: mma.sync
// PARTS: setp.{{num|equ?|nan}}.f32
// PARTS: add{{(.rn)?}}.f32
#a = #tw.layout<register = [128, 4, 8], lane = [1, 2, 16, 32, 64], warp = [], block = []>
#b = #tw.layout<register = [32, 64], lane = [8, 16, 1, 2, 4], warp = [], block = []>
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @parts(%x: f32, %y: f32, %z: f32, %out: !tw.ptr<f32>) {
  %a = tw.splat %x : f32 -> tensor<16x16xf32, #a>
  %b = tw.splat %y : f32 -> tensor<16x8xf32, #b>
  %c = tw.splat %z : f32 -> tensor<16x8xf32, #c>
  %d = tw.dot %a, %b, %c {unit = #tw.unit<mma>, precision = #tw.precision<bf16x3>, warps = array<i32: 0, 0>}
       : tensor<16x16xf32, #a>, tensor<16x8xf32, #b>, tensor<16x8xf32, #c>
  %i = tw.range 0 to 128 : tensor<128xi32, #c>
  %j = tw.reshape %i : tensor<128xi32, #c> -> tensor<16x8xi32, #c>
  %s = tw.splat %out : !tw.ptr<f32> -> tensor<16x8x!tw.ptr<f32>, #c>
  %p = tw.addptr %s, %j : tensor<16x8x!tw.ptr<f32>, #c>, tensor<16x8xi32, #c>
  tw.store %p, %d : tensor<16x8x!tw.ptr<f32>, #c>, tensor<16x8xf32, #c>
  func.return
}
}

//--- tiny.mlir
// Lanes beyond K = 2 give zeros; words beyond it are the constant zero.
// TINY: and.b32 [[LANE:%r[0-9]+]], {{.*}}, 3;
// TINY: setp.eq.s32 [[ISK:%p[0-9]+]], [[LANE]], 0;
// TINY: selp.b32 [[A:%r[0-9]+]], {{.*}}, 0, [[ISK]];
// TINY: selp.b32 [[B:%r[0-9]+]], {{.*}}, 0, [[ISK]];
// TINY: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{.*}}}, {[[A]], [[A]], [[Z:%r[0-9]+]], [[Z]]}, {[[B]], [[Z]]},
#a = #tw.layout<register = [1], lane = [0, 0, 2, 0, 0], warp = [], block = []>
#b = #tw.layout<register = [2], lane = [0, 0, 1, 0, 0], warp = [], block = []>
#c = #tw.layout<register = [1], lane = [0, 0, 2, 0, 0], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @tiny(%x: f16, %y: f16, %z: f32, %out: !tw.ptr<f32>) {
  %a = tw.splat %x : f16 -> tensor<2x2xf16, #a>
  %b = tw.splat %y : f16 -> tensor<2x2xf16, #b>
  %c = tw.splat %z : f32 -> tensor<2x2xf32, #c>
  %d = tw.dot %a, %b, %c {unit = #tw.unit<mma>, precision = #tw.precision<tf32>, warps = array<i32: 0, 0>}
       : tensor<2x2xf16, #a>, tensor<2x2xf16, #b>, tensor<2x2xf32, #c>
  %i = tw.range 0 to 4 : tensor<4xi32, #c>
  %j = tw.reshape %i : tensor<4xi32, #c> -> tensor<2x2xi32, #c>
  %s = tw.splat %out : !tw.ptr<f32> -> tensor<2x2x!tw.ptr<f32>, #c>
  %p = tw.addptr %s, %j : tensor<2x2x!tw.ptr<f32>, #c>, tensor<2x2xi32, #c>
  tw.store %p, %d : tensor<2x2x!tw.ptr<f32>, #c>, tensor<2x2xf32, #c>
  func.return
}
}

//--- fma.mlir
// Sums of f16 by fma are made in f32 and rounded once: four of them, K = 2.
// FMA-COUNT-2: fma.rn.f32
// FMA: cvt.rn.f16.f32
#a = #tw.layout<register = [1, 16], lane = [0, 0, 2, 4, 8], warp = [], block = []>
#b = #tw.layout<register = [8, 1], lane = [2, 4, 0, 0, 0], warp = [], block = []>
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @fma(%x: f16, %y: f16, %z: f16, %out: !tw.ptr<f16>) {
  %a = tw.splat %x : f16 -> tensor<16x2xf16, #a>
  %b = tw.splat %y : f16 -> tensor<2x8xf16, #b>
  %c = tw.splat %z : f16 -> tensor<16x8xf16, #c>
  %d = tw.dot %a, %b, %c {unit = #tw.unit<fma>, precision = #tw.precision<tf32>, warps = array<i32: 0, 0>}
       : tensor<16x2xf16, #a>, tensor<2x8xf16, #b>, tensor<16x8xf16, #c>
  %i = tw.range 0 to 128 : tensor<128xi32, #c>
  %j = tw.reshape %i : tensor<128xi32, #c> -> tensor<16x8xi32, #c>
  %s = tw.splat %out : !tw.ptr<f16> -> tensor<16x8x!tw.ptr<f16>, #c>
  %p = tw.addptr %s, %j : tensor<16x8x!tw.ptr<f16>, #c>, tensor<16x8xi32, #c>
  tw.store %p, %d : tensor<16x8x!tw.ptr<f16>, #c>, tensor<16x8xf16, #c>
  func.return
}
}
