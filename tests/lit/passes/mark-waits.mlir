// A loop that waits for another program reads memory anew in each iteration.
// RUN: tilewright-opt %s --tw-mark-waits | FileCheck %s

// The condition reads one address again and again, computed in the loop.
// CHECK-LABEL: @spin
func.func @spin(%flags: !tw.ptr<i32>, %n: i32) {
  scf.while : () -> () {
    %one = arith.constant 1 : i32
    %p = tw.addptr %flags, %n : !tw.ptr<i32>, i32
    // CHECK: tw.load %{{.*}} {isVolatile}
    %v = tw.load %p : !tw.ptr<i32> -> i32
    %go = arith.cmpi ne, %v, %one : i32
    scf.condition(%go)
  } do {
    scf.yield
  }
  return
}

// A variable is read before the loop and in it: threads have to agree from the start.
// CHECK-LABEL: @carried
func.func @carried(%flags: !tw.ptr<i32>, %data: !tw.ptr<i32>) -> i32 {
  %zero = arith.constant 0 : i32
  // CHECK: tw.load %{{.*}} {isVolatile}
  %first = tw.load %flags : !tw.ptr<i32> -> i32
  %r = scf.while (%v = %first) : (i32) -> i32 {
    %go = arith.cmpi eq, %v, %zero : i32
    scf.condition(%go) %v : i32
  } do {
  ^bb0(%old: i32):
    // CHECK: tw.load %{{.*}} {isVolatile}
    %next = tw.load %flags : !tw.ptr<i32> -> i32
    scf.yield %next : i32
  }
  // What is read behind the loop is plain.
  // CHECK: tw.load %{{[a-z0-9]*}} : !tw.ptr<i32>
  %after = tw.load %data : !tw.ptr<i32> -> i32
  %sum = arith.addi %r, %after : i32
  return %sum : i32
}

// All flags are there; the value passes a reduction and a branch.
// CHECK-LABEL: @branch
func.func @branch(%flags: tensor<8x!tw.ptr<i32>>, %n: i32) {
  %false = arith.constant false
  %true = arith.constant true
  %done = scf.while (%is = %false) : (i1) -> i1 {
    %go = arith.xori %is, %true : i1
    scf.condition(%go) %is : i1
  } do {
  ^bb0(%old: i1):
    // CHECK: tw.load %{{.*}} {isVolatile}
    %v = tw.load %flags : tensor<8x!tw.ptr<i32>> -> tensor<8xi32>
    %sum = tw.reduce %v axis 0 {
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      tw.yield %c : i32
    } : (tensor<8xi32>) -> i32
    %all = arith.cmpi eq, %sum, %n : i32
    %next = scf.if %all -> i1 {
      scf.yield %true : i1
    } else {
      scf.yield %old : i1
    }
    scf.yield %next : i1
  }
  return
}

// A search reads another address each time, and a sum does not decide: nothing waits.
// CHECK-LABEL: @search
// CHECK-NOT: isVolatile
func.func @search(%x: !tw.ptr<i32>, %scale: !tw.ptr<i32>, %key: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.while (%i = %zero, %sum = %zero) : (i32, i32) -> (i32, i32) {
    %p = tw.addptr %x, %i : !tw.ptr<i32>, i32
    %v = tw.load %p : !tw.ptr<i32> -> i32
    %go = arith.cmpi slt, %v, %key : i32
    scf.condition(%go) %i, %sum : i32, i32
  } do {
  ^bb0(%i: i32, %sum: i32):
    %s = tw.load %scale : !tw.ptr<i32> -> i32
    %next = arith.addi %i, %one : i32
    %more = arith.addi %sum, %s : i32
    scf.yield %next, %more : i32, i32
  }
  return %r#1 : i32
}

// A load says by how much the loop counts: it ends by itself.
// CHECK-LABEL: @steps
// CHECK-NOT: isVolatile
func.func @steps(%sizes: !tw.ptr<i32>, %n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %r = scf.while (%i = %zero) : (i32) -> i32 {
    %go = arith.cmpi slt, %i, %n : i32
    scf.condition(%go) %i : i32
  } do {
  ^bb0(%i: i32):
    %size = tw.load %sizes : !tw.ptr<i32> -> i32
    %left = arith.subi %n, %i : i32
    %step = arith.minsi %size, %left : i32
    %next = arith.addi %i, %step : i32
    scf.yield %next : i32
  }
  return %r : i32
}

// It counts how often it waits.
// CHECK-LABEL: @patience
func.func @patience(%flags: !tw.ptr<i32>, %n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.while (%i = %zero, %v = %zero) : (i32, i32) -> (i32, i32) {
    %some = arith.cmpi slt, %i, %n : i32
    %not = arith.cmpi ne, %v, %one : i32
    %go = arith.andi %some, %not : i1
    scf.condition(%go) %i, %v : i32, i32
  } do {
  ^bb0(%i: i32, %old: i32):
    // CHECK: tw.load %{{.*}} {isVolatile}
    %v = tw.load %flags : !tw.ptr<i32> -> i32
    %next = arith.addi %i, %one : i32
    scf.yield %next, %v : i32, i32
  }
  return %r#0 : i32
}
