// What follows a promise about a value reads the promise.
// RUN: tilewright-opt %s --tw-extend-hints | FileCheck %s

// CHECK-LABEL: @statement
// CHECK-SAME: (%[[X:.*]]: i32,
func.func @statement(%x: i32, %n: i32) -> (i32, i32) {
  // Before it nothing is known.
  // CHECK: %[[BEFORE:.*]] = arith.addi %[[X]], %[[X]]
  %0 = arith.addi %x, %x : i32
  // CHECK: %[[FIRST:.*]] = tw.hint %[[X]] divisibility [16]
  %1 = tw.hint %x divisibility [16] : i32
  // A second promise is about the same value.
  // CHECK: %[[SECOND:.*]] = tw.hint %[[FIRST]] constancy [4]
  %2 = tw.hint %x constancy [4] : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // CHECK: scf.for
  %3 = scf.for %i = %zero to %n step %one iter_args(%sum = %zero) -> (i32) : i32 {
    // CHECK: arith.addi %{{.*}}, %[[SECOND]]
    %4 = arith.addi %sum, %x : i32
    scf.yield %4 : i32
  }
  return %0, %3 : i32, i32
}

// In a loop it holds until the iteration ends: the next one brings another value.
// CHECK-LABEL: @in_a_loop
func.func @in_a_loop(%n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // CHECK: scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %{{.*}})
  %0 = scf.for %i = %zero to %n step %one iter_args(%x = %zero) -> (i32) : i32 {
    // CHECK: %[[HINT:.*]] = tw.hint %[[CARRIED]] divisibility [8]
    %1 = tw.hint %x divisibility [8] : i32
    // CHECK: arith.addi %[[HINT]]
    %2 = arith.addi %x, %one : i32
    scf.yield %2 : i32
  }
  return %0 : i32
}
