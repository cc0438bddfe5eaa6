// What the verifier of asynchrony refuses, and what it takes.
// RUN: tilewright-opt %s --split-input-file --tw-verify-async --verify-diagnostics

#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  // The commit may stand around the copy, and the wait in the next round of the loop.
  func.func @copies(%p: tensor<2048x!tw.ptr<f32>, #a>, %n: i32, %c: i1) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    scf.for %i = %c0 to %n step %c1 : i32 {
      tw.async_wait 0
      scf.if %c {
        tw.async_copy %p, %m {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
      }
      tw.async_commit
    }
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  // A commit after the loop would put all copies into one group.
  func.func @uncommitted(%p: tensor<2048x!tw.ptr<f32>, #a>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-error @below {{copy is not committed before its loop or function ends}}
      tw.async_copy %p, %m {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
    }
    tw.async_commit
    tw.async_wait 0
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @no_wait(%p: tensor<2048x!tw.ptr<f32>, #a>) {
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    tw.async_wait 0
    tw.async_copy %p, %m {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
    // expected-error @below {{no wait follows this group of copies}}
    tw.async_commit
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @store(%d: !tw.descriptor<2048xf32>, %n: i32) {
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    tw.tma_store %d[%n], %m : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>
    tw.tma_store_wait 0 %m : !tw.buffer<2048xf32, #s>
    // expected-error @below {{no wait follows this store}}
    tw.tma_store %d[%n], %m : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32} {
  // A ring whose slots are filled, waited for and released.
  func.func @ring(%d: !tw.descriptor<2048xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_wait %free[%c0], %c0 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    tw.tma_load %d[%n], %m, %full[%c0] : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<1>
    tw.mbarrier_arrive %free[%c0] : !tw.mbarrier<1>
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @unannounced(%d: !tw.descriptor<2048xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    // expected-error @below {{loads complete at this barrier, and no bytes are announced}}
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    tw.tma_load %d[%n], %m, %full[%c0] : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>, !tw.mbarrier<1>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<1>
    return
  }
}

// -----
module attributes {tw.num_warps = 4 : i32} {
  // A slot that is taken and never released: the kernel would wait for ever.
  func.func @never_released() {
    %c0 = arith.constant 0 : i32
    // expected-error @below {{is waited for, and nothing arrives}}
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_wait %free[%c0], %c0 : !tw.mbarrier<1>
    return
  }
}

// -----
module attributes {tw.num_warps = 4 : i32} {
  func.func @never_taken() {
    %c0 = arith.constant 0 : i32
    // expected-error @below {{is arrived at, and nobody waits}}
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_arrive %free[%c0] : !tw.mbarrier<1>
    return
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
!tile = tensor<64x64xf32, #acc>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // Passed on to the next product and round a loop, then waited for.
  func.func @in_flight(%a: !buffer, %b: !buffer, %c: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %p = tw.wgmma %a, %b, %c async warps [2, 0] : !buffer, !buffer, !tile
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %p) -> (!tile) : i32 {
      %q = tw.wgmma %a, %b, %t async warps [2, 0] : !buffer, !buffer, !tile
      scf.yield %q : !tile
    }
    %w = tw.wgmma_wait 0 %r : !tile -> !tile
    return %w : !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
!tile = tensor<64x64xf32, #acc>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  func.func @read_in_flight(%a: !buffer, %b: !buffer, %c: !tile) -> !tile {
    // expected-note @below {{the product}}
    %p = tw.wgmma %a, %b, %c async warps [2, 0] : !buffer, !buffer, !tile
    // expected-error @below {{reads a product that is in flight}}
    %x = arith.addf %p, %c : !tile
    %w = tw.wgmma_wait 0 %p : !tile -> !tile
    return %x : !tile
  }
}
