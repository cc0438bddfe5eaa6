// Variables of loops that only gather reductions keep what each thread has gathered.
// RUN: tilewright-opt %s --tw-defer-reductions --tw-verify-layouts | FileCheck %s

#tile = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#row = #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [1, 2], block = []>

// A thread holds four neighbours, which are reduced; 32 threads share a row.
// CHECK-LABEL: @scaled_sum
// CHECK: arith.constant dense<0.000000e+00> : tensor<4x32xf32
// CHECK: scf.for {{.*}} -> (tensor<4x32xf32
// CHECK: tw.reshape {{.*}} -> tensor<4x32x4xf32
// CHECK: tw.reduce {{.*}} axis 2
// CHECK: arith.mulf {{.*}} : tensor<4x32xf32
// CHECK: arith.addf {{.*}} : tensor<4x32xf32
// CHECK: scf.yield
// CHECK: tw.reduce {{.*}} axis 1
// CHECK: return
func.func @scaled_sum(%x: tensor<4x128xf32, #tile>, %s: tensor<4xf32, #row>, %n: i32) -> tensor<4xf32, #row> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<4xf32, #row>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (tensor<4xf32, #row>) : i32 {
    %sum = tw.reduce %x axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<4x128xf32, #tile>) -> tensor<4xf32, #row>
    %scaled = arith.mulf %t, %s : tensor<4xf32, #row>
    %next = arith.addf %scaled, %sum : tensor<4xf32, #row>
    scf.yield %next : tensor<4xf32, #row>
  }
  return %r : tensor<4xf32, #row>
}

// An extremum starts with the same value in all threads.
// CHECK-LABEL: @maximum
// CHECK: tw.broadcast
// CHECK: scf.for {{.*}} -> (tensor<4x32xf32
// CHECK: arith.maxnumf {{.*}} : tensor<4x32xf32
// CHECK: scf.yield
// CHECK: tw.reduce {{.*}} axis 1
func.func @maximum(%x: tensor<4x128xf32, #tile>, %init: tensor<4xf32, #row>, %n: i32) -> tensor<4xf32, #row> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %init) -> (tensor<4xf32, #row>) : i32 {
    %max = tw.reduce %x axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<4x128xf32, #tile>) -> tensor<4xf32, #row>
    %next = arith.maxnumf %t, %max : tensor<4xf32, #row>
    scf.yield %next : tensor<4xf32, #row>
  }
  return %r : tensor<4xf32, #row>
}

// What the loop reads in every iteration must be whole.
// CHECK-LABEL: @read_in_the_loop
// CHECK: scf.for {{.*}} -> (tensor<4xf32
func.func @read_in_the_loop(%x: tensor<4x128xf32, #tile>, %p: tensor<4x!tw.ptr<f32>, #row>, %init: tensor<4xf32, #row>, %n: i32) -> tensor<4xf32, #row> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %init) -> (tensor<4xf32, #row>) : i32 {
    %sum = tw.reduce %x axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<4x128xf32, #tile>) -> tensor<4xf32, #row>
    tw.store %p, %t : tensor<4x!tw.ptr<f32>, #row>, tensor<4xf32, #row>
    %next = arith.addf %t, %sum : tensor<4xf32, #row>
    scf.yield %next : tensor<4xf32, #row>
  }
  return %r : tensor<4xf32, #row>
}
