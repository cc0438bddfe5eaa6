// Loop-invariant code motion of pure ops and of loads, and the loops that ask for none.
// RUN: tilewright-opt %s --tw-hoist-invariants --tw-remarks 2>&1 | FileCheck %s

// CHECK: remark: hoist-invariants: refused (the loop asks for no hoisting)

// CHECK-LABEL: @hoists
// CHECK: tw.splat
// CHECK: scf.for
// A load stays: a store may change what it reads.
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

// Where nothing is written, a load leaves the loop, and what is computed from it follows. It
// happens only if the loop runs.
// CHECK-LABEL: @hoists_loads
// CHECK-SAME: %[[P:.*]]: tensor<64x!tw.ptr<f32>>, %[[M:.*]]: tensor<64xi1>, %{{.*}}: tensor<64x!tw.ptr<f32>>, %[[N:.*]]: i32)
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %{{.*}}, %[[N]] : i32
// CHECK: %[[ALL:.*]] = tw.splat %[[RUNS]] : i1 -> tensor<64xi1>
// CHECK: %[[BOTH:.*]] = arith.andi %[[M]], %[[ALL]]
// CHECK: tw.load %[[P]] mask %[[BOTH]]
// CHECK: arith.mulf
// CHECK: scf.for
// CHECK-NEXT: arith.addf
// CHECK-NEXT: scf.yield
func.func @hoists_loads(%p: tensor<64x!tw.ptr<f32>>, %m: tensor<64xi1>, %out: tensor<64x!tw.ptr<f32>>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64xf32>) : i32 {
    %x = tw.load %p mask %m : tensor<64xi1> : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
    %square = arith.mulf %x, %x : tensor<64xf32>
    %next = arith.addf %acc, %square : tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  tw.store %out, %sum : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
  return
}

// A loop that is known to run needs no mask, also for what a loop inside it loads.
// CHECK-LABEL: @hoists_from_two
// CHECK: tw.load %{{.*}} : !tw.ptr<f32> -> f32
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: tw.load
// CHECK: return
func.func @hoists_from_two(%p: !tw.ptr<f32>, %out: !tw.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%outer = %zero) -> (f32) : i32 {
    %inner = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %outer) -> (f32) : i32 {
      %x = tw.load %p : !tw.ptr<f32> -> f32
      %next = arith.addf %acc, %x : f32
      scf.yield %next : f32
    }
    scf.yield %inner : f32
  }
  tw.store %out, %sum : !tw.ptr<f32>, f32
  return
}

// What may change meanwhile stays, and so does all beside it; so do loads behind an assertion.
// CHECK-LABEL: @keeps_loads
// CHECK: scf.for
// CHECK: tw.load
// CHECK: tw.load
// CHECK: scf.for
// CHECK: tw.assert
// CHECK: tw.load
func.func @keeps_loads(%p: !tw.ptr<f32>, %q: !tw.ptr<f32>, %flag: i1, %n: i32) -> (f32, f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %first = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    %x = tw.load %p : !tw.ptr<f32> -> f32
    %y = tw.load %q {isVolatile} : !tw.ptr<f32> -> f32
    %0 = arith.addf %x, %y : f32
    %next = arith.addf %acc, %0 : f32
    scf.yield %next : f32
  }
  %second = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) : i32 {
    tw.assert %flag, "in bounds" : i1
    %x = tw.load %p : !tw.ptr<f32> -> f32
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  }
  return %first, %second : f32, f32
}
