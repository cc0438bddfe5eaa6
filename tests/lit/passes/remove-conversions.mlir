// Conversions that other choices make unnecessary.
// RUN: tilewright-opt %s --split-input-file --tw-remove-conversions --tw-verify-layouts | FileCheck %s

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// There and back is nothing.
// CHECK-LABEL: @round_trip
// CHECK-NOT: tw.convert_layout
// CHECK: return %arg0
module attributes {tw.num_warps = 4 : i32} {
  func.func @round_trip(%x: tensor<512xf32, #a>) -> tensor<512xf32, #a> {
    %0 = tw.convert_layout %x : tensor<512xf32, #a> -> tensor<512xf32, #b>
    %1 = tw.convert_layout %0 : tensor<512xf32, #b> -> tensor<512xf32, #a>
    return %1 : tensor<512xf32, #a>
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// An index is computed again rather than moved.
// CHECK-LABEL: @recompute
// CHECK-NOT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @recompute(%n: i32) -> tensor<512xi32, #b> {
    %r = tw.range 0 to 512 : tensor<512xi32, #a>
    %s = tw.splat %n : i32 -> tensor<512xi32, #a>
    %o = arith.addi %r, %s : tensor<512xi32, #a>
    %0 = tw.convert_layout %o : tensor<512xi32, #a> -> tensor<512xi32, #b>
    return %0 : tensor<512xi32, #b>
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// An argument cannot be computed again: refused.
// CHECK-LABEL: @argument
// CHECK: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @argument(%x: tensor<512xf32, #a>) -> tensor<512xf32, #b> {
    %0 = tw.convert_layout %x : tensor<512xf32, #a> -> tensor<512xf32, #b>
    return %0 : tensor<512xf32, #b>
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// The half as many bits are moved: before a widening, after a narrowing.
// CHECK-LABEL: @narrow
// CHECK: tw.convert_layout %arg0 : tensor<512xf16
// CHECK: arith.extf
// CHECK: arith.truncf %arg1
// CHECK: tw.convert_layout {{.*}} : tensor<512xf16
module attributes {tw.num_warps = 4 : i32} {
  func.func @narrow(%x: tensor<512xf16, #a>, %y: tensor<512xf32, #a>) -> (tensor<512xf32, #b>, tensor<512xf16, #b>) {
    %0 = arith.extf %x : tensor<512xf16, #a> to tensor<512xf32, #a>
    %1 = tw.convert_layout %0 : tensor<512xf32, #a> -> tensor<512xf32, #b>
    %2 = tw.convert_layout %y : tensor<512xf32, #a> -> tensor<512xf32, #b>
    %3 = arith.truncf %2 : tensor<512xf32, #b> to tensor<512xf16, #b>
    return %1, %3 : tensor<512xf32, #b>, tensor<512xf16, #b>
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// A variable that is converted at every turn takes the other layout; what is left
// is one conversion after the loop.
// CHECK-LABEL: @loop_variable
// CHECK: scf.for
// CHECK-NOT: tw.convert_layout
// CHECK: scf.yield
// CHECK: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @loop_variable(%x: tensor<512xf32, #b>, %n: i32) -> tensor<512xf32, #a> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #a>
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<512xf32, #a>) : i32 {
      %0 = tw.convert_layout %acc : tensor<512xf32, #a> -> tensor<512xf32, #b>
      %1 = arith.addf %0, %x : tensor<512xf32, #b>
      %2 = tw.convert_layout %1 : tensor<512xf32, #b> -> tensor<512xf32, #a>
      scf.yield %2 : tensor<512xf32, #a>
    }
    return %s : tensor<512xf32, #a>
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// A variable that the loop also uses as it is stays: one conversion either way.
// CHECK-LABEL: @variable_of_both
// CHECK: scf.for
// CHECK: tw.convert_layout
// CHECK: scf.yield
module attributes {tw.num_warps = 4 : i32} {
  func.func @variable_of_both(%p: tensor<512x!tw.ptr<f32>, #b>, %x: tensor<512xf32, #a>, %n: i32) -> tensor<512xf32, #a> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> (tensor<512xf32, #a>) : i32 {
      %0 = tw.convert_layout %acc : tensor<512xf32, #a> -> tensor<512xf32, #b>
      tw.store %p, %0 : tensor<512x!tw.ptr<f32>, #b>, tensor<512xf32, #b>
      %1 = arith.addf %acc, %x : tensor<512xf32, #a>
      scf.yield %1 : tensor<512xf32, #a>
    }
    return %s : tensor<512xf32, #a>
  }
}

// -----
#a = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#b = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [0, 0], block = []>

// A short row that all warps work with is loaded by each of them, as wide as its layout
// allows; but volatile, or where a user wants what was exchanged, it stays.
// CHECK-LABEL: @row
// CHECK: %[[X:.*]] = tw.load {{.*}} {tw.vector_elements = 4 : i32} : {{.*}} -> tensor<128xf32, #[[B:.*]]>
// CHECK-NOT: tw.convert_layout
// CHECK: math.absf %[[X]]
// CHECK-LABEL: @volatile
// CHECK: tw.load {{.*}} {isVolatile}
// CHECK: tw.convert_layout
// CHECK-LABEL: @two_layouts
// CHECK: tw.load
// CHECK-NOT: vector_elements
// CHECK: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @row(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}) -> tensor<128xf32, #b> {
    %r = tw.range 0 to 128 : tensor<128xi32, #a>
    %s = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #a>
    %p = tw.addptr %s, %r : tensor<128x!tw.ptr<f32>, #a>, tensor<128xi32, #a>
    %v = tw.load %p : tensor<128x!tw.ptr<f32>, #a> -> tensor<128xf32, #a>
    %0 = tw.convert_layout %v : tensor<128xf32, #a> -> tensor<128xf32, #b>
    %1 = math.absf %0 : tensor<128xf32, #b>
    return %1 : tensor<128xf32, #b>
  }
  func.func @volatile(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}) -> tensor<128xf32, #b> {
    %r = tw.range 0 to 128 : tensor<128xi32, #a>
    %s = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #a>
    %p = tw.addptr %s, %r : tensor<128x!tw.ptr<f32>, #a>, tensor<128xi32, #a>
    %v = tw.load %p {isVolatile} : tensor<128x!tw.ptr<f32>, #a> -> tensor<128xf32, #a>
    %0 = tw.convert_layout %v : tensor<128xf32, #a> -> tensor<128xf32, #b>
    return %0 : tensor<128xf32, #b>
  }
  func.func @two_layouts(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}) -> (tensor<128xf32, #a>, tensor<128xf32, #b>) {
    %r = tw.range 0 to 128 : tensor<128xi32, #a>
    %s = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #a>
    %p = tw.addptr %s, %r : tensor<128x!tw.ptr<f32>, #a>, tensor<128xi32, #a>
    %v = tw.load %p : tensor<128x!tw.ptr<f32>, #a> -> tensor<128xf32, #a>
    %0 = tw.convert_layout %v : tensor<128xf32, #a> -> tensor<128xf32, #b>
    return %v, %0 : tensor<128xf32, #a>, tensor<128xf32, #b>
  }
}
