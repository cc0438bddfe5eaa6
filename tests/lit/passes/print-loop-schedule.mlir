// The plan of each kind of loop, without its expansion: steps in their order, each with the
// stage that it runs at.
// RUN: tilewright-opt --split-input-file --tw-print-loop-schedule %s -o /dev/null 2>&1 | FileCheck %s
// RUN: sed 's/num_stages = 3/num_stages = 9/; s/num_stages = 2/num_stages = 5/' %s | tilewright-opt --split-input-file --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPARE
// RUN: sed 's/num_stages = 2/num_stages = 5/; s/num_warps = 4/num_warps = 8/; s/warp = \[1024, 2048\], block/warp = [1024, 2048, 0], block/; s/warp = \[2048, 4096\], block/warp = [2048, 4096, 0], block/; s/warp = \[256, 512\], block/warp = [256, 512, 0], block/' %s | tilewright-opt --split-input-file --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARPGROUPS

// A fourth slot would cost a resident block, so the copies wait for the product before, and
// a barrier follows that.
// CHECK: schedule: plain, 2 ahead
// CHECK-NEXT: ring 0: 3 slots, fill @0, use @2, release by barrier, load 0 by tma, load 1 by tma
// CHECK-NEXT: addresses of ring 0 @0
// CHECK-NEXT: wait for tiles of ring 0 @2
// CHECK-NEXT: slot of load 0 @2
// CHECK-NEXT: slot of load 1 @2
// CHECK-NEXT: tw.wgmma @2
// CHECK-NEXT: wait for products, 1 pending @2
// CHECK-NEXT: barrier @2
// CHECK-NEXT: fill ring 0 @0
// CHECK-NEXT: advance counters
// CHECK-NOT: illegal

// Where one block fits anyway there is a slot more: the product before stays in flight until
// the next wait, and one barrier is enough.
// SPARE: schedule: plain, 8 ahead
// SPARE-NEXT: ring 0: 10 slots, fill @0, use @8, release by barrier, load 0 by tma, load 1 by tma
// SPARE-NEXT: addresses of ring 0 @0
// SPARE-NEXT: wait for tiles of ring 0 @8
// SPARE-NEXT: wait for products, 1 pending @8
// SPARE-NEXT: barrier @8
// SPARE-NEXT: slot of load 0 @8
// SPARE-NEXT: slot of load 1 @8
// SPARE-NEXT: tw.wgmma @8
// SPARE-NEXT: fill ring 0 @0
// SPARE-NEXT: advance counters
// SPARE-NOT: illegal

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#row = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#mem = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @product(%as: !tw.descriptor<64x64xf16>, %bs: !tw.descriptor<64x64xf16>, %n: i32) -> tensor<64x64xf32, #acc> {
    %none = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<64x64xf32, #acc>) : i32 {
      %a = tw.descriptor_load %as[%c0, %i] : <64x64xf16> -> tensor<64x64xf16, #row>
      %as_ = tw.alloc_shared %a : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %b = tw.descriptor_load %bs[%i, %c0] : <64x64xf16> -> tensor<64x64xf16, #row>
      %bs_ = tw.alloc_shared %b : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %o = tw.wgmma %as_, %bs_, %sum warps [2, 0] : !tw.buffer<64x64xf16, #mem>, <64x64xf16, #mem>, tensor<64x64xf32, #acc>
      scf.yield %o : tensor<64x64xf32, #acc>
    }
    return %out : tensor<64x64xf32, #acc>
  }
}

// -----

// Copies by threads: neither wait stands before the addresses of the next copies.
// CHECK: schedule: plain, 2 ahead
// CHECK-NEXT: ring 0: 3 slots, fill @0, use @2, release by barrier, load 0 by cp.async, load 1 by cp.async
// CHECK-NEXT: addresses of ring 0 @0
// CHECK-NEXT: wait for copies, 1 groups pending @2
// CHECK-NEXT: barrier @2
// CHECK-NEXT: slot of load 0 @2
// CHECK-NEXT: slot of load 1 @2
// CHECK-NEXT: tw.wgmma @2
// CHECK-NEXT: wait for products, 1 pending @2
// CHECK-NEXT: barrier @2
// CHECK-NEXT: fill ring 0 @0
// CHECK-NOT: illegal
// SPARE: schedule: plain, 8 ahead
// SPARE-NEXT: ring 0: 10 slots, fill @0, use @8, release by barrier, load 0 by cp.async, load 1 by cp.async
// SPARE-NEXT: addresses of ring 0 @0
// SPARE-NEXT: wait for copies, 7 groups pending @8
// SPARE-NEXT: wait for products, 1 pending @8
// SPARE-NEXT: barrier @8
// SPARE-NEXT: slot of load 0 @8
// SPARE-NEXT: slot of load 1 @8
// SPARE-NEXT: tw.wgmma @8
// SPARE-NEXT: fill ring 0 @0
// SPARE-NOT: illegal

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#row = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#mem = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @copied(%as: tensor<64x64x!tw.ptr<f16>, #row>, %bs: tensor<64x64x!tw.ptr<f16>, #row>, %n: i32) -> tensor<64x64xf32, #acc> {
    %none = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<64x64xf32, #acc>) : i32 {
      %off = tw.splat %i : i32 -> tensor<64x64xi32, #row>
      %p = tw.addptr %as, %off : tensor<64x64x!tw.ptr<f16>, #row>, tensor<64x64xi32, #row>
      %a = tw.load %p {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #row> -> tensor<64x64xf16, #row>
      %as_ = tw.alloc_shared %a : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %q = tw.addptr %bs, %off : tensor<64x64x!tw.ptr<f16>, #row>, tensor<64x64xi32, #row>
      %b = tw.load %q {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #row> -> tensor<64x64xf16, #row>
      %bs_ = tw.alloc_shared %b : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %o = tw.wgmma %as_, %bs_, %sum warps [2, 0] : !tw.buffer<64x64xf16, #mem>, <64x64xf16, #mem>, tensor<64x64xf32, #acc>
      scf.yield %o : tensor<64x64xf32, #acc>
    }
    return %out : tensor<64x64xf32, #acc>
  }
}

// -----

// Four blocks fit where the products take turns, two where they overlap. Each slot is
// filled again in the iteration that has used it: the second product's beside the first.
// CHECK: schedule: in turn, 1 ahead
// CHECK-NEXT: ring 0: 1 slots, fill @0, use @1, release by arrivals, load 0 by tma
// CHECK-NEXT: ring 1: 1 slots, fill @1, use @1, release by arrivals, load 1 by tma
// CHECK-NEXT: slot of load 0 @1
// CHECK-NEXT: slot of load 1 @1
// CHECK-NEXT: tw.buffer_permute @1
// CHECK-NEXT: wait for tiles of ring 0 @1
// CHECK-NEXT: tw.wgmma @1
// CHECK-NEXT: fill ring 1 @1
// CHECK-NEXT: wait for products, 0 pending @1
// CHECK-NEXT: release ring 0 @1
// CHECK-NEXT: fill ring 0 @0
// CHECK-NEXT: math.exp2 @1
// CHECK-NEXT: arith.truncf @1
// CHECK-NEXT: wait for tiles of ring 1 @1
// CHECK-NEXT: tw.wgmma @1
// CHECK-NEXT: wait for products, 0 pending @1
// CHECK-NEXT: release ring 1 @1
// CHECK-NEXT: advance counters
// CHECK-NOT: illegal

// Where one block fits either way the products overlap: the second one runs at the stage
// after the first one's. A barrier releases the slots of a single warpgroup.
// SPARE: schedule: chained, 4 ahead
// SPARE-NEXT: ring 0: 5 slots, fill @0, use @4, release by barrier, load 0 by tma
// SPARE-NEXT: ring 1: 5 slots, fill @1, use @5, release by barrier, load 1 by tma
// SPARE-NEXT: wait for tiles of ring 0 @4
// SPARE-NEXT: wait for tiles of ring 1 @5
// SPARE-NEXT: barrier @4
// SPARE-NOT: release
// SPARE-NOT: illegal
// SPARE: schedule: stream

// Arrivals release the slots of several, which may so be out of phase.
// WARPGROUPS: schedule: chained, 4 ahead
// WARPGROUPS-NEXT: ring 0: 6 slots, fill @0, use @4, release by arrivals, load 0 by tma
// WARPGROUPS-NEXT: ring 1: 6 slots, fill @1, use @5, release by arrivals, load 1 by tma
// WARPGROUPS-NEXT: wait for tiles of ring 0 @4
// WARPGROUPS-NEXT: wait for tiles of ring 1 @5
// WARPGROUPS-NEXT: slot of load 0 @4
// WARPGROUPS-NEXT: slot of load 1 @5
// WARPGROUPS-NEXT: tw.buffer_permute @4
// WARPGROUPS-NEXT: tw.wgmma @4
// WARPGROUPS-NEXT: tw.wgmma @5
// WARPGROUPS-NEXT: fill ring 0 @0
// WARPGROUPS-NEXT: fill ring 1 @1
// WARPGROUPS-NEXT: wait for products, 1 pending @4
// WARPGROUPS-NEXT: release ring 0 @4
// WARPGROUPS-NEXT: math.exp2 @4
// WARPGROUPS-NEXT: arith.truncf @4
// WARPGROUPS-NEXT: advance counters
// WARPGROUPS-NEXT: wait for products, 0 pending @5
// WARPGROUPS-NEXT: release ring 1 @5
// WARPGROUPS-NOT: illegal

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#sum = #tw.layout<register = [1, 1024, 8, 16, 32, 64], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], block = []>
#row = #tw.layout<register = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#mem = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 2048, 4096, 64]>
#turned = #tw.shared<offset = [64, 128, 256, 512, 1024, 2048, 513, 1026, 2052, 8, 16, 32, 4096]>
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 4 : i32} {
  func.func @attend(%q: !tw.buffer<64x128xf16, #mem>, %ks: !tw.descriptor<64x128xf16>, %vs: !tw.descriptor<64x128xf16>, %n: i32) -> tensor<64x128xf32, #sum> {
    %none = arith.constant dense<0.0> : tensor<64x128xf32, #sum>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<64x128xf32, #sum>) : i32 {
      %k = tw.descriptor_load %ks[%i, %c0] : <64x128xf16> -> tensor<64x128xf16, #row>
      %kt = tw.alloc_shared %k : tensor<64x128xf16, #row> -> : <64x128xf16, #mem>
      %v = tw.descriptor_load %vs[%i, %c0] : <64x128xf16> -> tensor<64x128xf16, #row>
      %vt = tw.alloc_shared %v : tensor<64x128xf16, #row> -> : <64x128xf16, #mem>
      %turned = tw.buffer_permute %kt [1, 0] : <64x128xf16, #mem> -> <128x64xf16, #turned>
      %s = tw.wgmma %q, %turned, %zero warps [2, 0] : !tw.buffer<64x128xf16, #mem>, <128x64xf16, #turned>, tensor<64x64xf32, #acc>
      %p = math.exp2 %s : tensor<64x64xf32, #acc>
      %w = arith.truncf %p : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
      %o = tw.wgmma %w, %vt, %sum warps [2, 0] : tensor<64x64xf16, #acc>, <64x128xf16, #mem>, tensor<64x128xf32, #sum>
      scf.yield %o : tensor<64x128xf32, #sum>
    }
    return %out : tensor<64x128xf32, #sum>
  }
}

// -----

// Each thread reads what it has copied itself: no barrier, and nothing releases a slot.
// CHECK: schedule: stream, 2 ahead
// CHECK-NEXT: ring 0: 3 slots, fill @0, use @2, release by none, load 0 by own cp.async
// CHECK-NEXT: wait for copies, 1 groups pending @2
// CHECK-NEXT: slot of load 0 @2
// CHECK-NEXT: fill ring 0 @0
// CHECK-NEXT: read own load 0 @2
// CHECK-NEXT: arith.addf @2
// CHECK-NEXT: advance counters
// CHECK-NOT: illegal

// The load depends on what the loop computes.
// CHECK: schedule: its address depends on what the loop computes
// CHECK: schedule: none

// The places are loaded: an iteration before the copies, and no ring of their own.
// CHECK: schedule: stream, 2 ahead
// CHECK-NEXT: ring 0: 3 slots, fill @1, use @3, release by none, load 0 by own cp.async
// CHECK-NEXT: load for addresses, 1 values @0
// CHECK-NEXT: wait for copies, 1 groups pending @3
// CHECK-NEXT: slot of load 0 @3
// CHECK-NEXT: fill ring 0 @1
// CHECK-NOT: ring 1
// CHECK-NOT: illegal

// The loop changes what the places are loaded from.
// CHECK: schedule: the loop may store to what its address is loaded from
// CHECK: schedule: none

// One iteration has no later one.
// CHECK: schedule: none

#line = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @sum(%p: tensor<512x!tw.ptr<f32>, #line>, %n: i32) -> tensor<512xf32, #line> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #line>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<512xf32, #line>) : i32 {
      %off = tw.splat %k : i32 -> tensor<512xi32, #line>
      %a = tw.addptr %p, %off : tensor<512x!tw.ptr<f32>, #line>, tensor<512xi32, #line>
      %x = tw.load %a {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #line> -> tensor<512xf32, #line>
      %next = arith.addf %sum, %x : tensor<512xf32, #line>
      scf.yield %next : tensor<512xf32, #line>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<512xf32, #line>
  }
  func.func @chase(%p: tensor<512x!tw.ptr<i32>, #line>, %n: i32) -> tensor<512xi32, #line> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0> : tensor<512xi32, #line>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%at = %zero) -> (tensor<512xi32, #line>) : i32 {
      %a = tw.addptr %p, %at : tensor<512x!tw.ptr<i32>, #line>, tensor<512xi32, #line>
      %x = tw.load %a {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<i32>, #line> -> tensor<512xi32, #line>
      scf.yield %x : tensor<512xi32, #line>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<512xi32, #line>
  }
  func.func @gather(%p: tensor<512x!tw.ptr<f32>, #line>, %places: tensor<512x!tw.ptr<i32>, #line>, %n: i32) -> tensor<512xf32, #line> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #line>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<512xf32, #line>) : i32 {
      %off = tw.splat %k : i32 -> tensor<512xi32, #line>
      %at = tw.addptr %places, %off : tensor<512x!tw.ptr<i32>, #line>, tensor<512xi32, #line>
      %place = tw.load %at {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<i32>, #line> -> tensor<512xi32, #line>
      %a = tw.addptr %p, %place : tensor<512x!tw.ptr<f32>, #line>, tensor<512xi32, #line>
      %x = tw.load %a {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #line> -> tensor<512xf32, #line>
      %next = arith.addf %sum, %x : tensor<512xf32, #line>
      scf.yield %next : tensor<512xf32, #line>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<512xf32, #line>
  }
  func.func @scatter(%p: tensor<512x!tw.ptr<f32>, #line>, %places: tensor<512x!tw.ptr<i32>, #line>, %n: i32) -> tensor<512xf32, #line> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #line>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<512xf32, #line>) : i32 {
      %place = tw.load %places {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<i32>, #line> -> tensor<512xi32, #line>
      %a = tw.addptr %p, %place : tensor<512x!tw.ptr<f32>, #line>, tensor<512xi32, #line>
      %x = tw.load %a {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #line> -> tensor<512xf32, #line>
      %next = arith.addf %sum, %x : tensor<512xf32, #line>
      tw.store %places, %place : tensor<512x!tw.ptr<i32>, #line>, tensor<512xi32, #line>
      scf.yield %next : tensor<512xf32, #line>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<512xf32, #line>
  }
  func.func @once(%p: tensor<512x!tw.ptr<f32>, #line>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %k = %c0 to %c1 step %c1 : i32 {
      %x = tw.load %p {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #line> -> tensor<512xf32, #line>
    } {tw.loop_stages = 3 : i32}
    return
  }
}
