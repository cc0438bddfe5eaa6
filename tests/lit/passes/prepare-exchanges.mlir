// Barriers for reductions across blocks, and where blocks wait for each other to begin.
// RUN: tilewright-opt %s --split-input-file --tw-prepare-exchanges | FileCheck %s

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>

// After what only loads, before the first exchange. One arrival per warp.
// CHECK-LABEL: @straight
// CHECK-NEXT: tw.mbarrier_alloc 4 {tw.exchange = 2 : i32} : <2>
// CHECK-NEXT: tw.cluster_arrive
// CHECK: tw.load
// CHECK-NEXT: tw.cluster_wait
// CHECK-NEXT: tw.reduce
// CHECK: tw.exchange = 0 : i32
// CHECK: tw.reduce
// CHECK: tw.exchange = 1 : i32
// CHECK-NOT: tw.cluster_wait
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @straight(%p: tensor<1024x!tw.ptr<f32>, #a>) -> (f32, f32) {
    %x = tw.load %p : tensor<1024x!tw.ptr<f32>, #a> -> tensor<1024xf32, #a>
    %0 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<1024xf32, #a>) -> f32
    %1 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.maxnumf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<1024xf32, #a>) -> f32
    return %0, %1 : f32, f32
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>

// All blocks may have to meet before a store: before the loop with it, since
// every thread waits once.
// CHECK-LABEL: @store_before
// CHECK: tw.cluster_wait
// CHECK-NEXT: scf.for
// CHECK: tw.store
// CHECK: tw.reduce
// CHECK-NOT: tw.cluster_wait
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @store_before(%p: tensor<1024x!tw.ptr<f32>, #a>, %x: tensor<1024xf32, #a>, %n: i32) -> f32 {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      tw.store %p, %x : tensor<1024x!tw.ptr<f32>, #a>, tensor<1024xf32, #a>
    }
    %0 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<1024xf32, #a>) -> f32
    return %0 : f32
  }
}

// -----
#rows = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>

// Each block has whole rows: nothing is exchanged.
// CHECK-LABEL: @rows
// CHECK-NOT: tw.mbarrier_alloc
// CHECK-NOT: tw.cluster
// CHECK-NOT: tw.exchange
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @rows(%x: tensor<2x512xf32, #rows>) -> tensor<2xf32, #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], block = [1]>> {
    %0 = tw.reduce %x axis 1 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<2x512xf32, #rows>) -> tensor<2xf32, #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], block = [1]>>
    return %0 : tensor<2xf32, #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], block = [1]>>
  }
}
