// Folders of the dialect: identities and splats disappear.
// RUN: tilewright-opt %s -canonicalize | FileCheck %s

#a = #tw.layout<register = [1], lane = [2, 4], warp = [], block = []>
#b = #tw.layout<register = [4], lane = [1, 2], warp = [], block = []>

// A splat of a constant is a dense constant.
// CHECK-LABEL: @splat
func.func @splat() -> tensor<8xf32> {
  // CHECK: arith.constant dense<1.000000e+00> : tensor<8xf32>
  // CHECK-NOT: tw.splat
  %c = arith.constant 1.0 : f32
  %0 = tw.splat %c : f32 -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A reshape to the same type is nothing.
// CHECK-LABEL: @reshape
func.func @reshape(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %arg0
  %0 = tw.reshape %x : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A transpose between equal extents is not the identity.
// CHECK-LABEL: @transpose
func.func @transpose(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: tw.permute
  %0 = tw.permute %x [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// There and back again is nothing.
// CHECK-LABEL: @convert
func.func @convert(%x: tensor<8xf32, #a>) -> tensor<8xf32, #a> {
  // CHECK-NEXT: return %arg0
  %0 = tw.convert_layout %x : tensor<8xf32, #a> -> tensor<8xf32, #b>
  %1 = tw.convert_layout %0 : tensor<8xf32, #b> -> tensor<8xf32, #a>
  return %1 : tensor<8xf32, #a>
}
