// RUN: tilewright-opt --tw-flatten-loops %s | FileCheck %s
// One loop over all steps of all tiles: what is before the inner loop runs at
// its first step, what is after it at its last. The inner loop runs here.

module {
  // CHECK-LABEL: @tiles
  // CHECK: scf.for
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: %[[LAST:.*]] = arith.cmpi eq
  // CHECK: scf.if %[[FIRST]] -> (i32)
  // CHECK: arith.muli
  // CHECK: arith.select %[[FIRST]]
  // CHECK: scf.if %[[LAST]] {
  // CHECK: tw.store
  // CHECK-NOT: scf.for
  func.func @tiles(%p: !tw.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    scf.for %tile = %c0 to %n step %c1 : i32 {
      %first = arith.muli %tile, %c8 : i32
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) : i32 {
        %index = arith.addi %first, %k : i32
        %at = tw.addptr %p, %index : !tw.ptr<f32>, i32
        %x = tw.load %at : !tw.ptr<f32> -> f32
        %next = arith.addf %s, %x : f32
        scf.yield %next : f32
      }
      %out = tw.addptr %p, %tile : !tw.ptr<f32>, i32
      tw.store %out, %sum : !tw.ptr<f32>, f32
    } {tw.loop_flatten}
    return
  }
}
