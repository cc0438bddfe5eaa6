// Elements of one address in groups are loaded once, through the variables of loops too.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/rows.mlir --tw-compact-loads --tw-remarks 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: tilewright-opt %t/rows.mlir --tw-compact-loads --tw-hoist-invariants --cse | FileCheck %s --check-prefix=GONE
// RUN: tilewright-opt %t/refused.mlir --tw-compact-loads | FileCheck %s --check-prefix=REFUSED

//--- rows.mlir
// ROWS: remark: compact-load: applied, dimension=0, repeats=8 (elements of one address are loaded once)
// The division by 8 goes away: the first elements of the groups are 0, 8, 16 ...
// ROWS: [[INDEX:%.*]] = tw.range 0 to 4 : tensor<4xi32>
// ROWS: tw.expand_dims [[INDEX]], 1 : tensor<4xi32> -> tensor<4x1xi32>
// ROWS: scf.for
// ROWS: [[WORDS:%.*]] = tw.load %{{.*}} : tensor<4x32x!tw.ptr<i32>> -> tensor<4x32xi32>
// ROWS: [[EXPANDED:%.*]] = tw.expand_dims [[WORDS]], 1
// ROWS: [[REPEATED:%.*]] = tw.broadcast [[EXPANDED]] {tw.repeats} : tensor<4x1x32xi32> -> tensor<4x8x32xi32>
// ROWS: tw.reshape [[REPEATED]] : tensor<4x8x32xi32> -> tensor<32x32xi32>
// ROWS: tw.loop_stages = 4
// The larger tile is no variable any more.
// GONE: scf.for
// GONE-SAME: -> (tensor<32x32xf32>, tensor<4x32x!tw.ptr<i32>>)
func.func @rows(%p: !tw.ptr<i32>, %x: tensor<32x32xf16>, %stride: i32, %n: i32) -> tensor<32x32xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %eight = arith.constant dense<8> : tensor<32xi32>
  %step = arith.constant dense<128> : tensor<32x32xi32>
  %i = tw.range 0 to 32 : tensor<32xi32>
  %word = arith.divsi %i, %eight : tensor<32xi32>
  %rows = tw.expand_dims %word, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %strides = tw.splat %stride : i32 -> tensor<32x1xi32>
  %offsets = arith.muli %rows, %strides : tensor<32x1xi32>
  %bases = tw.splat %p : !tw.ptr<i32> -> tensor<32x1x!tw.ptr<i32>>
  %starts = tw.addptr %bases, %offsets : tensor<32x1x!tw.ptr<i32>>, tensor<32x1xi32>
  %columns = tw.expand_dims %i, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %wide = tw.broadcast %starts : tensor<32x1x!tw.ptr<i32>> -> tensor<32x32x!tw.ptr<i32>>
  %across = tw.broadcast %columns : tensor<1x32xi32> -> tensor<32x32xi32>
  %ptrs = tw.addptr %wide, %across : tensor<32x32x!tw.ptr<i32>>, tensor<32x32xi32>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %q = %ptrs) -> (tensor<32x32xf32>, tensor<32x32x!tw.ptr<i32>>) : i32 {
    %w = tw.load %q : tensor<32x32x!tw.ptr<i32>> -> tensor<32x32xi32>
    %b = arith.sitofp %w : tensor<32x32xi32> to tensor<32x32xf16>
    %d = tw.dot %x, %b, %acc : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32>
    %next = tw.addptr %q, %step : tensor<32x32x!tw.ptr<i32>>, tensor<32x32xi32>
    scf.yield %d, %next : tensor<32x32xf32>, tensor<32x32x!tw.ptr<i32>>
  } {tw.loop_stages = 4 : i32}
  return %r#0 : tensor<32x32xf32>
}

//--- refused.mlir
// A volatile load is made for each element, and a mask may end within a group.
// REFUSED-NOT: tw.repeats
// REFUSED-COUNT-2: tw.load {{.*}} -> tensor<32x32xi32>
func.func @refused(%p: !tw.ptr<i32>, %x: tensor<32x32xf16>, %end: i32, %n: i32) -> tensor<32x32xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %eight = arith.constant dense<8> : tensor<32xi32>
  %i = tw.range 0 to 32 : tensor<32xi32>
  %word = arith.divsi %i, %eight : tensor<32xi32>
  %rows = tw.expand_dims %word, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %all = tw.broadcast %rows : tensor<32x1xi32> -> tensor<32x32xi32>
  %bases = tw.splat %p : !tw.ptr<i32> -> tensor<32x32x!tw.ptr<i32>>
  %ptrs = tw.addptr %bases, %all : tensor<32x32x!tw.ptr<i32>>, tensor<32x32xi32>
  %ends = tw.splat %end : i32 -> tensor<32xi32>
  %inside = arith.cmpi slt, %i, %ends : tensor<32xi32>
  %lane = tw.expand_dims %inside, 1 : tensor<32xi1> -> tensor<32x1xi1>
  %mask = tw.broadcast %lane : tensor<32x1xi1> -> tensor<32x32xi1>
  %across = tw.expand_dims %i, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %columns = tw.broadcast %across : tensor<1x32xi32> -> tensor<32x32xi32>
  %q = tw.addptr %ptrs, %columns : tensor<32x32x!tw.ptr<i32>>, tensor<32x32xi32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<32x32xf32>) : i32 {
    %v = tw.load %q {isVolatile} : tensor<32x32x!tw.ptr<i32>> -> tensor<32x32xi32>
    %w = tw.load %q mask %mask : tensor<32x32xi1> : tensor<32x32x!tw.ptr<i32>> -> tensor<32x32xi32>
    %s = arith.addi %v, %w : tensor<32x32xi32>
    %b = arith.sitofp %s : tensor<32x32xi32> to tensor<32x32xf16>
    %d = tw.dot %x, %b, %acc : tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32>
    scf.yield %d : tensor<32x32xf32>
  }
  return %r : tensor<32x32xf32>
}
