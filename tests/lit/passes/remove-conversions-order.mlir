// Outside of loops, conversions and what is computed from one tile follow later loads if they are needed only then.
// RUN: tilewright-opt %s --tw-remove-conversions | FileCheck %s

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

#line = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [0, 0], block = []>
#thread = #tw.layout<register = [8], lane = [0, 0, 1, 2, 4], warp = [16, 0], block = []>
#column = #tw.layout<register = [8], lane = [0, 0, 1, 2, 4], warp = [16, 0], block = []>
#wide = #tw.layout<register = [1, 2, 4, 8, 16, 32], lane = [64, 128, 256, 512, 1024], warp = [2048, 0], block = []>
#narrow = #tw.layout<register = [32, 64, 128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [1024, 2048], block = []>

module attributes {tw.num_warps = 4 : i32} {
  // CHECK-LABEL: func.func @two
  // CHECK: tw.load %arg0
  // CHECK-NEXT: tw.load %arg1
  // CHECK-NEXT: tw.convert_layout
  // CHECK-NEXT: tw.convert_layout
  func.func @two(%p: tensor<512x!tw.ptr<f32>, #a>, %q: tensor<512x!tw.ptr<f32>, #a>) -> (tensor<512xf32, #b>, tensor<512xf32, #a>) {
    %x = tw.load %p {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
    %c = tw.convert_layout %x : tensor<512xf32, #a> -> tensor<512xf32, #b>
    %y = tw.load %q {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
    %d = tw.convert_layout %y : tensor<512xf32, #a> -> tensor<512xf32, #b>
    %s = arith.addf %c, %d : tensor<512xf32, #b>
    %t = arith.addf %x, %y : tensor<512xf32, #a>
    return %s, %t : tensor<512xf32, #b>, tensor<512xf32, #a>
  }

  // What a load needs, and what stands in a loop, stays.
  // CHECK-LABEL: func.func @needed
  // CHECK: tw.convert_layout
  // CHECK: tw.load
  // CHECK: scf.for
  // CHECK: tw.convert_layout
  // CHECK: tw.load
  func.func @needed(%i: tensor<512xi32, #a>, %p: tensor<512x!tw.ptr<f32>, #b>, %q: tensor<512x!tw.ptr<i32>, #a>, %n: i32) -> tensor<512xf32, #b> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %j = tw.convert_layout %i : tensor<512xi32, #a> -> tensor<512xi32, #b>
    %at = tw.addptr %p, %j : tensor<512x!tw.ptr<f32>, #b>, tensor<512xi32, #b>
    %x = tw.load %at : tensor<512x!tw.ptr<f32>, #b> -> tensor<512xf32, #b>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %x) -> (tensor<512xf32, #b>) : i32 {
      %o = tw.splat %k : i32 -> tensor<512xi32, #a>
      %m = arith.muli %o, %i : tensor<512xi32, #a>
      tw.store %q, %m : tensor<512x!tw.ptr<i32>, #a>, tensor<512xi32, #a>
      %l = tw.convert_layout %m : tensor<512xi32, #a> -> tensor<512xi32, #b>
      %y = tw.load %p : tensor<512x!tw.ptr<f32>, #b> -> tensor<512xf32, #b>
      %f = arith.sitofp %l : tensor<512xi32, #b> to tensor<512xf32, #b>
      %u = arith.addf %y, %f : tensor<512xf32, #b>
      %v = arith.addf %u, %sum : tensor<512xf32, #b>
      scf.yield %v : tensor<512xf32, #b>
    }
    return %r : tensor<512xf32, #b>
  }

  // So it is with loops that load, and what is made of it goes along; not where a loop would
  // have to keep more for it.
  // CHECK-LABEL: func.func @behind_loop
  // CHECK: tw.convert_layout {{.*}} -> tensor<128x32xf32, #tw.layout<register = [32,
  // CHECK: scf.for
  // CHECK: scf.yield
  // CHECK: tw.convert_layout
  // CHECK-NEXT: tw.expand_dims
  // CHECK-NEXT: arith.mulf
  func.func @behind_loop(%p: tensor<32x!tw.ptr<f32>, #line>, %q: tensor<512x!tw.ptr<f32>, #a>, %w: tensor<128x32x!tw.ptr<f32>, #wide>, %n: i32) -> (tensor<32x1xf32, #column>, tensor<512xf32, #a>, tensor<128x32xf32, #narrow>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #a>
    %x = tw.load %p : tensor<32x!tw.ptr<f32>, #line> -> tensor<32xf32, #line>
    %c = tw.convert_layout %x : tensor<32xf32, #line> -> tensor<32xf32, #thread>
    %e = tw.expand_dims %c, 1 : tensor<32xf32, #thread> -> tensor<32x1xf32, #column>
    %v = tw.load %w : tensor<128x32x!tw.ptr<f32>, #wide> -> tensor<128x32xf32, #wide>
    %d = tw.convert_layout %v : tensor<128x32xf32, #wide> -> tensor<128x32xf32, #narrow>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<512xf32, #a>) : i32 {
      %y = tw.load %q : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
      %u = arith.addf %y, %sum : tensor<512xf32, #a>
      scf.yield %u : tensor<512xf32, #a>
    }
    %m = arith.mulf %e, %e : tensor<32x1xf32, #column>
    %s = arith.addf %d, %d : tensor<128x32xf32, #narrow>
    return %m, %r, %s : tensor<32x1xf32, #column>, tensor<512xf32, #a>, tensor<128x32xf32, #narrow>
  }

  // Widened and scaled later: what was loaded takes half of the registers meanwhile.
  // CHECK-LABEL: func.func @widened
  // CHECK: tw.load %arg0
  // CHECK-NEXT: tw.load %arg1
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.addf
  func.func @widened(%p: tensor<512x!tw.ptr<bf16>, #a>, %q: tensor<512x!tw.ptr<f32>, #a>) -> tensor<512xf32, #a> {
    %x = tw.load %p {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<bf16>, #a> -> tensor<512xbf16, #a>
    %w = arith.extf %x : tensor<512xbf16, #a> to tensor<512xf32, #a>
    %m = arith.mulf %w, %w : tensor<512xf32, #a>
    %y = tw.load %q {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
    %s = arith.addf %m, %y : tensor<512xf32, #a>
    return %s : tensor<512xf32, #a>
  }

  // Narrowed, and one tile of two: waiting would take more registers.
  // CHECK-LABEL: func.func @narrowed
  // CHECK: arith.truncf
  // CHECK: arith.addf
  // CHECK: tw.load %arg2
  func.func @narrowed(%p: tensor<512x!tw.ptr<f32>, #a>, %q: tensor<512x!tw.ptr<f32>, #a>, %r: tensor<512x!tw.ptr<f32>, #a>) -> (tensor<512xf16, #a>, tensor<512xf32, #a>) {
    %x = tw.load %p {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
    %y = tw.load %q {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
    %n = arith.truncf %x : tensor<512xf32, #a> to tensor<512xf16, #a>
    %s = arith.addf %x, %y : tensor<512xf32, #a>
    %z = tw.load %r {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
    %t = arith.addf %s, %z : tensor<512xf32, #a>
    return %n, %t : tensor<512xf16, #a>, tensor<512xf32, #a>
  }
}
