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

// So is one that mma and wgmma read: the wider product runs on wgmma.

// CHECK-LABEL: @both_units
// CHECK: %[[X:.*]] = tw.load
// CHECK-NEXT: %[[B:.*]] = tw.alloc_shared %[[X]]
// CHECK: tw.shared_load %[[B]]
// CHECK-NOT: convert_layout %[[X]]
// CHECK: tw.wgmma %{{.*}}, %[[B]]

// Registers take eight bits in the other order than this wgmma: they are converted.
// CHECK-LABEL: @other_order
// CHECK: %[[X:.*]] = tw.load
// CHECK: convert_layout %[[X]]
// CHECK: tw.wgmma

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32, tw.target = "sm_90a"} {
  func.func @both_units(%p: tensor<32x64x!tw.ptr<f16>>, %y: tensor<64x64xf16>, %z: tensor<64x32xf16>)
      -> (tensor<32x64xf32>, tensor<64x64xf32>) {
    %zero = arith.constant dense<0.0> : tensor<32x64xf32>
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tw.load %p : tensor<32x64x!tw.ptr<f16>> -> tensor<32x64xf16>
    %d = tw.dot %x, %y, %zero : tensor<32x64xf16>, tensor<64x64xf16>, tensor<32x64xf32>
    %e = tw.dot %z, %x, %zeros : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>
    return %d, %e : tensor<32x64xf32>, tensor<64x64xf32>
  }
  func.func @other_order(%p: tensor<32x64x!tw.ptr<f8E5M2>>, %y: tensor<64x64xf8E5M2>, %z: tensor<64x32xf8E5M2>)
      -> (tensor<32x64xf32>, tensor<64x64xf32>) {
    %zero = arith.constant dense<0.0> : tensor<32x64xf32>
    %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tw.load %p : tensor<32x64x!tw.ptr<f8E5M2>> -> tensor<32x64xf8E5M2>
    %d = tw.dot %x, %y, %zero : tensor<32x64xf8E5M2>, tensor<64x64xf8E5M2>, tensor<32x64xf32>
    %e = tw.dot %z, %x, %zeros : tensor<64x32xf8E5M2>, tensor<32x64xf8E5M2>, tensor<64x64xf32>
    return %d, %e : tensor<32x64xf32>, tensor<64x64xf32>
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

// -----

// In a loop of products registers read a tile from where TMA puts it, as the product does.

// CHECK-LABEL: @in_loop
// CHECK: scf.for
// CHECK: %[[X:.*]] = tw.descriptor_load
// CHECK-NEXT: %[[B:.*]] = tw.alloc_shared %[[X]]
// CHECK-NOT: tw.alloc_shared
// CHECK: tw.shared_load %[[B]]
// CHECK: arith.addf
// CHECK: %[[Y:.*]] = tw.alloc_shared
// CHECK: tw.wgmma %[[B]], %[[Y]]

// A loop without products keeps it in registers.
// CHECK-LABEL: @without_product
// CHECK: tw.descriptor_load
// CHECK-NOT: tw.alloc_shared
// CHECK: return

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32, tw.target = "sm_90a"} {
  func.func @in_loop(%d: !tw.descriptor<64x64xf16>, %n: i32) -> tensor<64x64xf32> {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %acc = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %x = tw.descriptor_load %d[%i, %c0] : !tw.descriptor<64x64xf16> -> tensor<64x64xf16>
      %y = arith.addf %x, %x : tensor<64x64xf16>
      %next = tw.dot %x, %y, %sum : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %acc : tensor<64x64xf32>
  }
  func.func @without_product(%d: !tw.descriptor<64x64xf16>, %n: i32) -> tensor<64x64xf16> {
    %zero = arith.constant dense<0.0> : tensor<64x64xf16>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %acc = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf16>) : i32 {
      %x = tw.descriptor_load %d[%i, %c0] : !tw.descriptor<64x64xf16> -> tensor<64x64xf16>
      %next = arith.addf %x, %sum : tensor<64x64xf16>
      scf.yield %next : tensor<64x64xf16>
    }
    return %acc : tensor<64x64xf16>
  }
}
