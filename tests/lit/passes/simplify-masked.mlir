// What only concerns elements that a store's mask leaves out is dropped.
// RUN: tilewright-opt %s --tw-simplify-masked | FileCheck %s

// The sum of squares needs the zeros, the stored values do not.
// CHECK-LABEL: @centred
// CHECK: %[[C:.*]] = arith.subf
// CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[C]], %{{.*}}
// CHECK: arith.mulf %[[S]], %[[S]]
// CHECK: %[[R:.*]] = arith.mulf %[[C]], %{{.*}}
// CHECK: tw.store %{{.*}}, %[[R]]
func.func @centred(%p: tensor<64x!tw.ptr<f32>>, %m: tensor<64xi1>, %x: tensor<64xf32>, %mean: tensor<64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %c = arith.subf %x, %mean : tensor<64xf32>
  %s = arith.select %m, %c, %zero : tensor<64xi1>, tensor<64xf32>
  %q = arith.mulf %s, %s : tensor<64xf32>
  %sum = tw.reduce %q axis 0 {
  ^bb0(%a: f32, %b: f32):
    %d = arith.addf %a, %b : f32
    tw.yield %d : f32
  } : (tensor<64xf32>) -> f32
  %all = tw.splat %sum : f32 -> tensor<64xf32>
  %r = arith.mulf %s, %all : tensor<64xf32>
  tw.store %p, %r mask %m : tensor<64xi1> : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
  return
}

// Two in a row, the second one stored as it is.
// CHECK-LABEL: @nested
// CHECK: tw.store %{{.*}}, %arg2 mask
func.func @nested(%p: tensor<64x!tw.ptr<f32>>, %m: tensor<64xi1>, %x: tensor<64xf32>, %y: tensor<64xf32>) {
  %0 = arith.select %m, %x, %y : tensor<64xi1>, tensor<64xf32>
  %1 = arith.select %m, %0, %y : tensor<64xi1>, tensor<64xf32>
  tw.store %p, %1 mask %m : tensor<64xi1> : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
  return
}

// Kept: of another mask, needed by others after the arithmetic, and in a divisor, which
// must not become zero.
// CHECK-LABEL: @kept
// CHECK: arith.select %arg2
// CHECK: %[[B:.*]] = arith.select %arg1
// CHECK: arith.addf %[[B]]
// CHECK: %[[D:.*]] = arith.select %arg1
// CHECK: arith.divsi %{{.*}}, %[[D]]
func.func @kept(%p: tensor<64x!tw.ptr<f32>>, %m: tensor<64xi1>, %n: tensor<64xi1>, %x: tensor<64xf32>,
                %q: tensor<64x!tw.ptr<i32>>, %i: tensor<64xi32>) -> tensor<64xf32> {
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %one = arith.constant dense<1> : tensor<64xi32>
  %0 = arith.select %n, %x, %zero : tensor<64xi1>, tensor<64xf32>
  tw.store %p, %0 mask %m : tensor<64xi1> : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
  %1 = arith.select %m, %x, %zero : tensor<64xi1>, tensor<64xf32>
  %2 = arith.addf %1, %x : tensor<64xf32>
  tw.store %p, %2 mask %m : tensor<64xi1> : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
  %3 = arith.select %m, %i, %one : tensor<64xi1>, tensor<64xi32>
  %4 = arith.divsi %i, %3 : tensor<64xi32>
  tw.store %q, %4 mask %m : tensor<64xi1> : tensor<64x!tw.ptr<i32>>, tensor<64xi32>
  return %2 : tensor<64xf32>
}
