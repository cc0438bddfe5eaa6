// What wgmma and TMA read has been made visible to them.
// RUN: tilewright-opt %s --split-input-file --tw-verify-fences --verify-diagnostics

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!tile = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // A fence for what threads have written, none for what cp.async has, and one barrier.
  func.func @fenced(%x: !half, %p: !pointers, %acc: !tile) -> !tile {
    %a = tw.alloc_shared %x : !half -> : !buffer
    %b = tw.alloc_shared : !buffer
    tw.async_copy %p, %b {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.fence_async
    tw.async_wait 0
    tw.barrier
    %r = tw.wgmma %a, %b, %acc warps [2, 0] : !buffer, !buffer, !tile
    return %r : !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!tile = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  func.func @no_fence(%x: !half, %acc: !tile) -> !tile {
    // expected-note @below {{is written here}}
    %a = tw.alloc_shared %x : !half -> : !buffer
    tw.barrier
    // expected-error @below {{reads what threads have written, with no fence between}}
    %r = tw.wgmma %a, %a, %acc warps [2, 0] : !buffer, !buffer, !tile
    return %r : !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!tile = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // A thread that has waited knows of its own copies only.
  func.func @barrier_before_the_wait(%p: !pointers, %a: !buffer, %acc: !tile) -> !tile {
    %b = tw.alloc_shared : !buffer
    // expected-note @below {{is written here}}
    tw.async_copy %p, %b {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.barrier
    tw.async_wait 0
    // expected-error @below {{reads what other threads have written, with no barrier since}}
    %r = tw.wgmma %a, %b, %acc warps [2, 0] : !buffer, !buffer, !tile
    return %r : !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!tile = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // The fence of the thread that starts the store says nothing of what others have written.
  func.func @fence_after_the_barrier(%x: !half, %d: !tw.descriptor<64x64xf16>, %n: i32) {
    // expected-note @below {{is written here}}
    %a = tw.alloc_shared %x : !half -> : !buffer
    tw.barrier
    tw.fence_async
    %first = tw.is_first_warp
    scf.if %first {
      // expected-error @below {{reads what other threads have written, with no barrier since}}
      tw.tma_store %d[%n, %n], %a : !tw.descriptor<64x64xf16>, !buffer
    }
    tw.tma_store_wait 0 %a : !buffer
    return
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!tile = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // The other branch has a fence, and nothing to fence.
  func.func @in_one_branch(%x: !half, %acc: !tile, %c: i1, %e: i1) -> !tile {
    %a = tw.alloc_shared : !buffer
    scf.if %c {
      // expected-note @below {{is written here}}
      tw.shared_store %x, %a : !half, !buffer
      tw.barrier
    } else {
      tw.fence_async
      tw.barrier
    }
    // expected-error @below {{reads what threads have written, with no fence between}}
    %r = tw.wgmma %a, %a, %acc warps [2, 0] : !buffer, !buffer, !tile
    return %r : !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!tile = tensor<64x64xf32, #acc>
!half = tensor<64x64xf16, #t>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // The slot that is read is not the one that was written last.
  func.func @ring(%x: !half, %acc: !tile, %n: i32) -> !tile {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = tw.alloc_shared : !tw.buffer<64x64xf16, #buf, 2>
    %a = tw.buffer_slot %ring[%c0] : !tw.buffer<64x64xf16, #buf, 2> -> !buffer
    tw.shared_store %x, %a : !half, !buffer
    tw.fence_async
    tw.barrier
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %sum = %acc) -> (i32, !tile) : i32 {
      %next = arith.xori %slot, %c1 : i32
      %use = tw.buffer_slot %ring[%slot] : !tw.buffer<64x64xf16, #buf, 2> -> !buffer
      %fill = tw.buffer_slot %ring[%next] : !tw.buffer<64x64xf16, #buf, 2> -> !buffer
      tw.shared_store %x, %fill : !half, !buffer
      %r = tw.wgmma %use, %use, %sum warps [2, 0] : !buffer, !buffer, !tile
      tw.fence_async
      tw.barrier
      scf.yield %next, %r : i32, !tile
    }
    return %end#1 : !tile
  }
}

// -----
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#t = #tw.layout<register = [1, 2, 4, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 2048], block = []>
!pointers = tensor<64x64x!tw.ptr<f16>, #t>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  // TMA reads what cp.async has written as it does what threads have.
  func.func @copy_to_tma(%p: !pointers, %d: !tw.descriptor<64x64xf16>, %n: i32) {
    %b = tw.alloc_shared : !buffer
    // expected-note @below {{is written here}}
    tw.async_copy %p, %b {tw.vector_elements = 8 : i32} : !pointers, !buffer
    tw.async_commit
    tw.async_wait 0
    tw.barrier
    // expected-error @below {{reads what threads have written, with no fence between}}
    tw.tma_store %d[%n, %n], %b : <64x64xf16>, !buffer
    return
  }
}
