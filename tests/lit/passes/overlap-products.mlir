// RUN: tilewright-opt --tw-overlap-products %s | FileCheck %s
// Independent products queue up before the arithmetic between them; the wait stands right
// before the first use, and leaves in flight what started later.

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
!tile = tensor<64x64xf32, #acc>
!buffer = !tw.buffer<64x64xf16, #buf>

module attributes {tw.num_warps = 4 : i32} {
  // CHECK-LABEL: @independent
  func.func @independent(%a: !buffer, %b: !buffer, %c: !tile) -> !tile {
    // CHECK: %[[P:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: %[[Q:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: arith.mulf
    // CHECK-NEXT: %[[W:.*]]:2 = tw.wgmma_wait 0 %[[P]], %[[Q]]
    // CHECK-NEXT: arith.addf %[[W]]#0, %[[W]]#1
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %x = arith.addf %c, %c : !tile
    %q = tw.wgmma %b, %a, %c warps [2, 0] : !buffer, !buffer, !tile
    %y = arith.mulf %x, %x : !tile
    %s = arith.addf %p, %q : !tile
    %t = arith.addf %s, %y : !tile
    return %t : !tile
  }

  // CHECK-LABEL: @used_one_after_the_other
  func.func @used_one_after_the_other(%a: !buffer, %b: !buffer, %c: !tile) -> !tile {
    // CHECK: %[[P:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: %[[Q:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: tw.wgmma_wait 1 %[[P]]
    // CHECK-NEXT: math.exp2
    // CHECK-NEXT: tw.wgmma_wait 0 %[[Q]]
    // CHECK-NEXT: arith.mulf
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %x = math.exp2 %p : !tile
    %q = tw.wgmma %b, %a, %c warps [2, 0] : !buffer, !buffer, !tile
    %y = arith.mulf %x, %q : !tile
    return %y : !tile
  }

  // The wait for the second product is the wait for the first one as well, though its result
  // is needed later only.
  // CHECK-LABEL: @done_before_it_is_needed
  func.func @done_before_it_is_needed(%a: !buffer, %b: !buffer, %c: !tile, %d: !tile) -> !tile {
    // CHECK: %[[P:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: %[[Q:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: %[[R:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: %[[W:.*]]:2 = tw.wgmma_wait 1 %[[P]], %[[Q]]
    // CHECK-NEXT: math.exp2 %[[W]]#1
    // CHECK-NEXT: arith.mulf %{{.*}}, %[[W]]#0
    // CHECK-NEXT: tw.wgmma_wait 0 %[[R]]
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %q = tw.wgmma %b, %a, %c warps [2, 0] : !buffer, !buffer, !tile
    %s = arith.addf %c, %d : !tile
    %r = tw.wgmma %b, %b, %s warps [2, 0] : !buffer, !buffer, !tile
    %x = math.exp2 %q : !tile
    %y = arith.mulf %x, %p : !tile
    %z = arith.addf %y, %r : !tile
    return %z : !tile
  }

  // A product that is needed at once waits for those in flight, so it shares their wait.
  // CHECK-LABEL: @needed_at_once
  func.func @needed_at_once(%a: !buffer, %b: !buffer, %c: !tile, %d: !tile) -> !tile {
    // CHECK: %[[P:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: %[[Q:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: %[[W:.*]]:2 = tw.wgmma_wait 0 %[[P]], %[[Q]]
    // CHECK-NEXT: math.exp2 %[[W]]#1
    // CHECK-NEXT: arith.mulf %{{.*}}, %[[W]]#0
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %s = arith.addf %c, %d : !tile
    %q = tw.wgmma %b, %a, %s warps [2, 0] : !buffer, !buffer, !tile
    %x = math.exp2 %q : !tile
    %y = arith.mulf %x, %p : !tile
    return %y : !tile
  }

  // Products that read the same view of a slot: it stays before the first.
  // CHECK-LABEL: @shared_view
  func.func @shared_view(%ring: !tw.buffer<64x64xf16, #buf, 2>, %a: !buffer, %c: !tile, %i: i32) -> !tile {
    // CHECK: tw.buffer_slot
    // CHECK-NEXT: tw.wgmma {{.*}} async
    // CHECK-NEXT: tw.wgmma {{.*}} async
    // CHECK-NEXT: tw.wgmma_wait 1
    tw.barrier
    %s = tw.buffer_slot %ring[%i] : <64x64xf16, #buf, 2> -> <64x64xf16, #buf>
    %p = tw.wgmma %a, %s, %c warps [2, 0] : !buffer, !buffer, !tile
    %x = math.exp2 %p : !tile
    %q = tw.wgmma %s, %a, %c warps [2, 0] : !buffer, !buffer, !tile
    %y = arith.mulf %x, %q : !tile
    return %y : !tile
  }

  // Copies that fill a ring go where no product in flight reads; other branches may write
  // what it reads, so the wait comes before them.
  // CHECK-LABEL: @past_copies
  func.func @past_copies(%a: !buffer, %b: !buffer, %c: !tile, %first: i1, %bar: !tw.mbarrier<2>, %i: i32) -> !tile {
    // CHECK: tw.wgmma {{.*}} async
    // CHECK-NEXT: scf.if
    // CHECK: tw.wgmma_wait 0
    // CHECK-NEXT: scf.if
    // CHECK-NOT: tw.wgmma_wait
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    scf.if %first {
      tw.mbarrier_expect %bar[%i], 128 : !tw.mbarrier<2>
    } {tw.fills_ring}
    scf.if %first {
      tw.mbarrier_expect %bar[%i], 128 : !tw.mbarrier<2>
    }
    return %p : !tile
  }

  // A product that needs nothing made since the first one starts with it, also past ops that
  // store other operands.
  // CHECK-LABEL: @joins_an_earlier_one
  func.func @joins_an_earlier_one(%a: !buffer, %b: !buffer, %c: !tile) -> !tile {
    // CHECK: %[[P:.*]] = tw.wgmma %arg0, %arg1, {{.*}} async
    // CHECK-NEXT: %[[Q:.*]] = tw.wgmma %arg1, %arg0, {{.*}} async
    // CHECK-NEXT: tw.wgmma_wait 1 %[[P]]
    // CHECK-NEXT: arith.truncf
    // CHECK-NEXT: tw.alloc_shared
    // CHECK-NEXT: tw.wgmma
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %x = arith.truncf %p : !tile to tensor<64x64xf16, #acc>
    %s = tw.alloc_shared %x : tensor<64x64xf16, #acc> -> : !buffer
    %r = tw.wgmma %s, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %q = tw.wgmma %b, %a, %c warps [2, 0] : !buffer, !buffer, !tile
    %y = arith.addf %r, %q : !tile
    return %y : !tile
  }

  // 48 KB that the product reads, and 96 KB beside them: with it in flight one block of threads
  // would fit a multiprocessor, and two fit if it is waited for.
  // CHECK-LABEL: @makes_room
  func.func @makes_room(%a: !buffer, %c: !tile, %i: i32) -> (!tile, !tile) {
    // CHECK: tw.wgmma {{.*}} async
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: tw.alloc_shared
    // CHECK-NEXT: tw.wgmma_wait 0
    // CHECK-NEXT: tw.alloc_shared
    %first = tw.alloc_shared : !tw.buffer<64x64xf16, #buf, 6>
    %slot = tw.buffer_slot %first[%i] : <64x64xf16, #buf, 6> -> <64x64xf16, #buf>
    %p = tw.wgmma %a, %slot, %c warps [2, 0] : !buffer, !buffer, !tile
    %x = arith.addf %c, %c : !tile
    %second = tw.alloc_shared : !tw.buffer<64x64xf16, #buf, 6>
    %third = tw.alloc_shared : !tw.buffer<64x64xf16, #buf, 6>
    %in_second = tw.buffer_slot %second[%i] : <64x64xf16, #buf, 6> -> <64x64xf16, #buf>
    %in_third = tw.buffer_slot %third[%i] : <64x64xf16, #buf, 6> -> <64x64xf16, #buf>
    %q = tw.wgmma %in_second, %in_third, %x warps [2, 0] : !buffer, !buffer, !tile
    return %p, %q : !tile, !tile
  }
}
