// Where blocks of one program could overtake each other, and where they cannot.
// RUN: tilewright-opt %s --split-input-file --tw-insert-barriers | FileCheck %s

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>

// Two exchanges in turn, round a loop: each is a meeting of all warps, so that neither
// finds the other's round unfinished.
// CHECK-LABEL: @alternating
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @alternating(%x: tensor<1024xf32, #a>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %0 = tw.reduce %x axis 0 {
      ^bb0(%l: f32, %r: f32):
        %c = arith.addf %l, %r : f32
        tw.yield %c : f32
      } {tw.scratch_offset = 0 : i32} : (tensor<1024xf32, #a>) -> f32
      %1 = tw.reduce %x axis 0 {
      ^bb0(%l: f32, %r: f32):
        %c = arith.maxnumf %l, %r : f32
        tw.yield %c : f32
      } {tw.scratch_offset = 32 : i32} : (tensor<1024xf32, #a>) -> f32
    }
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>

// One alone: a block that is ahead would send for the next round.
// CHECK-LABEL: @alone
// CHECK: scf.for
// CHECK-NEXT: tw.barrier all_blocks
// CHECK-NEXT: tw.reduce
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @alone(%x: tensor<1024xf32, #a>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %0 = tw.reduce %x axis 0 {
      ^bb0(%l: f32, %r: f32):
        %c = arith.addf %l, %r : f32
        tw.yield %c : f32
      } {tw.scratch_offset = 0 : i32} : (tensor<1024xf32, #a>) -> f32
    }
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>
#b = #tw.layout<register = [1, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [2]>

// What other blocks read of this one's scratch they read until all meet: before it is
// written again, and before the kernel ends.
// CHECK-LABEL: @conversions
// CHECK: tw.convert_layout
// CHECK-NEXT: tw.barrier all_blocks
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: tw.store
// CHECK-NEXT: tw.barrier all_blocks
// CHECK-NEXT: return
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @conversions(%p: tensor<1024x!tw.ptr<f32>, #a>, %x: tensor<1024xf32, #a>) {
    %0 = tw.convert_layout %x {tw.scratch_offset = 0 : i32} : tensor<1024xf32, #a> -> tensor<1024xf32, #b>
    %1 = tw.convert_layout %0 {tw.scratch_offset = 0 : i32} : tensor<1024xf32, #b> -> tensor<1024xf32, #a>
    tw.store %p, %1 : tensor<1024x!tw.ptr<f32>, #a>, tensor<1024xf32, #a>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>
#w = #tw.layout<register = [1, 256], lane = [4, 8, 16, 32, 64], warp = [128, 2], block = [512]>

// Within a block a barrier of the block does; it does not order what blocks do.
// CHECK-LABEL: @within
// CHECK: tw.convert_layout
// CHECK-NEXT: tw.barrier{{$}}
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: tw.barrier all_blocks
// CHECK-NEXT: tw.reduce
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @within(%x: tensor<1024xf32, #a>) -> f32 {
    %0 = tw.convert_layout %x {tw.scratch_offset = 0 : i32} : tensor<1024xf32, #a> -> tensor<1024xf32, #w>
    %1 = tw.convert_layout %0 {tw.scratch_offset = 0 : i32} : tensor<1024xf32, #w> -> tensor<1024xf32, #a>
    %2 = tw.reduce %1 axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } {tw.scratch_offset = 0 : i32} : (tensor<1024xf32, #a>) -> f32
    return %2 : f32
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>
#copies = #tw.layout<register = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [0]>

// The first block stores what all have loaded.
// CHECK-LABEL: @global
// CHECK: tw.load
// CHECK-NEXT: tw.barrier all_blocks
// CHECK-NEXT: tw.store
// Each thread loads what it stores.
// CHECK-LABEL: @own
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @global(%p: tensor<1024x!tw.ptr<f32>, #copies>) {
    %0 = tw.load %p : tensor<1024x!tw.ptr<f32>, #copies> -> tensor<1024xf32, #copies>
    tw.store %p, %0 : tensor<1024x!tw.ptr<f32>, #copies>, tensor<1024xf32, #copies>
    return
  }
  func.func @own(%p: tensor<1024x!tw.ptr<f32>, #a>) {
    %0 = tw.load %p : tensor<1024x!tw.ptr<f32>, #a> -> tensor<1024xf32, #a>
    tw.store %p, %0 : tensor<1024x!tw.ptr<f32>, #a>, tensor<1024xf32, #a>
    return
  }
}
