// Shape ops rename registers: the LLVM dialect has no op for them.
// RUN: tilewright-opt %s --tw-lower-to-llvm -split-input-file -verify-diagnostics | FileCheck %s

// The column index of a broadcast row is used for both rows that a thread holds.
// CHECK-LABEL: llvm.func @broadcast
// CHECK-NOT: tensor
// CHECK-COUNT-2: llvm.store
// CHECK: llvm.return
#m = #tw.layout<register = [32], lane = [1, 2, 4, 8, 16], warp = [], block = []>
#c = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @broadcast(%x: !tw.ptr<i32>) {
  %r = tw.range 0 to 32 : tensor<32xi32, #c>
  %e = tw.expand_dims %r, 0 : tensor<32xi32, #c> -> tensor<1x32xi32, #c>
  %b = tw.broadcast %e : tensor<1x32xi32, #c> -> tensor<2x32xi32, #m>
  %xs = tw.splat %x : !tw.ptr<i32> -> tensor<2x32x!tw.ptr<i32>, #m>
  tw.store %xs, %b : tensor<2x32x!tw.ptr<i32>, #m>, tensor<2x32xi32, #m>
  func.return
}
}

// -----

// Join puts registers side by side and split takes them apart again.
// CHECK-LABEL: llvm.func @join
// CHECK: %[[X:.*]] = llvm.load
// CHECK: %[[Y:.*]] = llvm.load
// CHECK: llvm.store %[[Y]]
// CHECK: llvm.store %[[X]]
#h = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
#j = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @join(%x: !tw.ptr<i32>, %y: !tw.ptr<i32>) {
  %r = tw.range 0 to 32 : tensor<32xi32, #h>
  %xs = tw.splat %x : !tw.ptr<i32> -> tensor<32x!tw.ptr<i32>, #h>
  %ys = tw.splat %y : !tw.ptr<i32> -> tensor<32x!tw.ptr<i32>, #h>
  %a = tw.load %xs : tensor<32x!tw.ptr<i32>, #h> -> tensor<32xi32, #h>
  %b = tw.load %ys : tensor<32x!tw.ptr<i32>, #h> -> tensor<32xi32, #h>
  %both = tw.join %a, %b : tensor<32xi32, #h> -> tensor<32x2xi32, #j>
  %l, %k = tw.split %both : tensor<32x2xi32, #j> -> tensor<32xi32, #h>, tensor<32xi32, #h>
  tw.store %xs, %k : tensor<32x!tw.ptr<i32>, #h>, tensor<32xi32, #h>
  tw.store %ys, %l : tensor<32x!tw.ptr<i32>, #h>, tensor<32xi32, #h>
  func.return
}
}

// -----

// A transposition is free when the layout is transposed with it.
// CHECK-LABEL: llvm.func @permute
// CHECK-NOT: shfl
// CHECK: llvm.return
#p = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#t = #tw.layout<register = [16], lane = [32, 1, 2, 4, 8], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @permute(%x: !tw.ptr<i32>) {
  %r = tw.range 0 to 64 : tensor<64xi32, #p>
  %m = tw.reshape %r : tensor<64xi32, #p> -> tensor<16x4xi32, #p>
  %q = tw.permute %m [1, 0] : tensor<16x4xi32, #p> -> tensor<4x16xi32, #t>
  %xs = tw.splat %x : !tw.ptr<i32> -> tensor<4x16x!tw.ptr<i32>, #t>
  tw.store %xs, %q : tensor<4x16x!tw.ptr<i32>, #t>, tensor<4x16xi32, #t>
  func.return
}
}

// -----

// Layouts that would have to move data are refused, not silently mixed up.
#p = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#q = #tw.layout<register = [32], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @refused(%x: !tw.ptr<i32>) {
  %r = tw.range 0 to 64 : tensor<64xi32, #p>
  // expected-error @below {{operand and result layouts do not agree}}
  %m = tw.reshape %r : tensor<64xi32, #p> -> tensor<16x4xi32, #q>
  func.return
}
}
