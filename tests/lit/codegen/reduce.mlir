// Reductions over the lanes of a warp.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/whole.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=WHOLE
// RUN: tilewright-opt %t/part.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=PART

//--- whole.mlir
// Integers of 32 bits by one instruction, others by butterflies.
// WHOLE-NOT: shfl
// WHOLE: redux.sync.add.s32 %r{{[0-9]+}}, %r{{[0-9]+}}, 0xffffffff;
// WHOLE-NOT: shfl
// WHOLE: redux.sync.max.u32 %r{{[0-9]+}}, %r{{[0-9]+}}, 0xffffffff;
// WHOLE-NOT: redux
// WHOLE-COUNT-5: shfl.sync.bfly
// WHOLE-NOT: {{shfl|redux}}
// WHOLE: ret
#row = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @whole(%y: !tw.ptr<i32>, %z: !tw.ptr<f32>, %n: i32) {
  %r = tw.range 0 to 64 : tensor<64xi32, #row>
  %ns = tw.splat %n : i32 -> tensor<64xi32, #row>
  %v = arith.muli %r, %ns : tensor<64xi32, #row>
  %sum = tw.reduce %v axis 0 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tw.yield %c : i32
  } : (tensor<64xi32, #row>) -> i32
  tw.store %y, %sum : !tw.ptr<i32>, i32
  %most = tw.reduce %v axis 0 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.maxui %a, %b : i32
    tw.yield %c : i32
  } : (tensor<64xi32, #row>) -> i32
  tw.store %y, %most : !tw.ptr<i32>, i32
  %f = arith.sitofp %v : tensor<64xi32, #row> to tensor<64xf32, #row>
  %product = tw.reduce %f axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    tw.yield %c : f32
  } : (tensor<64xf32, #row>) -> f32
  tw.store %z, %product : !tw.ptr<f32>, f32
  func.return
}
}

//--- part.mlir
// Rows of 16 lanes each have their own result, and a difference takes the lanes in order.
// PART-NOT: redux
// PART: ret
#rows = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @part(%y: !tw.ptr<i32>, %n: i32) {
  %r = tw.range 0 to 32 : tensor<32xi32, #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>>
  %v = tw.reshape %r : tensor<32xi32, #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>> -> tensor<2x16xi32, #rows>
  %sum = tw.reduce %v axis 1 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tw.yield %c : i32
  } : (tensor<2x16xi32, #rows>) -> tensor<2xi32, #tw.layout<register = [], lane = [0, 0, 0, 0, 1], warp = [], block = []>>
  %ys = tw.splat %y : !tw.ptr<i32> -> tensor<2x!tw.ptr<i32>, #tw.layout<register = [], lane = [0, 0, 0, 0, 1], warp = [], block = []>>
  tw.store %ys, %sum : tensor<2x!tw.ptr<i32>, #tw.layout<register = [], lane = [0, 0, 0, 0, 1], warp = [], block = []>>, tensor<2xi32, #tw.layout<register = [], lane = [0, 0, 0, 0, 1], warp = [], block = []>>
  %last = tw.reduce %r axis 0 {
  ^bb0(%a: i32, %b: i32):
    %c = arith.subi %b, %a : i32
    tw.yield %c : i32
  } : (tensor<32xi32, #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>>) -> i32
  tw.store %y, %last : !tw.ptr<i32>, i32
  func.return
}
}
