// Barriers and fences for tiles in shared memory.
// RUN: tilewright-opt %s --split-input-file --tw-insert-barriers | FileCheck %s
// RUN: tilewright-opt %s --split-input-file --tw-insert-barriers --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: barrier: applied (other threads write the shared memory of tile<512xf32>)
// REMARK: barrier: applied (other threads write the shared memory of tile<32x16xf16>, which an asynchronous unit reads)

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// Read after write, write after read, and nothing between two reads.
// CHECK-LABEL: @store_and_load
// CHECK: tw.alloc_shared
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_load
// CHECK-NEXT: tw.shared_load
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_store
// CHECK-NOT: tw.barrier
// CHECK-NOT: tw.fence_async
module attributes {tw.num_warps = 4 : i32} {
  func.func @store_and_load(%x: tensor<512xf32, #a>) {
    %m = tw.alloc_shared %x : tensor<512xf32, #a> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<512xf32, #s>
    %0 = tw.shared_load %m : !tw.buffer<512xf32, #s> -> tensor<512xf32, #a>
    %1 = tw.shared_load %m : !tw.buffer<512xf32, #s> -> tensor<512xf32, #a>
    tw.shared_store %1, %m : tensor<512xf32, #a>, !tw.buffer<512xf32, #s>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// Written before a loop, read in it: one barrier, before the loop.
// CHECK-LABEL: @before_loop
// CHECK: tw.alloc_shared
// CHECK: tw.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @before_loop(%x: tensor<512xf32, #a>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = tw.alloc_shared %x : tensor<512xf32, #a> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<512xf32, #s>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %0 = tw.shared_load %m : !tw.buffer<512xf32, #s> -> tensor<512xf32, #a>
    }
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// Round the loop: the next iteration writes what this one reads.
// CHECK-LABEL: @round_loop
// CHECK: scf.for
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.alloc_shared
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_load
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @round_loop(%x: tensor<512xf32, #a>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %m = tw.alloc_shared %x : tensor<512xf32, #a> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<512xf32, #s>
      %0 = tw.shared_load %m : !tw.buffer<512xf32, #s> -> tensor<512xf32, #a>
    }
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// A copy is a write where it is waited for; a barrier before that is none.
// CHECK-LABEL: @copies
// CHECK: tw.async_copy
// CHECK: tw.barrier
// CHECK: tw.async_wait 0
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_load
module attributes {tw.num_warps = 4 : i32} {
  func.func @copies(%p: tensor<512x!tw.ptr<f32>, #a>) {
    %m = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<512xf32, #s>
    tw.async_copy %p, %m : tensor<512x!tw.ptr<f32>, #a>, !tw.buffer<512xf32, #s>
    tw.async_commit
    tw.barrier
    tw.async_wait 0
    %0 = tw.shared_load %m : !tw.buffer<512xf32, #s> -> tensor<512xf32, #b>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// A ring in which each thread reads what it copied itself; without the attribute other
// threads may read it.
// CHECK-LABEL: @own_copies
// CHECK: tw.async_copy
// CHECK-NOT: tw.barrier
// CHECK: return
// CHECK-LABEL: @copies
// CHECK: tw.async_wait 0
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_load
module attributes {tw.num_warps = 4 : i32} {
  func.func @own_copies(%p: tensor<512x!tw.ptr<f32>, #a>) {
    %m = tw.alloc_shared {tw.ring = {fill = "own cp.async", release = "none"}, tw.scratch_offset = 0 : i32} : !tw.buffer<512xf32, #s>
    tw.async_copy %p, %m : tensor<512x!tw.ptr<f32>, #a>, !tw.buffer<512xf32, #s>
    tw.async_commit
    tw.async_wait 0
    %0 = tw.shared_load %m {isOwn} : !tw.buffer<512xf32, #s> -> tensor<512xf32, #a>
    return
  }
  func.func @copies(%p: tensor<512x!tw.ptr<f32>, #a>) {
    %m = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<512xf32, #s>
    tw.async_copy %p, %m : tensor<512x!tw.ptr<f32>, #a>, !tw.buffer<512xf32, #s>
    tw.async_commit
    tw.async_wait 0
    %0 = tw.shared_load %m {isOwn} : !tw.buffer<512xf32, #s> -> tensor<512xf32, #a>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2, 64, 128], lane = [4, 8, 16, 32, 256], warp = [512, 1024], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#sb = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>
#b = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#acc = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [256, 512], block = []>

// wgmma reads through another proxy: a fence of the writers before the
// barrier; a barrier alone, for a load, does not do. The asynchronous one reads
// until it is waited for, whatever barriers there are; then the next write has to
// wait for all other threads.
// CHECK-LABEL: @wgmma
// CHECK: tw.alloc_shared
// CHECK-NEXT: tw.alloc_shared
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_load
// CHECK-NEXT: tw.fence_async
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.wgmma
// CHECK-NEXT: tw.wgmma
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.wgmma_wait 0
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_store
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @wgmma(%x: tensor<64x32xf16, #a>, %y: tensor<32x16xf16, #b>, %acc: tensor<64x16xf32, #acc>) {
    %m = tw.alloc_shared %x : tensor<64x32xf16, #a> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<64x32xf16, #s>
    %k = tw.alloc_shared %y : tensor<32x16xf16, #b> -> {tw.scratch_offset = 4096 : i32} : !tw.buffer<32x16xf16, #sb>
    %l = tw.shared_load %k : !tw.buffer<32x16xf16, #sb> -> tensor<32x16xf16, #b>
    %0 = tw.wgmma %m, %k, %acc warps [2, 0] : !tw.buffer<64x32xf16, #s>, !tw.buffer<32x16xf16, #sb>, tensor<64x16xf32, #acc>
    %1 = tw.wgmma %m, %k, %0 async warps [2, 0] : !tw.buffer<64x32xf16, #s>, !tw.buffer<32x16xf16, #sb>, tensor<64x16xf32, #acc>
    tw.barrier
    %2 = tw.wgmma_wait 0 %1 : tensor<64x16xf32, #acc> -> tensor<64x16xf32, #acc>
    tw.shared_store %x, %m : tensor<64x32xf16, #a>, !tw.buffer<64x32xf16, #s>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// A store by the first warp: all threads meet before the branch. It reads
// until it is waited for.
// CHECK-LABEL: @tma_store
// CHECK: tw.alloc_shared
// CHECK-NEXT: tw.fence_async
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: tw.tma_store
// CHECK: tw.tma_store_wait 0
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_store
module attributes {tw.num_warps = 4 : i32} {
  func.func @tma_store(%x: tensor<512xf32, #a>, %d: !tw.descriptor<512xf32>, %i: i32) {
    %first = tw.is_first_warp
    %m = tw.alloc_shared %x : tensor<512xf32, #a> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<512xf32, #s>
    scf.if %first {
      tw.tma_store %d[%i], %m : !tw.descriptor<512xf32>, !tw.buffer<512xf32, #s>
    }
    tw.tma_store_wait 0
    tw.shared_store %x, %m : tensor<512xf32, #a>, !tw.buffer<512xf32, #s>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>

// The slots of a ring are its maker's business; its bytes under other memory are
// not. An asynchronous write over what threads wrote needs a fence as well.
// CHECK-LABEL: @ring
// CHECK: tw.shared_store
// CHECK-NEXT: tw.shared_load
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: tw.fence_async
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.tma_load
module attributes {tw.num_warps = 4 : i32} {
  func.func @ring(%x: tensor<512xf32, #a>, %d: !tw.descriptor<512xf32>, %i: i32) {
    %bar = tw.mbarrier_alloc 1 {tw.scratch_offset = 4096 : i32} : !tw.mbarrier<2>
    %ring = tw.alloc_shared {tw.ring = {fill = "tma", release = "barrier"}, tw.scratch_offset = 0 : i32} : !tw.buffer<512xf32, #s, 2>
    %m = tw.buffer_slot %ring[%i] : !tw.buffer<512xf32, #s, 2> -> !tw.buffer<512xf32, #s>
    tw.shared_store %x, %m : tensor<512xf32, #a>, !tw.buffer<512xf32, #s>
    %0 = tw.shared_load %m : !tw.buffer<512xf32, #s> -> tensor<512xf32, #a>
    %1 = tw.convert_layout %0 {tw.scratch_offset = 0 : i32} : tensor<512xf32, #a> -> tensor<512xf32, #b>
    tw.tma_load %d[%i], %m, %bar[%i] : !tw.descriptor<512xf32>, !tw.buffer<512xf32, #s>, !tw.mbarrier<2>
    return
  }
}
