// Structured control flow becomes blocks with one argument per register.
// RUN: tilewright-opt %s --tw-lower-to-llvm -split-input-file | FileCheck %s

// CHECK-LABEL: llvm.func @loop
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 32, 1, 1>
// CHECK: llvm.br ^[[HEADER:.*]](%{{.*}}, %{{.*}}, %{{.*}} : i32, f32, f32)
// CHECK: ^[[HEADER]](%[[I:.*]]: i32, %[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK: llvm.icmp "slt" %[[I]]
// CHECK: llvm.fadd %[[A]]
// CHECK: llvm.fadd %[[B]]
// CHECK: llvm.br ^[[HEADER]]
#b = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @loop(%x: !tw.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %init = arith.constant dense<0.0> : tensor<64xf32, #b>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<64x!tw.ptr<f32>, #b>
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %init) -> tensor<64xf32, #b> : i32 {
    %v = tw.load %xs : tensor<64x!tw.ptr<f32>, #b> -> tensor<64xf32, #b>
    %next = arith.addf %acc, %v : tensor<64xf32, #b>
    scf.yield %next : tensor<64xf32, #b>
  }
  tw.store %xs, %sum : tensor<64x!tw.ptr<f32>, #b>, tensor<64xf32, #b>
  func.return
}
}

// -----

// CHECK-LABEL: llvm.func @branch
// CHECK: llvm.cond_br %{{.*}}, ^[[THEN:.*]], ^[[ELSE:.*]]
// CHECK: ^[[MERGE:.*]](%{{.*}}: i32):
// CHECK: ^[[THEN]]:
// CHECK: llvm.br ^[[MERGE]]
// CHECK: ^[[ELSE]]:
// CHECK: llvm.br ^[[MERGE]]
module attributes {tw.num_warps = 1 : i32} {
func.func @branch(%x: !tw.ptr<i32>, %n: i32, %c: i1) {
  %v = scf.if %c -> i32 {
    %a = arith.addi %n, %n : i32
    scf.yield %a : i32
  } else {
    scf.yield %n : i32
  }
  tw.store %x, %v : !tw.ptr<i32>, i32
  scf.if %c {
    tw.barrier
  }
  func.return
}
}

// -----

// CHECK-LABEL: llvm.func @while
// CHECK: ^[[HEADER:.*]](%{{.*}}: i32):
// CHECK: llvm.cond_br %{{.*}}, ^[[BODY:.*]](%{{.*}} : i32), ^[[EXIT:.*]](%{{.*}} : i32)
// CHECK: ^[[BODY]](%{{.*}}: i32):
// CHECK: llvm.br ^[[HEADER]]
module attributes {tw.num_warps = 1 : i32} {
func.func @while(%x: !tw.ptr<i32>, %n: i32) {
  %two = arith.constant 2 : i32
  %r = scf.while (%v = %n) : (i32) -> i32 {
    %c = arith.cmpi sgt, %v, %two : i32
    scf.condition(%c) %v : i32
  } do {
  ^bb0(%v: i32):
    %h = arith.divsi %v, %two : i32
    scf.yield %h : i32
  }
  tw.store %x, %r : !tw.ptr<i32>, i32
  func.return
}
}
