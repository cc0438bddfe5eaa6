// RUN: tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared %s | FileCheck %s
// RUN: sed 's/num_warps = 4/num_warps = 2/' %s | tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared | FileCheck %s --check-prefix=MMA
// Operands of wgmma are stored to shared memory in the order of their load; a
// transpose in between is a view of the same bytes.

// CHECK: tw.load
// CHECK-NEXT: %[[A:.*]] = tw.alloc_shared %{{.*}} -> : <64x64xf16
// CHECK: tw.load
// CHECK-NEXT: %[[B:.*]] = tw.alloc_shared %{{.*}} -> : <64x64xf16
// CHECK-NOT: convert_layout
// CHECK: %[[T:.*]] = tw.buffer_permute %[[B]] [1, 0]
// CHECK: tw.wgmma %[[A]], %[[T]], %{{.*}} warps [2, 0]
// CHECK-NOT: tw.dot

// mma reads both into registers, the transposed one through the view.
// MMA: %[[X:.*]] = tw.load
// MMA-NEXT: %[[A:.*]] = tw.alloc_shared %[[X]]
// MMA-NEXT: tw.shared_load %[[A]]
// MMA: %[[Y:.*]] = tw.load
// MMA-NEXT: %[[B:.*]] = tw.alloc_shared %[[Y]]
// MMA-NEXT: %[[T:.*]] = tw.buffer_permute %[[B]] [1, 0]
// MMA-NEXT: tw.shared_load %[[T]]
// MMA-NOT: convert_layout
// MMA: tw.dot

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32} {
  func.func @product(%a: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %b: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %n: i32) -> tensor<64x64xf32> {
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
      %as = tw.splat %a : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>>
      %ao = tw.addptr %as, %offsets : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %ap = tw.addptr %ao, %tile : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %bs = tw.splat %b : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>>
      %bo = tw.addptr %bs, %offsets : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %bp = tw.addptr %bo, %tile : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %av = tw.load %ap : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
      %bv = tw.load %bp : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
      %bt = tw.permute %bv [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
      %d = tw.dot %av, %bt, %sum : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    return %acc : tensor<64x64xf32>
  }
}
