// How many neighbours a thread loads that no instruction loads at once. 4 warps of 32 lanes.
// RUN: tilewright-opt %s --split-input-file --tw-assign-layouts --tw-verify-layouts | FileCheck %s

// Images in larger ones: divisions and remainders find the image, row and column of each element.
// Neighbours have one image and one row. A thread gets two of them, with which memory already takes
// longer than the arithmetic.
// CHECK-LABEL: @images
// CHECK: tw.load {{.*}} -> tensor<1024xf32, #tw.layout<register = [1, 256, 512], lane = [2, 4, 8, 16, 32]
// CHECK-NOT: tw.convert_layout
// CHECK: tw.store {{.*}} {tw.vector_elements = 2 : i32}
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 1 : i32} {
  func.func @images(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32> {tw.divisibility = 16 : i64},
                           %width: i32 {tw.divisibility = 16 : i64}, %height: i32, %stride: i32) {
    %i = tw.range 0 to 1024 : tensor<1024xi32>
    %w = tw.splat %width : i32 -> tensor<1024xi32>
    %column = arith.remsi %i, %w : tensor<1024xi32>
    %rows = arith.divsi %i, %w : tensor<1024xi32>
    %h = tw.splat %height : i32 -> tensor<1024xi32>
    %row = arith.remsi %rows, %h : tensor<1024xi32>
    %image = arith.divsi %rows, %h : tensor<1024xi32>
    %s = tw.splat %stride : i32 -> tensor<1024xi32>
    %above = arith.muli %image, %s : tensor<1024xi32>
    %down = arith.addi %above, %row : tensor<1024xi32>
    %start = arith.muli %down, %s : tensor<1024xi32>
    %place = arith.addi %start, %column : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %place : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %ys = tw.splat %y : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %yp = tw.addptr %ys, %i : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    tw.store %yp, %v : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// An addition alone: neighbouring lanes read one line.
// CHECK-LABEL: @shifted_row
// CHECK: tw.load {{.*}} -> tensor<1024xf32, #tw.layout<register = [128, 256, 512], lane = [1, 2, 4, 8, 16]
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 1 : i32} {
  func.func @shifted_row(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %i = tw.range 0 to 1024 : tensor<1024xi32>
    %one = arith.constant dense<1> : tensor<1024xi32>
    %next = arith.addi %i, %one : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %next : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %ys = tw.splat %y : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %yp = tw.addptr %ys, %i : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    tw.store %yp, %v : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// Nor does a thread get more where the store takes elements one by one.
// CHECK-LABEL: @unaligned_store
// CHECK: tw.load {{.*}} -> tensor<1024xf32, #tw.layout<register = [128, 256, 512], lane = [1, 2, 4, 8, 16]
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 1 : i32} {
  func.func @unaligned_store(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32>,
                             %width: i32 {tw.divisibility = 16 : i64}, %height: i32, %stride: i32) {
    %i = tw.range 0 to 1024 : tensor<1024xi32>
    %w = tw.splat %width : i32 -> tensor<1024xi32>
    %column = arith.remsi %i, %w : tensor<1024xi32>
    %rows = arith.divsi %i, %w : tensor<1024xi32>
    %h = tw.splat %height : i32 -> tensor<1024xi32>
    %row = arith.remsi %rows, %h : tensor<1024xi32>
    %image = arith.divsi %rows, %h : tensor<1024xi32>
    %s = tw.splat %stride : i32 -> tensor<1024xi32>
    %above = arith.muli %image, %s : tensor<1024xi32>
    %down = arith.addi %above, %row : tensor<1024xi32>
    %start = arith.muli %down, %s : tensor<1024xi32>
    %place = arith.addi %start, %column : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %place : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %ys = tw.splat %y : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %yp = tw.addptr %ys, %i : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    tw.store %yp, %v : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}
