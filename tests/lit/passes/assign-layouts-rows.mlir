// Rows for as many warps: each has one, or they share them all. 4 warps of 32 lanes.
// RUN: tilewright-opt %s --split-input-file --tw-assign-layouts --tw-verify-layouts | FileCheck %s

// One weight for each column: a row is reduced within its warp.
// CHECK-LABEL: @one_vector
// CHECK: tw.load {{.*}} -> tensor<4x1024xf32, {{.*}}warp = [1024, 2048]
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 1 : i32} {
  func.func @one_vector(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %w0: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %c = tw.range 0 to 1024 : tensor<1024xi32>
    %r = tw.range 0 to 4 : tensor<4xi32>
    %length = arith.constant dense<1024> : tensor<4xi32>
    %starts = arith.muli %r, %length : tensor<4xi32>
    %s1 = tw.expand_dims %starts, 1 : tensor<4xi32> -> tensor<4x1xi32>
    %s2 = tw.broadcast %s1 : tensor<4x1xi32> -> tensor<4x1024xi32>
    %c1 = tw.expand_dims %c, 0 : tensor<1024xi32> -> tensor<1x1024xi32>
    %c2 = tw.broadcast %c1 : tensor<1x1024xi32> -> tensor<4x1024xi32>
    %o = arith.addi %s2, %c2 : tensor<4x1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<4x1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %o : tensor<4x1024x!tw.ptr<f32>>, tensor<4x1024xi32>
    %y0 = tw.load %xp : tensor<4x1024x!tw.ptr<f32>> -> tensor<4x1024xf32>
    %q0 = tw.splat %w0 : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %p0 = tw.addptr %q0, %c : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v0 = tw.load %p0 : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %e0 = tw.expand_dims %v0, 0 : tensor<1024xf32> -> tensor<1x1024xf32>
    %b0 = tw.broadcast %e0 : tensor<1x1024xf32> -> tensor<4x1024xf32>
    %y1 = arith.mulf %y0, %b0 : tensor<4x1024xf32>
    tw.store %xp, %y1 : tensor<4x1024x!tw.ptr<f32>>, tensor<4x1024xf32>
    return
  }
}

// -----
// Two of them would be in each warp.
// CHECK-LABEL: @two_vectors
// CHECK: tw.load {{.*}} -> tensor<4x1024xf32, {{.*}}warp = [128, 256]
// CHECK: tw.load {{.*}} -> tensor<1024xf32, {{.*}}warp = [128, 256]
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 1 : i32} {
  func.func @two_vectors(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %w0: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %w1: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %c = tw.range 0 to 1024 : tensor<1024xi32>
    %r = tw.range 0 to 4 : tensor<4xi32>
    %length = arith.constant dense<1024> : tensor<4xi32>
    %starts = arith.muli %r, %length : tensor<4xi32>
    %s1 = tw.expand_dims %starts, 1 : tensor<4xi32> -> tensor<4x1xi32>
    %s2 = tw.broadcast %s1 : tensor<4x1xi32> -> tensor<4x1024xi32>
    %c1 = tw.expand_dims %c, 0 : tensor<1024xi32> -> tensor<1x1024xi32>
    %c2 = tw.broadcast %c1 : tensor<1x1024xi32> -> tensor<4x1024xi32>
    %o = arith.addi %s2, %c2 : tensor<4x1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<4x1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %o : tensor<4x1024x!tw.ptr<f32>>, tensor<4x1024xi32>
    %y0 = tw.load %xp : tensor<4x1024x!tw.ptr<f32>> -> tensor<4x1024xf32>
    %q0 = tw.splat %w0 : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %p0 = tw.addptr %q0, %c : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v0 = tw.load %p0 : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %e0 = tw.expand_dims %v0, 0 : tensor<1024xf32> -> tensor<1x1024xf32>
    %b0 = tw.broadcast %e0 : tensor<1x1024xf32> -> tensor<4x1024xf32>
    %y1 = arith.mulf %y0, %b0 : tensor<4x1024xf32>
    %q1 = tw.splat %w1 : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %p1 = tw.addptr %q1, %c : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v1 = tw.load %p1 : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %e1 = tw.expand_dims %v1, 0 : tensor<1024xf32> -> tensor<1x1024xf32>
    %b1 = tw.broadcast %e1 : tensor<1x1024xf32> -> tensor<4x1024xf32>
    %y2 = arith.mulf %y1, %b1 : tensor<4x1024xf32>
    tw.store %xp, %y2 : tensor<4x1024x!tw.ptr<f32>>, tensor<4x1024xf32>
    return
  }
}
