// A row that is repeated beside a load follows it; loads in loops of products keep as many accesses.
// RUN: tilewright-opt %s --split-input-file --tw-remove-conversions --tw-verify-layouts | FileCheck %s

#halves = #tw.layout<register = [1, 2, 4, 256], lane = [8, 16, 32, 64, 128], warp = [], block = []>
#numbers = #tw.layout<register = [1, 2, 128, 256], lane = [4, 8, 16, 32, 64], warp = [], block = []>
#row = #tw.layout<register = [1, 2], lane = [4, 8, 16, 0, 0], warp = [], block = []>
#rows = #tw.layout<register = [4, 8], lane = [0, 0, 0, 1, 2], warp = [], block = []>

// Only the row is converted.
// CHECK-LABEL: @beside_a_row
// CHECK-NOT: tw.convert_layout {{.*}} : tensor<16x32xf32
// CHECK: %[[X:.*]] = tw.load {{.*}} -> tensor<16x32xf32, #[[H:.*]]>
// CHECK: tw.convert_layout {{.*}} : tensor<32xf32
// CHECK-NOT: tw.convert_layout {{.*}} : tensor<16x32xf32
// CHECK: %[[S:.*]] = arith.subf %[[X]]
// CHECK: %[[T:.*]] = arith.subf %{{.*}}, %[[X]]
// CHECK: return %[[S]], %[[T]] : tensor<16x32xf32, #[[H]]>
module attributes {tw.num_warps = 1 : i32} {
  func.func @beside_a_row(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %row: tensor<32xf32, #row>) -> (tensor<16x32xf32, #halves>, tensor<16x32xf32, #halves>) {
    %m = tw.range 0 to 16 : tensor<16xi32, #rows>
    %n = tw.range 0 to 32 : tensor<32xi32, #row>
    %width = arith.constant dense<32> : tensor<16xi32, #rows>
    %mw = arith.muli %m, %width : tensor<16xi32, #rows>
    %m1 = tw.expand_dims %mw, 1 : tensor<16xi32, #rows> -> tensor<16x1xi32, #rows>
    %n1 = tw.expand_dims %n, 0 : tensor<32xi32, #row> -> tensor<1x32xi32, #row>
    %m2 = tw.broadcast %m1 : tensor<16x1xi32, #rows> -> tensor<16x32xi32, #numbers>
    %n2 = tw.broadcast %n1 : tensor<1x32xi32, #row> -> tensor<16x32xi32, #numbers>
    %i = arith.addi %m2, %n2 : tensor<16x32xi32, #numbers>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<16x32x!tw.ptr<f32>, #numbers>
    %p = tw.addptr %xs, %i : tensor<16x32x!tw.ptr<f32>, #numbers>, tensor<16x32xi32, #numbers>
    %v = tw.load %p : tensor<16x32x!tw.ptr<f32>, #numbers> -> tensor<16x32xf32, #numbers>
    %e = tw.expand_dims %row, 0 : tensor<32xf32, #row> -> tensor<1x32xf32, #row>
    %r = tw.broadcast %e : tensor<1x32xf32, #row> -> tensor<16x32xf32, #numbers>
    %s = arith.subf %v, %r : tensor<16x32xf32, #numbers>
    %t = arith.subf %r, %v : tensor<16x32xf32, #numbers>
    %0 = tw.convert_layout %s : tensor<16x32xf32, #numbers> -> tensor<16x32xf32, #halves>
    %1 = tw.convert_layout %t : tensor<16x32xf32, #numbers> -> tensor<16x32xf32, #halves>
    return %0, %1 : tensor<16x32xf32, #halves>, tensor<16x32xf32, #halves>
  }
}

// -----

#halves = #tw.layout<register = [1, 2, 4, 256], lane = [8, 16, 32, 64, 128], warp = [], block = []>
#numbers = #tw.layout<register = [1, 2, 128, 256], lane = [4, 8, 16, 32, 64], warp = [], block = []>
#row = #tw.layout<register = [1, 2], lane = [4, 8, 16, 0, 0], warp = [], block = []>
#rows = #tw.layout<register = [4, 8], lane = [0, 0, 0, 1, 2], warp = [], block = []>
#column = #tw.layout<register = [32, 64, 128, 256], lane = [1, 2, 4, 8, 16], warp = [], block = []>
#left = #tw.layout<register = [256, 4, 8, 16], lane = [1, 2, 32, 64, 128], warp = [], block = []>
#right = #tw.layout<register = [64, 8, 128, 256], lane = [16, 32, 1, 2, 4], warp = [], block = []>
#acc = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>

// CHECK-LABEL: @as_many_accesses
// CHECK: %[[X:.*]] = tw.load
// CHECK-NEXT: arith.addf %{{.*}}, %[[X]]
// CHECK-LABEL: @more_accesses
// CHECK: %[[X:.*]] = tw.load
// CHECK: tw.convert_layout %[[X]]
module attributes {tw.num_warps = 1 : i32} {
  func.func @as_many_accesses(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %a: tensor<16x32xf32, #left>, %b: tensor<32x16xf32, #right>, %rounds: i32) -> (tensor<16x16xf32, #acc>, tensor<16x32xf32, #halves>) {
    %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
    %none = arith.constant dense<0.0> : tensor<16x32xf32, #halves>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = tw.range 0 to 16 : tensor<16xi32, #rows>
    %n = tw.range 0 to 32 : tensor<32xi32, #row>
    %width = arith.constant dense<32> : tensor<16xi32, #rows>
    %mw = arith.muli %m, %width : tensor<16xi32, #rows>
    %m1 = tw.expand_dims %mw, 1 : tensor<16xi32, #rows> -> tensor<16x1xi32, #rows>
    %n1 = tw.expand_dims %n, 0 : tensor<32xi32, #row> -> tensor<1x32xi32, #row>
    %m2 = tw.broadcast %m1 : tensor<16x1xi32, #rows> -> tensor<16x32xi32, #numbers>
    %n2 = tw.broadcast %n1 : tensor<1x32xi32, #row> -> tensor<16x32xi32, #numbers>
    %i = arith.addi %m2, %n2 : tensor<16x32xi32, #numbers>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<16x32x!tw.ptr<f32>, #numbers>
    %p = tw.addptr %xs, %i : tensor<16x32x!tw.ptr<f32>, #numbers>, tensor<16x32xi32, #numbers>
    %0:2 = scf.for %k = %c0 to %rounds step %c1 iter_args(%d = %zero, %s = %none) -> (tensor<16x16xf32, #acc>, tensor<16x32xf32, #halves>) : i32 {
      %v = tw.load %p : tensor<16x32x!tw.ptr<f32>, #numbers> -> tensor<16x32xf32, #numbers>
      %c = tw.convert_layout %v : tensor<16x32xf32, #numbers> -> tensor<16x32xf32, #halves>
      %t = arith.addf %s, %c : tensor<16x32xf32, #halves>
      %q = tw.dot %a, %b, %d {unit = #tw.unit<mma>, warps = array<i32: 0, 0>} : tensor<16x32xf32, #left>, tensor<32x16xf32, #right>, tensor<16x16xf32, #acc>
      scf.yield %q, %t : tensor<16x16xf32, #acc>, tensor<16x32xf32, #halves>
    }
    return %0#0, %0#1 : tensor<16x16xf32, #acc>, tensor<16x32xf32, #halves>
  }
  func.func @more_accesses(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %a: tensor<16x32xf32, #left>, %b: tensor<32x16xf32, #right>, %rounds: i32) -> (tensor<16x16xf32, #acc>, tensor<16x32xf32, #column>) {
    %zero = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
    %none = arith.constant dense<0.0> : tensor<16x32xf32, #column>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %m = tw.range 0 to 16 : tensor<16xi32, #rows>
    %n = tw.range 0 to 32 : tensor<32xi32, #row>
    %width = arith.constant dense<32> : tensor<16xi32, #rows>
    %mw = arith.muli %m, %width : tensor<16xi32, #rows>
    %m1 = tw.expand_dims %mw, 1 : tensor<16xi32, #rows> -> tensor<16x1xi32, #rows>
    %n1 = tw.expand_dims %n, 0 : tensor<32xi32, #row> -> tensor<1x32xi32, #row>
    %m2 = tw.broadcast %m1 : tensor<16x1xi32, #rows> -> tensor<16x32xi32, #numbers>
    %n2 = tw.broadcast %n1 : tensor<1x32xi32, #row> -> tensor<16x32xi32, #numbers>
    %i = arith.addi %m2, %n2 : tensor<16x32xi32, #numbers>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<16x32x!tw.ptr<f32>, #numbers>
    %p = tw.addptr %xs, %i : tensor<16x32x!tw.ptr<f32>, #numbers>, tensor<16x32xi32, #numbers>
    %0:2 = scf.for %k = %c0 to %rounds step %c1 iter_args(%d = %zero, %s = %none) -> (tensor<16x16xf32, #acc>, tensor<16x32xf32, #column>) : i32 {
      %v = tw.load %p : tensor<16x32x!tw.ptr<f32>, #numbers> -> tensor<16x32xf32, #numbers>
      %c = tw.convert_layout %v : tensor<16x32xf32, #numbers> -> tensor<16x32xf32, #column>
      %t = arith.addf %s, %c : tensor<16x32xf32, #column>
      %q = tw.dot %a, %b, %d {unit = #tw.unit<mma>, warps = array<i32: 0, 0>} : tensor<16x32xf32, #left>, tensor<32x16xf32, #right>, tensor<16x16xf32, #acc>
      scf.yield %q, %t : tensor<16x16xf32, #acc>, tensor<16x32xf32, #column>
    }
    return %0#0, %0#1 : tensor<16x16xf32, #acc>, tensor<16x32xf32, #column>
  }
}
