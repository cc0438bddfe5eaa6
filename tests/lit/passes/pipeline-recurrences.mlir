// Loops that hand a state on, or work on a tile row by row, load the little that they need into
// registers, iterations ahead.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/state.mlir --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: tilewright-opt %t/state.mlir --tw-pipeline-loops | FileCheck %s
// RUN: sed 's/tw.num_stages = 3/tw.num_stages = 1/' %t/state.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME
// RUN: sed 's/tw.load %q /tw.load %q {isVolatile}/' %t/state.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME
// Nothing holds the loads of the next iteration back.
// RUN: sed '/tw.store/d' %t/state.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME
// What it loads may be what it stores.
// RUN: sed 's/tw.store %o,/tw.store %at,/' %t/state.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME
// What it asserts comes before its loads.
// RUN: sed 's/%next = arith/%c = arith.cmpi slt, %k, %n : i32\n tw.assert %c, "in range" : i1\n %next = arith/' %t/state.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME
// A tile goes through shared memory, where threads wait for each other.
// RUN: sed 's/%next = arith/%w = tw.load %at : tensor<1024x!tw.ptr<f32>, #row> -> tensor<1024xf32, #row>\n %u = tw.alloc_shared %w : tensor<1024xf32, #row> -> : <1024xf32, #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>>\n %next = arith/' %t/state.mlir | tilewright-opt --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=SHARED --implicit-check-not=registers
// With one register for each thread there is room for the loads of eight iterations; not where
// threads exchange, and not for more iterations than there are.
// RUN: sed 's/1024/128/g; s/register = .128, 256, 512./register = []/' %t/state.mlir > %t/small.mlir
// RUN: tilewright-opt %t/small.mlir --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: sed 's/%next = arith/%other = tw.convert_layout %x : tensor<128xf32, #row> -> tensor<128xf32, #tw.layout<register = [], lane = [64, 2, 4, 8, 16], warp = [32, 1], block = []>>\n %next = arith/' %t/small.mlir | tilewright-opt --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: sed 's/to %n step/to %c5 step/; s/%%step = arith/%c5 = arith.constant 5 : i32\n %%step = arith/' %t/small.mlir | tilewright-opt --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEW
// FAR: schedule: early loads, 8 ahead
// NEAR: schedule: early loads, 2 ahead
// FEW: schedule: early loads, 4 ahead
// No state: an iteration needs nothing of the one before.
// RUN: sed 's/arith.addf %h, %x/arith.addf %x, %x/' %t/state.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME

// PLAN: schedule: early loads, 2 ahead
// PLAN-NEXT: load 1 tiles into registers @0
// PLAN-NEXT: arith.addf @2
// PLAN-NEXT: tw.store @2
// PLAN-NEXT: tw.addptr @0
// PLAN-NEXT: advance counters
// PLAN-NOT: illegal

// The loads of two iterations before the loop; that of the last but two is masked by whether there is one.
// CHECK-NOT: tw.barrier
// CHECK: %[[FIRST:.*]] = tw.load
// CHECK: %[[SECOND:.*]] = tw.load
// CHECK: scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[NOW:.*]] = %[[FIRST]], %[[NEXT:.*]] = %[[SECOND]])
// CHECK: %[[LATER:.*]] = tw.load {{.*}} mask
// CHECK: %[[SUM:.*]] = arith.addf %[[STATE]], %[[NOW]]
// CHECK: tw.store %{{.*}}, %[[SUM]]
// CHECK: scf.yield %[[SUM]], %{{.*}}, %[[NEXT]], %[[LATER]]
// CHECK-NOT: tw.barrier

// SHARED: schedule: stream, 2 ahead

// SAME: scf.for {{.*}} iter_args(%{{[^,]*}} = %{{[^,]*}}, %{{[^,]*}} = %{{[^,)]*}}) ->

// A row of two registers beside a tile of eight, without a state; not so beside a tile of two.
// RUN: tilewright-opt %t/row.mlir --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROW
// RUN: sed 's/8x128/2x128/g; s/register = \[1, 256, 512\], lane = \[2, 4, 8, 16, 32\], warp = \[64, 128\]/register = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128]/' %t/row.mlir | tilewright-opt --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=STAYS
// ROW: schedule: early loads, 8 ahead
// ROW-NEXT: load 1 tiles into registers @0
// STAYS: an iteration loads more than its registers can hold ahead
// STAYS: schedule: none

// A state of 32 registers: each thread copies ahead what it computes the state from. Not so where that
// is more than four times as much, or where the copies leave room for fewer blocks.
// RUN: tilewright-opt %t/large.mlir --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: sed 's/%next = arith/%a = tw.load %q {VEC} : PTRS -> ROW\n %b = tw.load %q {VEC} : PTRS -> ROW\n %c = tw.load %q {VEC} : PTRS -> ROW\n %d = tw.load %q {VEC} : PTRS -> ROW\n %next = arith/; s/VEC/tw.vector_elements = 4 : i32/g; s/PTRS/tensor<4096x!tw.ptr<f32>, #row>/g; s/ROW/tensor<4096xf32, #row>/g' %t/large.mlir | tilewright-opt --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=STAYS
// RUN: sed 's/tw.num_stages = 2/tw.num_stages = 8/' %t/large.mlir | tilewright-opt --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: sed 's/ {tw.vector_elements = 4 : i32}/ {isVolatile, tw.vector_elements = 4 : i32}/' %t/large.mlir | tilewright-opt --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// LARGE: schedule: stream, 1 ahead
// LARGE-NEXT: ring 0: 2 slots, fill @0, use @1, release by none, load 0 by own cp.async
// LARGE: fill ring 0 @0
// LARGE-NEXT: read own load 0 @1
// LARGE-NEXT: arith.addf @1
// LARGE-NEXT: tw.store @1
// FEWER: schedule: stream, 2 ahead
// NONE: schedule: none

//--- large.mlir
#row = #tw.layout<register = [1, 2, 512, 1024, 2048], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 4 : i32} {
  func.func @large(%in: tensor<4096x!tw.ptr<f32>, #row>, %out: tensor<4096x!tw.ptr<f32>, #row>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<4096xf32, #row>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%h = %zero) -> (tensor<4096xf32, #row>) : i32 {
      %ks = tw.splat %k : i32 -> tensor<4096xi32, #row>
      %q = tw.addptr %in, %ks : tensor<4096x!tw.ptr<f32>, #row>, tensor<4096xi32, #row>
      %x = tw.load %q {tw.vector_elements = 4 : i32} : tensor<4096x!tw.ptr<f32>, #row> -> tensor<4096xf32, #row>
      %next = arith.addf %h, %x : tensor<4096xf32, #row>
      tw.store %out, %next : tensor<4096x!tw.ptr<f32>, #row>, tensor<4096xf32, #row>
      scf.yield %next : tensor<4096xf32, #row>
    }
    return
  }
}

//--- row.mlir
#tile = #tw.layout<register = [1, 256, 512], lane = [2, 4, 8, 16, 32], warp = [64, 128], block = []>
#row1 = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [64, 0], block = []>
#row = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [64, 0], block = []>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @row(%in: !tw.ptr<f32>, %out: tensor<8x128x!tw.ptr<f32>, #tile>, %x: tensor<8x128xf32, #tile>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %i = tw.range 0 to 128 : tensor<128xi32, #row>
    %ins = tw.splat %in : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #row>
    scf.for %k = %c0 to %n step %c1 : i32 {
      %ks = tw.splat %k : i32 -> tensor<128xi32, #row>
      %o = arith.addi %i, %ks : tensor<128xi32, #row>
      %q = tw.addptr %ins, %o : tensor<128x!tw.ptr<f32>, #row>, tensor<128xi32, #row>
      %v = tw.load %q : tensor<128x!tw.ptr<f32>, #row> -> tensor<128xf32, #row>
      %e = tw.expand_dims %v, 0 : tensor<128xf32, #row> -> tensor<1x128xf32, #row1>
      %b = tw.broadcast %e : tensor<1x128xf32, #row1> -> tensor<8x128xf32, #tile>
      %y = arith.mulf %x, %b : tensor<8x128xf32, #tile>
      tw.store %out, %y : tensor<8x128x!tw.ptr<f32>, #tile>, tensor<8x128xf32, #tile>
    }
    return
  }
}

//--- state.mlir
#row = #tw.layout<register = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @state(%in: !tw.ptr<f32>, %out: !tw.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %step = arith.constant dense<1024> : tensor<1024xi32, #row>
    %zero = arith.constant dense<0.0> : tensor<1024xf32, #row>
    %i = tw.range 0 to 1024 : tensor<1024xi32, #row>
    %ins = tw.splat %in : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>, #row>
    %at = tw.addptr %ins, %i : tensor<1024x!tw.ptr<f32>, #row>, tensor<1024xi32, #row>
    %outs = tw.splat %out : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>, #row>
    %o = tw.addptr %outs, %i : tensor<1024x!tw.ptr<f32>, #row>, tensor<1024xi32, #row>
    scf.for %k = %c0 to %n step %c1 iter_args(%h = %zero, %q = %at) -> (tensor<1024xf32, #row>, tensor<1024x!tw.ptr<f32>, #row>) : i32 {
      %x = tw.load %q : tensor<1024x!tw.ptr<f32>, #row> -> tensor<1024xf32, #row>
      %next = arith.addf %h, %x : tensor<1024xf32, #row>
      tw.store %o, %next : tensor<1024x!tw.ptr<f32>, #row>, tensor<1024xf32, #row>
      %after = tw.addptr %q, %step : tensor<1024x!tw.ptr<f32>, #row>, tensor<1024xi32, #row>
      scf.yield %next, %after : tensor<1024xf32, #row>, tensor<1024x!tw.ptr<f32>, #row>
    }
    return
  }
}
