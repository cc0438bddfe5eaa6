// Loop-invariant code motion, and the loops that ask for none.
// RUN: tilewright-opt %s --tw-hoist-invariants --tw-remarks 2>&1 | FileCheck %s

// CHECK: remark: hoist-invariants: refused (the loop asks for no hoisting)

// CHECK-LABEL: @hoists
// CHECK: tw.splat
// CHECK: scf.for
// A load stays: the loop may not run, and a store may change what it reads.
// CHECK: tw.load
func.func @hoists(%p: tensor<64x!tw.ptr<f32>>, %x: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %0 = tw.splat %x : f32 -> tensor<64xf32>
    %1 = tw.load %p : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
    %2 = arith.addf %0, %1 : tensor<64xf32>
    tw.store %p, %2 : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
  }
  return
}

// CHECK-LABEL: @refuses
// CHECK: scf.for
// CHECK-NEXT: tw.splat
func.func @refuses(%p: tensor<64x!tw.ptr<f32>>, %x: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %0 = tw.splat %x : f32 -> tensor<64xf32>
    tw.store %p, %0 : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
  } {tw.loop_no_licm}
  return
}

// A variable that starts as a value and becomes the same value again is that value.
// CHECK-LABEL: @drops
// CHECK-SAME: %[[X:.*]]: tensor<64xf32>, %[[Y:.*]]: tensor<64xf32>, %{{.*}}: i32)
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %[[Y]]) -> (tensor<64xf32>)
// CHECK-NEXT: arith.addf %[[SUM]], %[[X]]
// CHECK: return %{{.*}}, %[[X]]
func.func @drops(%x: tensor<64xf32>, %y: tensor<64xf32>, %n: i32) -> (tensor<64xf32>, tensor<64xf32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %y, %same = %x) -> (tensor<64xf32>, tensor<64xf32>) : i32 {
    %next = arith.addf %sum, %same : tensor<64xf32>
    scf.yield %next, %x : tensor<64xf32>, tensor<64xf32>
  }
  return %out#0, %out#1 : tensor<64xf32>, tensor<64xf32>
}

// One that becomes another value stays a variable: the first iteration sees the first value.
// CHECK-LABEL: @keeps
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
func.func @keeps(%x: tensor<64xf32>, %y: tensor<64xf32>, %n: i32) -> (tensor<64xf32>, tensor<64xf32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %out:2 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %y, %other = %y) -> (tensor<64xf32>, tensor<64xf32>) : i32 {
    %next = arith.addf %sum, %other : tensor<64xf32>
    scf.yield %next, %x : tensor<64xf32>, tensor<64xf32>
  }
  return %out#0, %out#1 : tensor<64xf32>, tensor<64xf32>
}
