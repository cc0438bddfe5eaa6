// A copy fills a slot of a ring again after the reads of its tile are over.
// RUN: tilewright-opt %s --split-input-file --tw-verify-fences --verify-diagnostics

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // A barrier stands between the read and the next copy.
  func.func @released(%p: !pointers) -> !tile {
    %ring = tw.alloc_shared {tw.ring = {fill = "cp.async", release = "barrier"}} : !buffer
    tw.async_copy %p, %ring {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.async_wait 0
    tw.barrier
    %x = tw.shared_load %ring : !buffer -> !tile
    tw.barrier
    tw.async_copy %p, %ring {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.async_wait 0
    return %x : !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // Another thread may be late with its read.
  func.func @overtaken(%p: !pointers) -> !tile {
    %ring = tw.alloc_shared {tw.ring = {fill = "cp.async", release = "barrier"}} : !buffer
    tw.async_copy %p, %ring {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.async_wait 0
    tw.barrier
    // expected-note @below {{is read here}}
    %x = tw.shared_load %ring : !buffer -> !tile
    // expected-error @below {{fills a slot that may still be read}}
    tw.async_copy %p, %ring {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.async_wait 0
    return %x : !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // Each thread overwrites what it has read itself.
  func.func @own(%p: !pointers) -> !tile {
    %ring = tw.alloc_shared {tw.ring = {fill = "cp.async", release = "none"}} : !buffer
    tw.async_copy %p, %ring {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.async_wait 0
    tw.barrier
    %x = tw.shared_load %ring : !buffer -> !tile
    tw.async_copy %p, %ring {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.async_wait 0
    return %x : !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // All warps arrive after the product, and the copy waits for them.
  func.func @arrived(%d: !tw.descriptor<64x64xf16>, %n: i32, %zero: !sums) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : !buffer
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<1>
    %s = tw.wgmma %ring, %ring, %zero async warps [2, 0] : !buffer, !buffer, !sums
    %r = tw.wgmma_wait 0 %s : !sums -> !sums
    tw.mbarrier_arrive %free[%c0] : !tw.mbarrier<1>
    tw.mbarrier_wait %free[%c0], %c0 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c1 : !tw.mbarrier<1>
    return %r : !sums
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // At the arrival the product still reads.
  func.func @arrived_early(%d: !tw.descriptor<64x64xf16>, %n: i32, %zero: !sums) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : !buffer
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<1>
    // expected-note @below {{is read here}}
    %s = tw.wgmma %ring, %ring, %zero async warps [2, 0] : !buffer, !buffer, !sums
    tw.mbarrier_arrive %free[%c0] : !tw.mbarrier<1>
    %r = tw.wgmma_wait 0 %s : !sums -> !sums
    tw.mbarrier_wait %free[%c0], %c0 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    // expected-error @below {{fills a slot that may still be read}}
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c1 : !tw.mbarrier<1>
    return %r : !sums
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // The copy does not wait for the arrivals.
  func.func @not_awaited(%d: !tw.descriptor<64x64xf16>, %n: i32, %zero: !sums) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : !buffer
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<1>
    // expected-note @below {{is read here}}
    %s = tw.wgmma %ring, %ring, %zero async warps [2, 0] : !buffer, !buffer, !sums
    %r = tw.wgmma_wait 0 %s : !sums -> !sums
    tw.mbarrier_arrive %free[%c0] : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    // expected-error @below {{fills a slot that may still be read}}
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c1 : !tw.mbarrier<1>
    return %r : !sums
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // The barrier comes before the product is over, so it releases nothing.
  func.func @barrier_early(%d: !tw.descriptor<64x64xf16>, %n: i32, %zero: !sums) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : !buffer
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<1>
    // expected-note @below {{is read here}}
    %s = tw.wgmma %ring, %ring, %zero async warps [2, 0] : !buffer, !buffer, !sums
    tw.barrier
    %r = tw.wgmma_wait 0 %s : !sums -> !sums
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    // expected-error @below {{fills a slot that may still be read}}
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c1 : !tw.mbarrier<1>
    return %r : !sums
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // A barrier of all threads does as well.
  func.func @barrier(%d: !tw.descriptor<64x64xf16>, %n: i32, %zero: !sums) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : !buffer
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<1>
    %s = tw.wgmma %ring, %ring, %zero async warps [2, 0] : !buffer, !buffer, !sums
    %r = tw.wgmma_wait 0 %s : !sums -> !sums
    tw.barrier
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    tw.tma_load %d[%n, %n], %ring, %full[%c0] : !tw.descriptor<64x64xf16>, !buffer, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c1 : !tw.mbarrier<1>
    return %r : !sums
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // Two slots, one product in flight: the slot of the product before is free after the wait and
  // the barrier, and that of this one is not.
  func.func @round(%p: !pointers, %zero: !sums, %n: i32) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = tw.alloc_shared {tw.ring = {fill = "cp.async", release = "barrier"}} : !tw.buffer<64x64xf16, #buf, 2>
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %sum = %zero) -> (i32, !sums) : i32 {
      %use = tw.buffer_slot %ring[%slot] : !tw.buffer<64x64xf16, #buf, 2> -> !buffer
      %next = arith.xori %slot, %c1 : i32
      %fill = tw.buffer_slot %ring[%next] : !tw.buffer<64x64xf16, #buf, 2> -> !buffer
      tw.async_wait 0
      tw.barrier
      %s = tw.wgmma %use, %use, %sum async warps [2, 0] : !buffer, !buffer, !sums
      %r = tw.wgmma_wait 1 %s : !sums -> !sums
      tw.barrier
      tw.async_copy %p, %fill {tw.vector_elements = 8 : i32} : !pointers, !buffer
      tw.async_commit
      scf.yield %next, %r : i32, !sums
    }
    tw.async_wait 0
    %last = tw.wgmma_wait 0 %end#1 : !sums -> !sums
    return %last : !sums
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!sums = tensor<64x64xf32, #acc>
!tile = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // The slot of the product that is in flight.
  func.func @too_early(%p: !pointers, %zero: !sums, %n: i32) -> !sums {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = tw.alloc_shared {tw.ring = {fill = "cp.async", release = "barrier"}} : !tw.buffer<64x64xf16, #buf, 2>
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %sum = %zero) -> (i32, !sums) : i32 {
      %use = tw.buffer_slot %ring[%slot] : !tw.buffer<64x64xf16, #buf, 2> -> !buffer
      %next = arith.xori %slot, %c1 : i32
      %fill = tw.buffer_slot %ring[%slot] : !tw.buffer<64x64xf16, #buf, 2> -> !buffer
      tw.async_wait 0
      tw.barrier
      // expected-note @below {{is read here}}
      %s = tw.wgmma %use, %use, %sum async warps [2, 0] : !buffer, !buffer, !sums
      %r = tw.wgmma_wait 1 %s : !sums -> !sums
      tw.barrier
      // expected-error @below {{fills a slot that may still be read}}
      tw.async_copy %p, %fill {tw.vector_elements = 8 : i32} : !pointers, !buffer
      tw.async_commit
      scf.yield %next, %r : i32, !sums
    }
    tw.async_wait 0
    %last = tw.wgmma_wait 0 %end#1 : !sums -> !sums
    return %last : !sums
  }
}
