// A gather's source is stored where it is defined, once for all gathers of it.
// RUN: tilewright-opt %s --split-input-file --tw-promote-gathers | FileCheck %s

// CHECK-LABEL: func.func @rows
// CHECK: %[[X:.*]] = tw.load
// CHECK-NEXT: %[[BUFFER:.*]] = tw.alloc_shared %[[X]] : tensor<16x64xi32> -> : <16x64xi32, #tw.shared<offset = [1, 2, 4, 8, 16, 68, 136, 272, 512, 32]>>
// CHECK-NOT: tw.alloc_shared
// CHECK: scf.for
// CHECK-NOT: tw.alloc_shared
// CHECK: tw.shared_gather %[[BUFFER]][%{{.*}}] axis 0
// CHECK: tw.shared_gather %[[BUFFER]][%{{.*}}] axis 1
// CHECK-NOT: tw.gather
func.func @rows(%p: tensor<16x64x!tw.ptr<i32>>, %n: i32) -> (tensor<1x64xi32>, tensor<16x1xi32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0> : tensor<1x64xi32>
  %none = arith.constant dense<0> : tensor<16x1xi32>
  %x = tw.load %p : tensor<16x64x!tw.ptr<i32>> -> tensor<16x64xi32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %none) -> (tensor<1x64xi32>, tensor<16x1xi32>) : i32 {
    %row = tw.splat %i : i32 -> tensor<1x64xi32>
    %column = tw.splat %i : i32 -> tensor<16x1xi32>
    %y = tw.gather %x[%row] axis 0 : tensor<16x64xi32>, tensor<1x64xi32> -> tensor<1x64xi32>
    %z = tw.gather %x[%column] axis 1 : tensor<16x64xi32>, tensor<16x1xi32> -> tensor<16x1xi32>
    %s = arith.addi %a, %y : tensor<1x64xi32>
    %t = arith.addi %b, %z : tensor<16x1xi32>
    scf.yield %s, %t : tensor<1x64xi32>, tensor<16x1xi32>
  }
  return %r#0, %r#1 : tensor<1x64xi32>, tensor<16x1xi32>
}

// -----

// What a loop changes is stored in it.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}})
// CHECK-NEXT: %[[BUFFER:.*]] = tw.alloc_shared %[[A]]
// CHECK: tw.shared_gather %[[BUFFER]]
func.func @carried(%x: tensor<64xi32>, %index: tensor<64xi32>, %n: i32) -> tensor<64xi32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<64xi32>) : i32 {
    %y = tw.gather %a[%index] axis 0 : tensor<64xi32>, tensor<64xi32> -> tensor<64xi32>
    scf.yield %y : tensor<64xi32>
  }
  return %r : tensor<64xi32>
}

// -----

// CHECK-LABEL: func.func @counts
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0>
// CHECK-NEXT: %[[BINS:.*]] = tw.alloc_shared %[[ZEROS]] : tensor<16xi32> -> : <16xi32, #tw.shared<offset = [1, 2, 4, 8]>>
// CHECK-NEXT: tw.shared_count %arg0, %[[BINS]] mask %arg1
// CHECK-NEXT: %[[COUNTS:.*]] = tw.shared_load %[[BINS]]
// CHECK-NEXT: return %[[COUNTS]]
func.func @counts(%x: tensor<64xi64>, %m: tensor<64xi1>) -> tensor<16xi32> {
  %n = tw.histogram %x mask %m : tensor<64xi1> : tensor<64xi64> -> tensor<16xi32>
  return %n : tensor<16xi32>
}
