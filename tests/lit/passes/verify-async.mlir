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
  // A ring whose slots are filled, waited for and released; all slots are free at first.
  func.func @ring(%d: !tw.descriptor<2048xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    %free = tw.mbarrier_alloc 4 : !tw.mbarrier<1>
    tw.mbarrier_wait %free[%c0], %c1 : !tw.mbarrier<1>
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

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  // Two groups are ahead; the older one is the one that is read.
  func.func @counted_groups(%p: tensor<2048x!tw.ptr<f32>, #a>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %slots = arith.constant 3 : i32
    %ring = tw.alloc_shared : !tw.buffer<2048xf32, #s, 3>
    %first = tw.buffer_slot %ring[%c0] : !tw.buffer<2048xf32, #s, 3> -> !tw.buffer<2048xf32, #s>
    tw.async_copy %p, %first {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
    tw.async_commit
    %second = tw.buffer_slot %ring[%c1] : !tw.buffer<2048xf32, #s, 3> -> !tw.buffer<2048xf32, #s>
    tw.async_copy %p, %second {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
    tw.async_commit
    %c2 = arith.constant 2 : i32
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%use = %c0, %fill = %c2) -> (i32, i32) : i32 {
      tw.async_wait 1
      tw.barrier
      %read = tw.buffer_slot %ring[%use] : !tw.buffer<2048xf32, #s, 3> -> !tw.buffer<2048xf32, #s>
      %x = tw.shared_load %read : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #a>
      %write = tw.buffer_slot %ring[%fill] : !tw.buffer<2048xf32, #s, 3> -> !tw.buffer<2048xf32, #s>
      tw.async_copy %p, %write {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
      tw.async_commit
      tw.store %p, %x : tensor<2048x!tw.ptr<f32>, #a>, tensor<2048xf32, #a>
      %use1 = arith.addi %use, %c1 : i32
      %use_wraps = arith.cmpi eq, %use1, %slots : i32
      %next_use = arith.select %use_wraps, %c0, %use1 : i32
      %fill1 = arith.addi %fill, %c1 : i32
      %fill_wraps = arith.cmpi eq, %fill1, %slots : i32
      %next_fill = arith.select %fill_wraps, %c0, %fill1 : i32
      scf.yield %next_use, %next_fill : i32, i32
    }
    tw.async_wait 0
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  // Two groups may be under way, and one of them is read, already by the first iteration.
  func.func @one_group_too_many(%p: tensor<2048x!tw.ptr<f32>, #a>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %slots = arith.constant 3 : i32
    %ring = tw.alloc_shared : !tw.buffer<2048xf32, #s, 3>
    %first = tw.buffer_slot %ring[%c0] : !tw.buffer<2048xf32, #s, 3> -> !tw.buffer<2048xf32, #s>
    // expected-note @below {{is written here}}
    tw.async_copy %p, %first {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
    tw.async_commit
    %second = tw.buffer_slot %ring[%c1] : !tw.buffer<2048xf32, #s, 3> -> !tw.buffer<2048xf32, #s>
    tw.async_copy %p, %second {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
    tw.async_commit
    %c2 = arith.constant 2 : i32
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%use = %c0, %fill = %c2) -> (i32, i32) : i32 {
      tw.async_wait 2
      tw.barrier
      %read = tw.buffer_slot %ring[%use] : !tw.buffer<2048xf32, #s, 3> -> !tw.buffer<2048xf32, #s>
      // expected-error @below {{reads a tile while copies to it are in flight}}
      %x = tw.shared_load %read : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #a>
      %write = tw.buffer_slot %ring[%fill] : !tw.buffer<2048xf32, #s, 3> -> !tw.buffer<2048xf32, #s>
      tw.async_copy %p, %write {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
      tw.async_commit
      tw.store %p, %x : tensor<2048x!tw.ptr<f32>, #a>, tensor<2048xf32, #a>
      %use1 = arith.addi %use, %c1 : i32
      %use_wraps = arith.cmpi eq, %use1, %slots : i32
      %next_use = arith.select %use_wraps, %c0, %use1 : i32
      %fill1 = arith.addi %fill, %c1 : i32
      %fill_wraps = arith.cmpi eq, %fill1, %slots : i32
      %next_fill = arith.select %fill_wraps, %c0, %fill1 : i32
      scf.yield %next_use, %next_fill : i32, i32
    }
    tw.async_wait 0
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32} {
  // The parity changes when the slot is the first one again.
  func.func @phases(%d: !tw.descriptor<2048xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %ring = tw.alloc_shared : !tw.buffer<2048xf32, #s, 2>
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<2>
    tw.barrier
    %first = tw.is_first_warp
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %c0) -> (i32, i32) : i32 {
      %tile = tw.buffer_slot %ring[%slot] : !tw.buffer<2048xf32, #s, 2> -> !tw.buffer<2048xf32, #s>
      scf.if %first {
        tw.mbarrier_expect %full[%slot], 8192 : !tw.mbarrier<2>
        tw.tma_load %d[%i], %tile, %full[%slot] : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>, !tw.mbarrier<2>
      }
      tw.mbarrier_wait %full[%slot], %phase : !tw.mbarrier<2>
      %next = arith.addi %slot, %c1 : i32
      %wraps = arith.cmpi eq, %next, %c2 : i32
      %next_slot = arith.select %wraps, %c0, %next : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next_phase = arith.select %wraps, %flipped, %phase : i32
      scf.yield %next_slot, %next_phase : i32, i32
    }
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32} {
  // The second iteration waits for the second phase of a slot that has had one.
  func.func @phase_in_each_iteration(%d: !tw.descriptor<2048xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %ring = tw.alloc_shared : !tw.buffer<2048xf32, #s, 2>
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<2>
    tw.barrier
    %first = tw.is_first_warp
    %always = arith.constant true
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %c0) -> (i32, i32) : i32 {
      %tile = tw.buffer_slot %ring[%slot] : !tw.buffer<2048xf32, #s, 2> -> !tw.buffer<2048xf32, #s>
      scf.if %first {
        tw.mbarrier_expect %full[%slot], 8192 : !tw.mbarrier<2>
        tw.tma_load %d[%i], %tile, %full[%slot] : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>, !tw.mbarrier<2>
      }
      // expected-error @below {{waits for parity 1 at slot 1, where 1 phases are over}}
      tw.mbarrier_wait %full[%slot], %phase : !tw.mbarrier<2>
      %next = arith.addi %slot, %c1 : i32
      %wraps = arith.cmpi eq, %next, %c2 : i32
      %next_slot = arith.select %wraps, %c0, %next : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next_phase = arith.select %always, %flipped, %phase : i32
      scf.yield %next_slot, %next_phase : i32, i32
    }
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32} {
  // The second turn of the ring finds the phases of the first one.
  func.func @phase_that_stays(%d: !tw.descriptor<2048xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %ring = tw.alloc_shared : !tw.buffer<2048xf32, #s, 2>
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<2>
    tw.barrier
    %first = tw.is_first_warp
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %c0) -> (i32, i32) : i32 {
      %tile = tw.buffer_slot %ring[%slot] : !tw.buffer<2048xf32, #s, 2> -> !tw.buffer<2048xf32, #s>
      scf.if %first {
        tw.mbarrier_expect %full[%slot], 8192 : !tw.mbarrier<2>
        tw.tma_load %d[%i], %tile, %full[%slot] : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>, !tw.mbarrier<2>
      }
      // expected-error @below {{waits for parity 0 at slot 0, where 2 phases are over}}
      tw.mbarrier_wait %full[%slot], %phase : !tw.mbarrier<2>
      %next = arith.addi %slot, %c1 : i32
      %wraps = arith.cmpi eq, %next, %c2 : i32
      %next_slot = arith.select %wraps, %c0, %next : i32
      %flipped = arith.xori %phase, %c1 : i32
      %next_phase = arith.select %wraps, %phase, %phase : i32
      scf.yield %next_slot, %next_phase : i32, i32
    }
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @read_before_the_wait(%d: !tw.descriptor<2048xf32>, %n: i32) -> tensor<2048xf32, #a> {
    %c0 = arith.constant 0 : i32
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
    tw.mbarrier_expect %full[%c0], 8192 : !tw.mbarrier<1>
    // expected-note @below {{is written here}}
    tw.tma_load %d[%n], %m, %full[%c0] : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>, !tw.mbarrier<1>
    // expected-error @below {{reads a tile before the wait for its copy}}
    %x = tw.shared_load %m : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #a>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<1>
    return %x : tensor<2048xf32, #a>
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  // A parity that comes from memory, and a slot of which nothing is known: nothing is said.
  func.func @unknown(%d: !tw.descriptor<2048xf32>, %slot: i32, %phase: i32) -> tensor<2048xf32, #a> {
    %c0 = arith.constant 0 : i32
    %ring = tw.alloc_shared : !tw.buffer<2048xf32, #s, 2>
    %full = tw.mbarrier_alloc 1 : !tw.mbarrier<2>
    tw.mbarrier_expect %full[%slot], 8192 : !tw.mbarrier<2>
    %tile = tw.buffer_slot %ring[%c0] : !tw.buffer<2048xf32, #s, 2> -> !tw.buffer<2048xf32, #s>
    tw.tma_load %d[%slot], %tile, %full[%slot] : !tw.descriptor<2048xf32>, !tw.buffer<2048xf32, #s>, !tw.mbarrier<2>
    tw.mbarrier_wait %full[%c0], %phase : !tw.mbarrier<2>
    tw.mbarrier_wait %full[%c0], %c0 : !tw.mbarrier<2>
    %x = tw.shared_load %tile : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #a>
    return %x : tensor<2048xf32, #a>
  }
}
