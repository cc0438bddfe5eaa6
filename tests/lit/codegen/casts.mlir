// 8-bit floats: pairs in hardware from sm_89 on, bit sequences before.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/fp8.mlir --tw-emit-ptx=target=sm_89 -o /dev/null | FileCheck %s --check-prefix=HARD
// RUN: tilewright-opt %t/fp8.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=SOFT
// RUN: tilewright-opt %t/rounding.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=ROUND
// RUN: tilewright-opt %t/integers.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=INT
// RUN: tilewright-opt %t/bf16.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=AMPERE
// RUN: tilewright-opt %t/bf16.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=HOPPER

//--- fp8.mlir
// HARD: cvt.rn.f16x2.e4m3x2
// HARD: cvt.rn.satfinite.e5m2x2.f32
// HARD-NOT: cvt.rn.f16x2
// SOFT-NOT: e4m3
// SOFT-NOT: e5m2
// SOFT: ret
#b = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @fp8(%x: !tw.ptr<f8E4M3FN>, %y: !tw.ptr<f8E5M2>) {
  %r = tw.range 0 to 64 : tensor<64xi32, #b>
  %xs = tw.splat %x : !tw.ptr<f8E4M3FN> -> tensor<64x!tw.ptr<f8E4M3FN>, #b>
  %p = tw.addptr %xs, %r : tensor<64x!tw.ptr<f8E4M3FN>, #b>, tensor<64xi32, #b>
  %a = tw.load %p {tw.vector_elements = 2 : i32} : tensor<64x!tw.ptr<f8E4M3FN>, #b> -> tensor<64xf8E4M3FN, #b>
  %f = tw.float_cast %a : tensor<64xf8E4M3FN, #b> -> tensor<64xf32, #b>
  %g = arith.mulf %f, %f : tensor<64xf32, #b>
  %c = tw.float_cast %g : tensor<64xf32, #b> -> tensor<64xf8E5M2, #b>
  %ys = tw.splat %y : !tw.ptr<f8E5M2> -> tensor<64x!tw.ptr<f8E5M2>, #b>
  %q = tw.addptr %ys, %r : tensor<64x!tw.ptr<f8E5M2>, #b>, tensor<64xi32, #b>
  tw.store %q, %c {tw.vector_elements = 2 : i32} : tensor<64x!tw.ptr<f8E5M2>, #b>, tensor<64xf8E5M2, #b>
  func.return
}
}

//--- rounding.mlir
// ROUND-DAG: cvt.rz.f16.f32
// ROUND-DAG: cvt.rn.f16.f32
// ROUND-DAG: cvt.rz.bf16.f32
// ROUND-DAG: cvt.rz.f32.f64
module attributes {tw.num_warps = 1 : i32} {
func.func @rounding(%x: f32, %d: f64, %h: !tw.ptr<f16>, %b: !tw.ptr<bf16>, %s: !tw.ptr<f32>) {
  %0 = tw.float_cast %x {rounding = #tw.rounding<toward_zero>} : f32 -> f16
  tw.store %h, %0 : !tw.ptr<f16>, f16
  %1 = tw.float_cast %x : f32 -> f16
  tw.store %h, %1 : !tw.ptr<f16>, f16
  %2 = tw.float_cast %x {rounding = #tw.rounding<toward_zero>} : f32 -> bf16
  tw.store %b, %2 : !tw.ptr<bf16>, bf16
  %3 = tw.float_cast %d {rounding = #tw.rounding<toward_zero>} : f64 -> f32
  tw.store %s, %3 : !tw.ptr<f32>, f32
  func.return
}
}

//--- integers.mlir
// INT-DAG: cvt.rzi.s32.f32
// INT-DAG: cvt.rzi.u64.f64
// INT-DAG: cvt.rn.f32.s64
// INT-DAG: cvt.rn.f16.u32
// INT-DAG: cvt.rzi.u16.f32
// INT-DAG: cvt.rzi.s16.f32
module attributes {tw.num_warps = 1 : i32} {
func.func @integers(%x: f32, %d: f64, %i: i64, %u: i32, %a: !tw.ptr<i32>, %b: !tw.ptr<i64>, %c: !tw.ptr<f32>, %h: !tw.ptr<f16>, %s: !tw.ptr<i8>, %t: !tw.ptr<i8>) {
  %4 = arith.fptoui %x : f32 to i8
  tw.store %s, %4 : !tw.ptr<i8>, i8
  %5 = arith.fptosi %x : f32 to i8
  tw.store %t, %5 : !tw.ptr<i8>, i8
  %0 = arith.fptosi %x : f32 to i32
  tw.store %a, %0 : !tw.ptr<i32>, i32
  %1 = arith.fptoui %d : f64 to i64
  tw.store %b, %1 : !tw.ptr<i64>, i64
  %2 = arith.sitofp %i : i64 to f32
  tw.store %c, %2 : !tw.ptr<f32>, f32
  %3 = arith.uitofp %u : i32 to f16
  tw.store %h, %3 : !tw.ptr<f16>, f16
  func.return
}
}

//--- bf16.mlir
// Native from sm_90 on; below, an fma with one rounding does the same.
// AMPERE: {{fma.rn.bf16|cvt.rn.bf16.f32}}
// HOPPER: add{{(.rn)?}}.bf16
module attributes {tw.num_warps = 1 : i32} {
func.func @bf16(%p: !tw.ptr<bf16>) {
  %x = tw.load %p : !tw.ptr<bf16> -> bf16
  %y = arith.addf %x, %x : bf16
  tw.store %p, %y : !tw.ptr<bf16>, bf16
  func.return
}
}
