// In a loop, what an elementwise op makes is converted by way of its operands where that is less
// work per iteration.
// RUN: tilewright-opt %s --split-input-file --tw-remove-conversions --tw-verify-layouts | FileCheck %s

#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [1, 2, 4, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#row = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [0, 0], block = []>
#row1 = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [0, 0], block = []>

// A tile from outside is converted outside, and the row that meets it is loaded in that layout.
// CHECK-LABEL: @invariant
// CHECK: tw.convert_layout %arg0 : tensor<16x128xf32
// CHECK: scf.for
// CHECK: tw.load
// CHECK-NOT: tw.convert_layout
// CHECK: math.exp2
// CHECK: scf.yield
module attributes {tw.num_warps = 4 : i32} {
  func.func @invariant(%x: tensor<16x128xf32, #a>, %p: !tw.ptr<f32>, %init: tensor<16x128xf32, #b>, %n: i32) -> tensor<16x128xf32, #b> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %i = tw.range 0 to 128 : tensor<128xi32, #row>
    %s = tw.splat %p : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #row>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %init) -> (tensor<16x128xf32, #b>) : i32 {
      %o = tw.splat %k : i32 -> tensor<128xi32, #row>
      %j = arith.muli %i, %o : tensor<128xi32, #row>
      %q = tw.addptr %s, %j : tensor<128x!tw.ptr<f32>, #row>, tensor<128xi32, #row>
      %l = tw.load %q : tensor<128x!tw.ptr<f32>, #row> -> tensor<128xf32, #row>
      %e = tw.expand_dims %l, 0 : tensor<128xf32, #row> -> tensor<1x128xf32, #row1>
      %w = tw.broadcast %e : tensor<1x128xf32, #row1> -> tensor<16x128xf32, #a>
      %d = arith.subf %x, %w : tensor<16x128xf32, #a>
      %f = math.exp2 %d : tensor<16x128xf32, #a>
      %c = tw.convert_layout %f : tensor<16x128xf32, #a> -> tensor<16x128xf32, #b>
      %u = arith.addf %c, %sum : tensor<16x128xf32, #b>
      scf.yield %u : tensor<16x128xf32, #b>
    }
    return %r : tensor<16x128xf32, #b>
  }
}

// -----
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [1, 2, 4, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>

// Two tiles of the loop in place of one would be more work.
// CHECK-LABEL: @refused
// CHECK: scf.for
// CHECK: arith.subf
// CHECK-NEXT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @refused(%p: tensor<16x128x!tw.ptr<f32>, #a>, %q: tensor<16x128x!tw.ptr<f32>, #a>, %init: tensor<16x128xf32, #b>, %n: i32) -> tensor<16x128xf32, #b> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %init) -> (tensor<16x128xf32, #b>) : i32 {
      %x = tw.load %p : tensor<16x128x!tw.ptr<f32>, #a> -> tensor<16x128xf32, #a>
      %y = tw.load %q : tensor<16x128x!tw.ptr<f32>, #a> -> tensor<16x128xf32, #a>
      %d = arith.subf %x, %y : tensor<16x128xf32, #a>
      %c = tw.convert_layout %d : tensor<16x128xf32, #a> -> tensor<16x128xf32, #b>
      %u = arith.addf %c, %sum : tensor<16x128xf32, #b>
      scf.yield %u : tensor<16x128xf32, #b>
    }
    return %r : tensor<16x128xf32, #b>
  }
}
