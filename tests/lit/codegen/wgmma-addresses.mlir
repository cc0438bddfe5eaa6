// In a loop with wgmma an index becomes a distance in bytes by an extension and a shift; elsewhere
// by one multiplication.
// RUN: tilewright-opt %s --split-input-file --tw-emit-ptx -o /dev/null | FileCheck %s

#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 256, 512, 1024]>
#b = #tw.shared<offset = [16, 32, 64, 128, 256, 1, 130, 260, 8]>
#c = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [256, 512], block = []>

// CHECK-LABEL: .entry product
// CHECK: mul.wide.s32 {{%rd[0-9]+}}, {{%r[0-9]+}}, 8;
// CHECK: wgmma.mma_async
// CHECK: cvt.s64.s32 [[WIDE:%rd[0-9]+]], {{%r[0-9]+}};
// CHECK-NEXT: shl.b64 {{%rd[0-9]+}}, [[WIDE]], 2;
// CHECK-NOT: mul.wide
module attributes {tw.num_warps = 4 : i32} {
func.func @product(%x: f32, %out: !tw.ptr<f32>, %table: !tw.ptr<i64>, %first: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %acc = tw.splat %x : f32 -> tensor<64x16xf32, #c>
  %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x32xf16, #a>
  %b = tw.alloc_shared {tw.scratch_offset = 4096 : i32} : !tw.buffer<32x16xf16, #b>
  %address = tw.addptr %table, %first : !tw.ptr<i64>, i32
  %kind = tw.load %address : !tw.ptr<i64> -> i64
  %begin = arith.trunci %kind : i64 to i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %acc, %at = %begin) -> (tensor<64x16xf32, #c>, i32) : i32 {
    %f = tw.wgmma %a, %b, %sum warps [2, 0] : !tw.buffer<64x32xf16, #a>, !tw.buffer<32x16xf16, #b>, tensor<64x16xf32, #c>
    %p = tw.addptr %out, %at : !tw.ptr<f32>, i32
    %factor = tw.load %p : !tw.ptr<f32> -> f32
    %next = arith.fptosi %factor : f32 to i32
    scf.yield %f, %next : tensor<64x16xf32, #c>, i32
  }
  %q = tw.splat %out : !tw.ptr<f32> -> tensor<64x16x!tw.ptr<f32>, #c>
  tw.store %q, %r#0 : tensor<64x16x!tw.ptr<f32>, #c>, tensor<64x16xf32, #c>
  %last = arith.sitofp %r#1 : i32 to f32
  tw.store %out, %last : !tw.ptr<f32>, f32
  func.return
}
}

// -----

// CHECK-LABEL: .entry sum
// CHECK: mul.wide.s32 {{%rd[0-9]+}}, {{%r[0-9]+}}, 4;
module attributes {tw.num_warps = 4 : i32} {
func.func @sum(%out: !tw.ptr<f32>, %begin: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%at = %begin) -> i32 : i32 {
    %p = tw.addptr %out, %at : !tw.ptr<f32>, i32
    %factor = tw.load %p : !tw.ptr<f32> -> f32
    %next = arith.fptosi %factor : f32 to i32
    scf.yield %next : i32
  }
  %p = tw.addptr %out, %n : !tw.ptr<f32>, i32
  %f = arith.sitofp %r : i32 to f32
  tw.store %p, %f : !tw.ptr<f32>, f32
  func.return
}
}
