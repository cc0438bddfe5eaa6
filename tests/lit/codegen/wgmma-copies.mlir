// Copies of accumulators stand in the text of the product or of the wait, where no product
// writes what they read.
// RUN: tilewright-opt %s --split-input-file --tw-emit-ptx -o /dev/null | FileCheck %s

#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 256, 512, 1024]>
#b = #tw.shared<offset = [16, 32, 64, 128, 256, 1, 130, 260, 8]>
#c = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [256, 512], block = []>
!as = !tw.buffer<64x32xf16, #a>
!bs = !tw.buffer<32x16xf16, #b>
!sums = tensor<64x16xf32, #c>

module attributes {tw.num_warps = 4 : i32} {
// The two sums change places: what the wait brings has other registers than the product.
// CHECK: wgmma.fence.sync.aligned;
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {[[FIRST:%f[0-9]+]],
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NEXT: mov.b32 {{%f[0-9]+}}, [[FIRST]];
// CHECK-COUNT-7: mov.b32
func.func @change_places(%x: f32, %n: i32, %out: !tw.ptr<f32>) {
  %zero = arith.constant dense<0.0> : !sums
  %one = tw.splat %x : f32 -> !sums
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %as = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !as
  %bs = tw.alloc_shared {tw.scratch_offset = 4096 : i32} : !bs
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %one, %t = %zero) -> (!sums, !sums) : i32 {
    %f = tw.wgmma %as, %bs, %s async warps [2, 0] : !as, !bs, !sums
    %g = tw.wgmma_wait 0 %f : !sums -> !sums
    scf.yield %t, %g : !sums, !sums
  }
  %p = tw.splat %out : !tw.ptr<f32> -> tensor<64x16x!tw.ptr<f32>, #c>
  tw.store %p, %r#0 : tensor<64x16x!tw.ptr<f32>, #c>, !sums
  func.return
}
}

// -----

#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 256, 512, 1024]>
#b = #tw.shared<offset = [16, 32, 64, 128, 256, 1, 130, 260, 8]>
#c = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [256, 512], block = []>
!as = !tw.buffer<64x32xf16, #a>
!bs = !tw.buffer<32x16xf16, #b>
!sums = tensor<64x16xf32, #c>

module attributes {tw.num_warps = 4 : i32} {
// The sum is kept as it was beside the product that adds to it.
// CHECK: mov.b32 [[SUM:%f[0-9]+]], {{%f[0-9]+}};
// CHECK-COUNT-7: mov.b32
// CHECK: wgmma.fence.sync.aligned;
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {[[SUM]],
func.func @keep(%x: f32, %n: i32, %out: !tw.ptr<f32>) {
  %zero = arith.constant dense<0.0> : !sums
  %one = tw.splat %x : f32 -> !sums
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %as = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !as
  %bs = tw.alloc_shared {tw.scratch_offset = 4096 : i32} : !bs
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %one, %t = %zero) -> (!sums, !sums) : i32 {
    %f = tw.wgmma %as, %bs, %s async warps [2, 0] : !as, !bs, !sums
    %u = arith.addf %s, %t : !sums
    %g = tw.wgmma_wait 0 %f : !sums -> !sums
    scf.yield %g, %u : !sums, !sums
  }
  %p = tw.splat %out : !tw.ptr<f32> -> tensor<64x16x!tw.ptr<f32>, #c>
  tw.store %p, %r#1 : tensor<64x16x!tw.ptr<f32>, #c>, !sums
  func.return
}
}
