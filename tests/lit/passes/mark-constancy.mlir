// Which element bits of integer tiles do not matter.
// RUN: tilewright-opt %s --tw-mark-constancy | FileCheck %s

// Offsets against a bound divisible by 16: sixteen neighbours agree, bits 0 to 3.
// CHECK-LABEL: @divisible_bound
func.func @divisible_bound(%n: i32 {tw.divisibility = 16 : i64}) -> tensor<64xi1> {
  %0 = tw.range 0 to 64 : tensor<64xi32>
  %1 = tw.splat %n : i32 -> tensor<64xi32>
  // CHECK: arith.cmpi slt, {{.*}} {tw.constant_bits = 15 : i32}
  %2 = arith.cmpi slt, %0, %1 : tensor<64xi32>
  return %2 : tensor<64xi1>
}

// Any bound may fall between two neighbours.
// CHECK-LABEL: @any_bound
func.func @any_bound(%n: i32) -> tensor<64xi1> {
  %0 = tw.range 0 to 64 : tensor<64xi32>
  %1 = tw.splat %n : i32 -> tensor<64xi32>
  // CHECK-NOT: tw.constant_bits
  %2 = arith.cmpi slt, %0, %1 : tensor<64xi32>
  return %2 : tensor<64xi1>
}

// Rows against a bound: all columns agree, bits 0 to 2 of an 8x8 tile.
// CHECK-LABEL: @rows
func.func @rows(%n: i32) -> tensor<8x8xi1> {
  %0 = tw.range 0 to 8 : tensor<8xi32>
  %1 = tw.expand_dims %0, 1 : tensor<8xi32> -> tensor<8x1xi32>
  %2 = tw.broadcast %1 : tensor<8x1xi32> -> tensor<8x8xi32>
  %3 = tw.splat %n : i32 -> tensor<8x8xi32>
  // CHECK: arith.cmpi slt, {{.*}} {tw.constant_bits = 7 : i32}
  %4 = arith.cmpi slt, %2, %3 : tensor<8x8xi32>
  return %4 : tensor<8x8xi1>
}

// Columns of rows whose length 16 divides: 0 to 15 beyond the first of sixteen neighbours.
// CHECK-LABEL: @columns
func.func @columns(%n: i32 {tw.divisibility = 16 : i64}) -> (tensor<64xi32>, tensor<64xi32>) {
  %0 = tw.range 0 to 64 : tensor<64xi32>
  %1 = tw.splat %n : i32 -> tensor<64xi32>
  // CHECK: arith.remsi {{.*}} {tw.counting_bits = 15 : i32}
  %2 = arith.remsi %0, %1 : tensor<64xi32>
  // CHECK: arith.divsi {{.*}} {tw.constant_bits = 15 : i32}
  %3 = arith.divsi %0, %1 : tensor<64xi32>
  return %2, %3 : tensor<64xi32>, tensor<64xi32>
}

// Along the other dimension of a 16x4 tile: bits 2 to 5.
// CHECK-LABEL: @down
func.func @down(%n: i32 {tw.divisibility = 16 : i64}) -> tensor<16x4xi32> {
  %0 = tw.range 0 to 16 : tensor<16xi32>
  %1 = tw.expand_dims %0, 1 : tensor<16xi32> -> tensor<16x1xi32>
  %2 = tw.broadcast %1 : tensor<16x1xi32> -> tensor<16x4xi32>
  %3 = tw.splat %n : i32 -> tensor<16x4xi32>
  // CHECK: arith.remui {{.*}} {tw.constant_bits = 3 : i32, tw.counting_bits = 60 : i32}
  %4 = arith.remui %2, %3 : tensor<16x4xi32>
  return %4 : tensor<16x4xi32>
}

// Below zero remainders count down to a multiple and begin again: nothing is known.
// CHECK-LABEL: @below_zero
func.func @below_zero(%n: i32 {tw.divisibility = 16 : i64}, %start: i32) -> tensor<64xi32> {
  %0 = tw.range 0 to 64 : tensor<64xi32>
  %1 = tw.splat %start : i32 -> tensor<64xi32>
  %2 = arith.addi %0, %1 : tensor<64xi32>
  %3 = tw.splat %n : i32 -> tensor<64xi32>
  // CHECK-NOT: tw.counting_bits
  %4 = arith.remsi %2, %3 : tensor<64xi32>
  return %4 : tensor<64xi32>
}
