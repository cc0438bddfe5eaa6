// The axis analysis on one op each; soundness is the fuzzer's (AxisInfoTest.cpp).
// RUN: tilewright-opt %s --tw-print-axis-info -o /dev/null 2>&1 | FileCheck %s

func.func @arguments(%p: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %n: i32 {tw.divisibility = 8 : i64}) {
  // A splat is constant over the whole tile.
  // CHECK: remark: contiguity = [1], divisibility = [16], constancy = [64]
  %0 = tw.splat %p : !tw.ptr<f32> -> tensor<64x!tw.ptr<f32>>
  // CHECK: remark: contiguity = [64], divisibility = [64], constancy = [1]
  %1 = tw.range 64 to 128 : tensor<64xi32>
  // Pointers count divisibility in bytes: 64 elements are 256, the base has 16.
  // CHECK: remark: contiguity = [64], divisibility = [16], constancy = [1]
  %2 = tw.addptr %0, %1 : tensor<64x!tw.ptr<f32>>, tensor<64xi32>
  // CHECK: remark: contiguity = [1], divisibility = [8], constancy = [64]
  %3 = tw.splat %n : i32 -> tensor<64xi32>
  // The bound is a multiple of 8, so groups of 8 are on one side of it.
  // CHECK: remark: contiguity = [1], divisibility = [1], constancy = [8]
  %4 = arith.cmpi slt, %1, %3 : tensor<64xi32>
  // Not so for <=: the bound itself would be split off.
  // CHECK: remark: contiguity = [1], divisibility = [1], constancy = [1]
  %5 = arith.cmpi sle, %1, %3 : tensor<64xi32>
  return
}

func.func @two_dimensions(%stride: i32 {tw.divisibility = 16 : i64}) {
  // CHECK: remark: contiguity = [8]
  %r = tw.range 0 to 8 : tensor<8xi32>
  // CHECK: remark: contiguity = [8, 1], divisibility = [4611686018427387904, 1], constancy = [1, 1]
  %rows = tw.expand_dims %r, 1 : tensor<8xi32> -> tensor<8x1xi32>
  // CHECK: remark: contiguity = [1, 1], divisibility = [16, 16], constancy = [8, 1]
  %s = tw.splat %stride : i32 -> tensor<8x1xi32>
  // CHECK: remark: contiguity = [1, 1], divisibility = [16, 16], constancy = [1, 1]
  %o = arith.muli %rows, %s : tensor<8x1xi32>
  // CHECK: remark: contiguity = [1, 1], divisibility = [16, 16], constancy = [1, 4]
  %b = tw.broadcast %o : tensor<8x1xi32> -> tensor<8x4xi32>
  // CHECK: remark: contiguity = [1, 1], divisibility = [16, 16], constancy = [4, 1]
  %p = tw.permute %b [1, 0] : tensor<8x4xi32> -> tensor<4x8xi32>
  return
}

// An offset of unknown alignment, widened to 64 bits, may wrap inside a run, so
// nothing is claimed of the run; of an aligned one it is.
func.func @widening(%start: i32, %aligned: i32 {tw.divisibility = 4 : i64}) {
  // CHECK: remark: contiguity = [16]
  %r = tw.range 0 to 16 : tensor<16xi32>
  // CHECK: remark: contiguity = [1]
  %s = tw.splat %start : i32 -> tensor<16xi32>
  // CHECK: remark: contiguity = [1]
  %a = tw.splat %aligned : i32 -> tensor<16xi32>
  // CHECK: remark: contiguity = [16], divisibility = [1]
  %0 = arith.addi %s, %r : tensor<16xi32>
  // CHECK: remark: contiguity = [1], divisibility = [1]
  %1 = arith.extsi %0 : tensor<16xi32> to tensor<16xi64>
  // CHECK: remark: contiguity = [16], divisibility = [4]
  %2 = arith.addi %a, %r : tensor<16xi32>
  // CHECK: remark: contiguity = [4], divisibility = [4]
  %3 = arith.extsi %2 : tensor<16xi32> to tensor<16xi64>
  return
}

// A loop variable keeps what the first value and each step have in common.
func.func @loop(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c32 = arith.constant 32 : i32
  // CHECK: remark: contiguity = [1], divisibility = [8], constancy = [1]
  // CHECK: remark: contiguity = [1], divisibility = [32], constancy = [1]
  // CHECK: remark: contiguity = [1], divisibility = [8], constancy = [1]
  %0 = scf.for %i = %c0 to %n step %c32 iter_args(%a = %c32) -> (i32) : i32 {
    // CHECK: remark: contiguity = [1], divisibility = [8], constancy = [1]
    %1 = arith.addi %a, %c8 : i32
    scf.yield %1 : i32
  }
  return
}

// What one address holds is one value; not where another program may write it between two reads.
func.func @loaded(%p: !tw.ptr<i32>) {
  // CHECK: remark: contiguity = [32]
  %r = tw.range 0 to 32 : tensor<32xi32>
  // CHECK: remark: {{.*}} constancy = [32], constant = 16
  %c16 = arith.constant dense<16> : tensor<32xi32>
  // CHECK: remark: {{.*}} constancy = [16]
  %g = arith.divsi %r, %c16 : tensor<32xi32>
  // CHECK: remark: {{.*}} constancy = [32]
  %s = tw.splat %p : !tw.ptr<i32> -> tensor<32x!tw.ptr<i32>>
  // CHECK: remark: {{.*}} constancy = [16]
  %a = tw.addptr %s, %g : tensor<32x!tw.ptr<i32>>, tensor<32xi32>
  // CHECK: remark: {{.*}} constancy = [16]
  %v = tw.load %a : tensor<32x!tw.ptr<i32>> -> tensor<32xi32>
  // CHECK: remark: {{.*}} constancy = [1]
  %w = tw.load %a {isVolatile} : tensor<32x!tw.ptr<i32>> -> tensor<32xi32>
  // A mask that is constant in smaller groups.
  // CHECK: remark: {{.*}} constancy = [32], constant = 4
  %c4 = arith.constant dense<4> : tensor<32xi32>
  // CHECK: remark: {{.*}} constancy = [4]
  %m = arith.cmpi slt, %r, %c4 : tensor<32xi32>
  // CHECK: remark: {{.*}} constancy = [4]
  %u = tw.load %a mask %m : tensor<32xi1> : tensor<32x!tw.ptr<i32>> -> tensor<32xi32>
  // Elements of a page follow one another, though a load says which page it is.
  // CHECK: remark: {{.*}} constancy = [16]
  %o = arith.muli %v, %c16 : tensor<32xi32>
  // CHECK: remark: contiguity = [16]
  %i = arith.remsi %r, %c16 : tensor<32xi32>
  // CHECK: remark: contiguity = [16], divisibility = [16]
  %e = arith.addi %o, %i : tensor<32xi32>
  return
}
