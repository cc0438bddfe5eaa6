// RUN: tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared %s | FileCheck %s
// RUN: sed 's/num_stages = 3/num_stages = 1/' %s | tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared | FileCheck %s --check-prefix=LOADED
// wgmma takes f32 with K fastest. The right operand has N fastest in memory, so it is copied element
// by element: 16 lanes along N, two along K. The left one is as it is wanted: vectors of four. What
// is not copied is loaded by vectors.

// CHECK: tw.load {{.*}} tensor<64x64x!tw.ptr<f32>, #tw.layout<register = [1, 2,
// CHECK: tw.load {{.*}} tensor<64x64x!tw.ptr<f32>, #tw.layout<register = [{{.*}}], lane = [1, 2, 4, 8, 64], warp = [128, 256], block = []>>
// CHECK: tw.wgmma

// LOADED-COUNT-2: tw.load {{.*}} tensor<64x64x!tw.ptr<f32>, #tw.layout<register = [1, 2,
// LOADED: tw.wgmma

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32} {
  func.func @product(%a: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %b: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %n: i32) -> tensor<64x64xf32> {
    %r = tw.range 0 to 64 : tensor<64xi32>
    %rows = tw.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %columns = tw.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %stride = arith.constant dense<1024> : tensor<64x1xi32>
    %row = arith.muli %rows, %stride : tensor<64x1xi32>
    %x = tw.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
    %y = tw.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
    %offsets = arith.addi %x, %y : tensor<64x64xi32>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %first = arith.muli %k, %c64 : i32
      %tile = tw.splat %first : i32 -> tensor<64x64xi32>
      %as = tw.splat %a : !tw.ptr<f32> -> tensor<64x64x!tw.ptr<f32>>
      %ao = tw.addptr %as, %offsets : tensor<64x64x!tw.ptr<f32>>, tensor<64x64xi32>
      %ap = tw.addptr %ao, %tile : tensor<64x64x!tw.ptr<f32>>, tensor<64x64xi32>
      %bs = tw.splat %b : !tw.ptr<f32> -> tensor<64x64x!tw.ptr<f32>>
      %bo = tw.addptr %bs, %offsets : tensor<64x64x!tw.ptr<f32>>, tensor<64x64xi32>
      %bp = tw.addptr %bo, %tile : tensor<64x64x!tw.ptr<f32>>, tensor<64x64xi32>
      %av = tw.load %ap : tensor<64x64x!tw.ptr<f32>> -> tensor<64x64xf32>
      %bv = tw.load %bp : tensor<64x64x!tw.ptr<f32>> -> tensor<64x64xf32>
      %d = tw.dot %av, %bv, %sum : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    return %acc : tensor<64x64xf32>
  }
}
