// Rows that a loop advances as a whole are carried as a scalar.
// RUN: tilewright-opt %s --tw-carry-scalars | FileCheck %s

// The loop's attributes stay. After the loop the row has the value that the last iteration left.
// CHECK-LABEL: @offsets
// CHECK-DAG: %[[ROW:.*]] = tw.range 0 to 64
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (i32)
// CHECK: %[[ALL:.*]] = tw.splat %[[S]] : i32 -> tensor<64xi32>
// CHECK: %[[NOW:.*]] = arith.addi %[[ROW]], %[[ALL]]
// CHECK: tw.expand_dims %[[NOW]], 1
// CHECK: tw.expand_dims %[[NOW]], 0
// CHECK: %[[NEXT:.*]] = arith.addi %[[S]], %arg1 : i32
// CHECK: scf.yield %[[NEXT]]
// CHECK: } {tw.stages = 3 : i32}
// CHECK: %[[LAST:.*]] = tw.splat %[[SUM]]
// CHECK: %[[END:.*]] = arith.addi %[[ROW]], %[[LAST]]
// CHECK: return %{{.*}}, %[[END]]
func.func @offsets(%p: tensor<64x1x!tw.ptr<i32>>, %step: i32, %n: i32, %q: tensor<1x64x!tw.ptr<i32>>) -> (tensor<64xi32>, tensor<64xi32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0> : tensor<64xi32>
  %row = tw.range 0 to 64 : tensor<64xi32>
  %steps = tw.splat %step : i32 -> tensor<64xi32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero, %o = %row) -> (tensor<64xi32>, tensor<64xi32>) : i32 {
    %down = tw.expand_dims %o, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %across = tw.expand_dims %o, 0 : tensor<64xi32> -> tensor<1x64xi32>
    tw.store %p, %down : tensor<64x1x!tw.ptr<i32>>, tensor<64x1xi32>
    tw.store %q, %across : tensor<1x64x!tw.ptr<i32>>, tensor<1x64xi32>
    %next = arith.addi %o, %steps : tensor<64xi32>
    scf.yield %sum, %next : tensor<64xi32>, tensor<64xi32>
  } {tw.stages = 3 : i32}
  return %r#0, %r#1 : tensor<64xi32>, tensor<64xi32>
}

// Kept: a first row that is loaded, a step that differs between elements, one that the loop
// computes, a row that is a row only.
// CHECK-LABEL: @kept
// CHECK: scf.for {{.*}} -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>)
func.func @kept(%p: tensor<8x!tw.ptr<i32>>, %n: i32, %d: tensor<8x1x!tw.ptr<i32>>, %w: tensor<1x8x!tw.ptr<i32>>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %row = tw.range 0 to 8 : tensor<8xi32>
  %four = arith.constant dense<4> : tensor<8xi32>
  %first = tw.load %p : tensor<8x!tw.ptr<i32>> -> tensor<8xi32>
  %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %first, %b = %row, %c = %row, %e = %row) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) : i32 {
    %ab = arith.addi %a, %b : tensor<8xi32>
    %abc = arith.addi %ab, %c : tensor<8xi32>
    %abce = arith.addi %abc, %e : tensor<8xi32>
    %down = tw.expand_dims %abc, 1 : tensor<8xi32> -> tensor<8x1xi32>
    %across = tw.expand_dims %abce, 0 : tensor<8xi32> -> tensor<1x8xi32>
    tw.store %d, %down : tensor<8x1x!tw.ptr<i32>>, tensor<8x1xi32>
    tw.store %w, %across : tensor<1x8x!tw.ptr<i32>>, tensor<1x8xi32>
    %0 = arith.addi %a, %four : tensor<8xi32>
    %1 = arith.addi %b, %row : tensor<8xi32>
    %all = tw.splat %i : i32 -> tensor<8xi32>
    %2 = arith.addi %c, %all : tensor<8xi32>
    %3 = arith.addi %e, %four : tensor<8xi32>
    scf.yield %0, %1, %2, %3 : tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>
  }
  return %r#0, %r#1, %r#2, %r#3 : tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>
}
