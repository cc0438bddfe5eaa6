// RUN: tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared %s | FileCheck %s
// Products by fma read their operands from shared memory, whatever layout they
// have, once they are more than a few registers.

module attributes {tw.num_warps = 4 : i32} {
  // A transpose is a view of the bytes that were stored.
  // CHECK-LABEL: @large
  func.func @large(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
    // CHECK-DAG: %[[A:.*]] = tw.alloc_shared %arg0 {{.*}} -> : <64x64xf32
    // CHECK-DAG: %[[B:.*]] = tw.alloc_shared %arg1 {{.*}} -> : <64x64xf32
    // CHECK: %[[T:.*]] = tw.buffer_permute %[[B]] [1, 0]
    // CHECK: tw.shared_dot %[[A]], %[[T]], %{{.*}} warps [1, 1]
    // CHECK-NOT: tw.dot
    %t = tw.permute %y [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    %d = tw.dot %x, %t, %c {precision = #tw.precision<ieee>} : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    return %d : tensor<64x64xf32>
  }

  // Sixteen registers of each operand: in place.
  // CHECK-LABEL: @small
  func.func @small(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
    // CHECK-NOT: tw.shared_dot
    // CHECK: tw.dot
    %d = tw.dot %x, %y, %c {precision = #tw.precision<ieee>} : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    return %d : tensor<16x16xf32>
  }
}
