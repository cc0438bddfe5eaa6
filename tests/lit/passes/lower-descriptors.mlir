// Descriptor accesses that no pipelined loop has taken become copies that are
// waited for on the spot.
// RUN: tilewright-opt %s --tw-lower-descriptors -split-input-file | FileCheck %s

// Two loads before the first use: one barrier, one wait. The conversion of a
// loaded tile is a read of its own.
// CHECK-LABEL: @group
// CHECK: [[M:%.*]] = tw.mbarrier_alloc 1
// CHECK-NEXT: tw.barrier
// CHECK: scf.for
// CHECK: [[X:%.*]] = tw.alloc_shared : <32x64xf16, #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024]>>
// CHECK: [[Y:%.*]] = tw.alloc_shared
// CHECK: [[P:%.*]] = tw.mbarrier_phase [[M]][
// CHECK-NEXT: tw.fence_async{{$}}
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.mbarrier_expect [[M]][{{.*}}], 8192
// CHECK-NEXT: tw.tma_load %arg0[%{{.*}}, %{{.*}}], [[X]], [[M]][
// CHECK-NEXT: tw.tma_load %arg1[%{{.*}}, %{{.*}}], [[Y]], [[M]][{{.*}}eviction = #tw.eviction<evict_last>
// CHECK-NEXT: arith.muli
// CHECK-NEXT: tw.mbarrier_wait [[M]][{{.*}}], [[P]]
// CHECK-NEXT: [[XT:%.*]] = tw.shared_load [[X]] {{.*}}lane = [2, 4, 8, 16, 32]
// CHECK-NEXT: [[YT:%.*]] = tw.shared_load [[Y]] {{.*}}lane = [2, 4, 8, 16, 32]
// CHECK-NOT: tw.convert_layout
// CHECK: arith.addf [[XT]], [[YT]]
// CHECK-NOT: tw.mbarrier_wait
// CHECK: return
#a = #tw.layout<register = [1, 128, 256, 512, 1024], lane = [2, 4, 8, 16, 32], warp = [64], block = []>
#b = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256], block = []>
module attributes {tw.num_warps = 2 : i32} {
func.func @group(%x: !tw.descriptor<32x64xf16>, %y: !tw.descriptor<32x64xf16>, %p: !tw.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %a = tw.descriptor_load %x[%i, %zero] : !tw.descriptor<32x64xf16> -> tensor<32x64xf16, #b>
    %b = tw.descriptor_load %y[%zero, %i] {eviction = #tw.eviction<evict_last>} : !tw.descriptor<32x64xf16> -> tensor<32x64xf16, #a>
    %k = arith.muli %i, %n : i32
    %c = tw.convert_layout %a : tensor<32x64xf16, #b> -> tensor<32x64xf16, #a>
    %s = arith.addf %c, %b : tensor<32x64xf16, #a>
    %r = arith.fptosi %s : tensor<32x64xf16, #a> to tensor<32x64xi32, #a>
    %ps = tw.splat %p : !tw.ptr<i32> -> tensor<32x64x!tw.ptr<i32>, #a>
    tw.store %ps, %r : tensor<32x64x!tw.ptr<i32>, #a>, tensor<32x64xi32, #a>
  }
  func.return
}
}

// -----

// A write between two loads ends the first group. The pointer is another array:
// no fence for global memory.
// CHECK-LABEL: @separate
// CHECK: tw.tma_load
// CHECK: tw.mbarrier_wait
// CHECK: tw.store
// CHECK: tw.fence_async{{$}}
// CHECK: tw.tma_load
// CHECK: tw.mbarrier_wait
#v = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @separate(%x: !tw.descriptor<32xf32>, %p: !tw.ptr<f32>, %n: i32) {
  %a = tw.descriptor_load %x[%n] : !tw.descriptor<32xf32> -> tensor<32xf32, #v>
  %ps = tw.splat %p : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #v>
  tw.store %ps, %a : tensor<32x!tw.ptr<f32>, #v>, tensor<32xf32, #v>
  %b = tw.descriptor_load %x[%n] : !tw.descriptor<32xf32> -> tensor<32xf32, #v>
  tw.store %ps, %b : tensor<32x!tw.ptr<f32>, #v>, tensor<32xf32, #v>
  func.return
}
}

// -----

// The kernel writes the array through its base pointer as well.
// CHECK-LABEL: @sameArray
// CHECK: tw.store
// CHECK: tw.fence_async global
// CHECK-NEXT: tw.barrier
// CHECK: tw.tma_load
#v = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @sameArray(%x: !tw.descriptor<32xf32>, %p: !tw.ptr<f32> {tw.descriptor_base = 0 : i32}, %q: !tw.ptr<f32>, %n: i32) {
  %zero = arith.constant dense<0.0> : tensor<32xf32, #v>
  %ps = tw.splat %p : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #v>
  tw.store %ps, %zero : tensor<32x!tw.ptr<f32>, #v>, tensor<32xf32, #v>
  %a = tw.descriptor_load %x[%n] : !tw.descriptor<32xf32> -> tensor<32xf32, #v>
  %qs = tw.splat %q : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #v>
  tw.store %qs, %a : tensor<32x!tw.ptr<f32>, #v>, tensor<32xf32, #v>
  func.return
}
}

// -----

// Stores are under way together until the end of the block; at the end of the
// kernel no barrier follows.
// CHECK-LABEL: @stores
// CHECK: [[A:%.*]] = tw.alloc_shared %{{.*}} : tensor
// CHECK-NEXT: tw.fence_async{{$}}
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.tma_store %arg0[{{.*}}], [[A]]
// CHECK: [[B:%.*]] = tw.alloc_shared
// CHECK: tw.tma_store %arg0[{{.*}}], [[B]] {reduction = #tw.atomic<fadd>}
// CHECK-NEXT: tw.tma_store_wait 0 [[A]], [[B]]
// CHECK-NEXT: return
#v = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @stores(%x: !tw.descriptor<32xf32>, %n: i32) {
  %zero = arith.constant dense<0.0> : tensor<32xf32, #v>
  tw.descriptor_store %x[%n], %zero : !tw.descriptor<32xf32>, tensor<32xf32, #v>
  tw.descriptor_store %x[%n], %zero {reduction = #tw.atomic<fadd>} : !tw.descriptor<32xf32>, tensor<32xf32, #v>
  func.return
}
}

// -----

// Through an atomic another program may learn of the store: it must be complete
// and visible first.
// CHECK-LABEL: @published
// CHECK: tw.tma_store
// CHECK-NEXT: tw.tma_store_wait 0 complete
// CHECK-NEXT: tw.fence_async global
// CHECK-NEXT: tw.barrier
// CHECK: tw.atomic_rmw
#v = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @published(%x: !tw.descriptor<32xf32>, %flag: !tw.ptr<i32>, %n: i32) {
  %zero = arith.constant dense<0.0> : tensor<32xf32, #v>
  tw.descriptor_store %x[%n], %zero : !tw.descriptor<32xf32>, tensor<32xf32, #v>
  %old = tw.atomic_rmw <add>, <release>, <gpu>, %flag, %n : !tw.ptr<i32>, i32
  func.return
}
}

// -----

// Stores in a loop share a buffer before it: each waits for the one before, the
// last one is waited for after the loop.
// CHECK-LABEL: @inLoop
// CHECK: [[A:%.*]] = tw.alloc_shared : <32xf32
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NEXT: tw.tma_store_wait 0 [[A]]
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.shared_store %{{.*}}, [[A]]
// CHECK-NEXT: tw.fence_async{{$}}
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.tma_store %arg0[{{.*}}], [[A]]
// CHECK-NEXT: tw.tma_store_wait 0 [[A]]
// CHECK: tw.tma_store %arg0[{{.*}}], [[A]]
// CHECK-NOT: tw.tma_store_wait
// CHECK: }
// CHECK: tw.tma_store_wait 0 [[A]]
// CHECK-NEXT: return
#v = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @inLoop(%x: !tw.descriptor<32xf32>, %n: i32, %c: i1) {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<32xf32, #v>
  scf.for %i = %i0 to %n step %i1 : i32 {
    scf.if %c {
      tw.descriptor_store %x[%i], %zero : !tw.descriptor<32xf32>, tensor<32xf32, #v>
      tw.descriptor_store %x[%n], %zero : !tw.descriptor<32xf32>, tensor<32xf32, #v>
    }
  }
  func.return
}
}

// -----

// Buffers have the shape of the tile, which may lack dimensions of extent 1.
// CHECK-LABEL: @units
// CHECK: tw.tma_load %arg0[{{.*}}], %[[X:.*]], %{{.*}} : <1x64x1x32xf16>, <64x32xf16, #tw.shared<
// CHECK: tw.shared_load %[[X]]
// CHECK: tw.tma_store %arg0[{{.*}}], %{{.*}} : <1x64x1x32xf16>, <64x32xf16, #tw.shared<
#u = #tw.layout<register = [1, 2, 4, 256, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @units(%d: !tw.descriptor<1x64x1x32xf16>, %i: i32) {
  %x = tw.descriptor_load %d[%i, %i, %i, %i] : !tw.descriptor<1x64x1x32xf16> -> tensor<64x32xf16, #u>
  %y = arith.addf %x, %x : tensor<64x32xf16, #u>
  tw.descriptor_store %d[%i, %i, %i, %i], %y : !tw.descriptor<1x64x1x32xf16>, tensor<64x32xf16, #u>
  func.return
}
}

// -----

// Rounds of a loop of one stage do not overlap: what one stores is waited for at its end, and
// its buffer is free for the next round. The loop inside has one for its own rounds, and the
// barrier after it serves the wait.
// CHECK-LABEL: @oneStage
// CHECK-NOT: tw.alloc_shared
// CHECK: scf.for
// CHECK: [[A:%.*]] = tw.alloc_shared : <32xf32
// CHECK: scf.for
// CHECK: tw.tma_store %arg0[{{.*}}], [[A]]
// CHECK: }
// CHECK-NEXT: tw.tma_store_wait 0 [[A]]
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: [[B:%.*]] = tw.alloc_shared %{{.*}} <32xf32
// CHECK: tw.tma_store %arg0[{{.*}}], [[B]]
// CHECK-NEXT: tw.tma_store_wait 0 [[B]]
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: } {tw.loop_stages = 1
// CHECK-NEXT: return
#v = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @oneStage(%x: !tw.descriptor<32xf32>, %n: i32) {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<32xf32, #v>
  scf.for %i = %i0 to %n step %i1 : i32 {
    scf.for %j = %i0 to %n step %i1 : i32 {
      tw.descriptor_store %x[%j], %zero : !tw.descriptor<32xf32>, tensor<32xf32, #v>
    }
    tw.barrier
    tw.descriptor_store %x[%i], %zero : !tw.descriptor<32xf32>, tensor<32xf32, #v>
  } {tw.loop_stages = 1 : i32}
  func.return
}
}
