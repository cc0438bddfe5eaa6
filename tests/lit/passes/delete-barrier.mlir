// One barrier, fence or wait after the other, for tests of what notices it.
// RUN: tilewright-opt %s --tw-delete-barrier -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: tilewright-opt %s --tw-delete-barrier=number=0 | FileCheck %s --check-prefix=BEGIN
// RUN: tilewright-opt %s --tw-delete-barrier=number=1 | FileCheck %s --check-prefix=LOOP
// RUN: tilewright-opt %s --tw-delete-barrier=number=2 | FileCheck %s --check-prefix=PRODUCT
// RUN: not tilewright-opt %s --tw-delete-barrier=number=4 -o /dev/null 2>&1 | FileCheck %s --check-prefix=END

#acc = #tw.layout<register = [1, 8], lane = [2, 4, 16, 32, 64], warp = [128, 256], block = []>

// LIST: :[[#@LINE+24]]:3: remark: number 0
// LIST: :[[#@LINE+27]]:5: remark: number 1
// LIST: :[[#@LINE+29]]:{{[0-9]+}}: remark: number 2
// LIST: :[[#@LINE+29]]:3: remark: number 3
// LIST-NOT: remark

// An arrival goes with its wait.
// BEGIN-NOT: tw.cluster
// BEGIN: tw.barrier
// BEGIN: tw.wgmma_wait
// BEGIN: tw.fence_async

// LOOP: tw.cluster_arrive
// LOOP-NOT: tw.barrier
// LOOP: tw.cluster_wait

// What was waited for takes the place of the result.
// PRODUCT: tw.cluster_wait
// PRODUCT-NOT: tw.wgmma_wait
// PRODUCT: return %arg0

// END: error: has 4 barriers, fences and waits
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
func.func @kernel(%tile: tensor<64x8xf32, #acc>, %n: i32) -> tensor<64x8xf32, #acc> {
  tw.cluster_arrive
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    tw.barrier
  }
  tw.cluster_wait
  %0 = tw.wgmma_wait 0 %tile : tensor<64x8xf32, #acc> -> tensor<64x8xf32, #acc>
  tw.fence_async
  func.return %0 : tensor<64x8xf32, #acc>
}
}
