// RUN: tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-remove-conversions --tw-promote-shared %s | FileCheck %s
// The left operand of wgmma is computed in its registers, from what is read of the ring as
// these are; not so from elements of 8 bits, which no ldmatrix brings there, and not where
// something else needs it too.

// CHECK-LABEL: @computed
// CHECK: scf.for
// CHECK: %[[X:.*]] = tw.shared_load
// CHECK: %[[Z:.*]] = arith.mulf %[[X]]
// CHECK-NOT: tw.alloc_shared
// CHECK: tw.wgmma %[[Z]], %{{.*}} : tensor<64x64xf16
// CHECK-LABEL: @from_bytes
// CHECK: arith.sitofp
// CHECK: %[[A:.*]] = tw.alloc_shared %{{.*}} : tensor<64x64xf16
// CHECK: tw.wgmma %[[A]]
// CHECK-LABEL: @stored
// CHECK: arith.addf
// CHECK: %[[A:.*]] = tw.alloc_shared %{{.*}} : tensor<64x64xf16
// CHECK: tw.wgmma %[[A]]

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32, tw.target = "sm_90a"} {
  func.func @computed(%d: !tw.descriptor<64x64xf16>, %row: tensor<64xf16>, %b: tensor<64x32xf16>, %n: i32) -> tensor<64x32xf32> {
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %acc = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x32xf32>) : i32 {
      %x = tw.descriptor_load %d[%i, %c0] : !tw.descriptor<64x64xf16> -> tensor<64x64xf16>
      %rows = tw.expand_dims %row, 0 : tensor<64xf16> -> tensor<1x64xf16>
      %factors = tw.broadcast %rows : tensor<1x64xf16> -> tensor<64x64xf16>
      %z = arith.mulf %x, %factors : tensor<64x64xf16>
      %next = tw.dot %z, %b, %sum : tensor<64x64xf16>, tensor<64x32xf16>, tensor<64x32xf32>
      scf.yield %next : tensor<64x32xf32>
    }
    return %acc : tensor<64x32xf32>
  }
  func.func @from_bytes(%p: tensor<64x64x!tw.ptr<i8>>, %b: tensor<64x64xf16>, %n: i32) -> tensor<64x64xf32> {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %acc = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %x = tw.load %p : tensor<64x64x!tw.ptr<i8>> -> tensor<64x64xi8>
      %y = arith.sitofp %x : tensor<64x64xi8> to tensor<64x64xf16>
      %next = tw.dot %y, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %acc : tensor<64x64xf32>
  }
  func.func @stored(%p: tensor<64x64x!tw.ptr<f16>>, %b: tensor<64x64xf16>, %n: i32) -> tensor<64x64xf32> {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %acc = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %x = tw.load %p : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
      %y = arith.addf %x, %x : tensor<64x64xf16>
      tw.store %p, %y : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xf16>
      %next = tw.dot %y, %b, %sum : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %next : tensor<64x64xf32>
    }
    return %acc : tensor<64x64xf32>
  }
}
