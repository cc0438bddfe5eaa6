// The product that stays in flight across the back edge is the second one of the body. The
// first one, which is waited for at once, is not in flight when the copies start, so the wait
// before them leaves no product pending.
// RUN: tilewright-opt --tw-print-loop-schedule %s -o /dev/null 2>&1 | FileCheck %s

// CHECK: schedule: plain, 2 ahead
// CHECK-NEXT: ring 0: 3 slots, fill @0, use @2, release by barrier, load 0 by tma, load 1 by tma
// CHECK: tw.wgmma @2
// CHECK-NEXT: wait for products, 0 pending @2
// CHECK-NEXT: barrier @2
// CHECK-NEXT: fill ring 0 @0
// CHECK: tw.wgmma @2
// CHECK-NOT: illegal

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#row = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#mem = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @products(%as: !tw.descriptor<64x64xf16>, %bs: !tw.descriptor<64x64xf16>, %n: i32) -> (tensor<64x64xf32, #acc>, tensor<64x64xf32, #acc>) {
    %none = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %out:2 = scf.for %i = %c0 to %n step %step iter_args(%most = %none, %sum = %none) -> (tensor<64x64xf32, #acc>, tensor<64x64xf32, #acc>) : i32 {
      %a = tw.descriptor_load %as[%c0, %i] : <64x64xf16> -> tensor<64x64xf16, #row>
      %as_ = tw.alloc_shared %a : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %b = tw.descriptor_load %bs[%i, %c0] : <64x64xf16> -> tensor<64x64xf16, #row>
      %bs_ = tw.alloc_shared %b : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %o = tw.wgmma %as_, %bs_, %none warps [2, 0] : !tw.buffer<64x64xf16, #mem>, <64x64xf16, #mem>, tensor<64x64xf32, #acc>
      %m = arith.maximumf %most, %o : tensor<64x64xf32, #acc>
      %p = tw.wgmma %bs_, %as_, %sum warps [2, 0] : !tw.buffer<64x64xf16, #mem>, <64x64xf16, #mem>, tensor<64x64xf32, #acc>
      scf.yield %m, %p : tensor<64x64xf32, #acc>, tensor<64x64xf32, #acc>
    }
    return %out#0, %out#1 : tensor<64x64xf32, #acc>, tensor<64x64xf32, #acc>
  }
}
