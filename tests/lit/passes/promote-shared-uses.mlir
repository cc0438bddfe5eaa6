// RUN: tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared %s -split-input-file | FileCheck %s
// A loaded tile that mma multiplies from both sides is stored once, and read in the
// registers of either side.

// CHECK-LABEL: @both_sides
// CHECK: %[[X:.*]] = tw.load
// CHECK-NEXT: %[[B:.*]] = tw.alloc_shared %[[X]]
// CHECK-NOT: tw.alloc_shared
// CHECK-DAG: %[[T:.*]] = tw.buffer_permute %[[B]] [1, 0]
// CHECK-DAG: tw.shared_load %[[T]]
// CHECK-DAG: tw.shared_load %[[B]]
// CHECK-NOT: convert_layout
// CHECK: tw.dot

module attributes {tw.num_warps = 2 : i32, tw.num_stages = 3 : i32} {
  func.func @both_sides(%p: tensor<64x64x!tw.ptr<f16>>) -> tensor<64x64xf32> {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tw.load %p : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
    %t = tw.permute %x [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
    %d = tw.dot %x, %t, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    return %d : tensor<64x64xf32>
  }
}

// -----

// Not where something else needs it in registers.

// CHECK-LABEL: @elsewhere
// CHECK-NOT: tw.alloc_shared
// CHECK: tw.dot

module attributes {tw.num_warps = 2 : i32, tw.num_stages = 3 : i32} {
  func.func @elsewhere(%p: tensor<64x64x!tw.ptr<f16>>) -> tensor<64x64xf32> {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tw.load %p : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
    %t = tw.permute %x [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
    %d = tw.dot %x, %t, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    tw.store %p, %x : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xf16>
    return %d : tensor<64x64xf32>
  }
}
