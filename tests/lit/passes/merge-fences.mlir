// Of two fences in a block the first goes, unless something between them may depend on it.
// RUN: tilewright-opt %s --split-input-file --tw-merge-fences | FileCheck %s

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// A barrier, reads and writes of threads: the second fence covers them all.
// CHECK-LABEL: @covered
// CHECK-NOT: tw.fence_async
// CHECK: tw.barrier
// CHECK: tw.shared_store
// CHECK-NEXT: tw.fence_async
// CHECK-NEXT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @covered(%ring: !tw.buffer<512xf32, #s>, %operand: !tw.buffer<512xf32, #s>) {
    tw.fence_async
    tw.barrier
    %0 = tw.shared_load %ring : !tw.buffer<512xf32, #s> -> tensor<512xf32, #a>
    tw.shared_store %0, %operand : tensor<512xf32, #a>, !tw.buffer<512xf32, #s>
    tw.fence_async
    tw.barrier
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// Threads may branch to what depends on a fence, and one of global memory is another one.
// CHECK-LABEL: @branch
// CHECK: tw.fence_async{{$}}
// CHECK: scf.if
// CHECK: tw.fence_async global
// CHECK: tw.fence_async{{$}}
// CHECK: tw.fence_async global
// CHECK-NEXT: tw.fence_async{{$}}
module attributes {tw.num_warps = 4 : i32} {
  func.func @branch(%x: tensor<512xf32, #a>, %m: !tw.buffer<512xf32, #s>, %c: i1) {
    tw.fence_async
    scf.if %c {
      tw.shared_store %x, %m : tensor<512xf32, #a>, !tw.buffer<512xf32, #s>
    }
    tw.fence_async global
    tw.fence_async
    tw.fence_async global
    tw.fence_async
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// An arrival tells another thread that it may start a copy.
// CHECK-LABEL: @arrival
// CHECK: tw.fence_async
// CHECK: tw.mbarrier_arrive
// CHECK: tw.fence_async
module attributes {tw.num_warps = 4 : i32} {
  func.func @arrival(%m: !tw.mbarrier<2>, %slot: i32) {
    tw.fence_async
    tw.mbarrier_arrive %m[%slot] : !tw.mbarrier<2>
    tw.fence_async
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#sb = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>
#acc = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [256, 512], block = []>

// A product reads through the other proxy.
// CHECK-LABEL: @product
// CHECK: tw.fence_async
// CHECK: tw.wgmma
// CHECK: tw.fence_async
module attributes {tw.num_warps = 4 : i32} {
  func.func @product(%m: !tw.buffer<64x32xf16, #s>, %k: !tw.buffer<32x16xf16, #sb>, %acc: tensor<64x16xf32, #acc>) -> tensor<64x16xf32, #acc> {
    tw.fence_async
    tw.barrier
    %0 = tw.wgmma %m, %k, %acc warps [2, 0] : !tw.buffer<64x32xf16, #s>, !tw.buffer<32x16xf16, #sb>, tensor<64x16xf32, #acc>
    tw.fence_async
    return %0 : tensor<64x16xf32, #acc>
  }
}
