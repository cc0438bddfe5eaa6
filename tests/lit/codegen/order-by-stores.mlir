// What many stores need is computed store by store, where all of it at once would take more
// than half of a thread's registers.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/many.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=MANY
// RUN: tilewright-opt %t/few.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=FEW

// The sum is exchanged by shuffles; then each store has its products before it.
// MANY: shfl.sync
// MANY-COUNT-8: mul.{{(rn.)?}}f32
// MANY-NOT: mul.
// MANY: st.global.v4.b32
// MANY-COUNT-8: mul.{{(rn.)?}}f32
// MANY-NOT: mul.
// MANY: st.global.v4.b32

// 64 values stay in the order of the operations.
// FEW: shfl.sync
// FEW-COUNT-64: mul.{{(rn.)?}}f32
// FEW: st.global.v4.b32
// FEW-NOT: mul.
// FEW: ret

//--- many.mlir
#row = #tw.layout<register = [1, 2, 4, 256, 512, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @many(%x: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f16> {tw.divisibility = 16 : i64}) {
  %r = tw.range 0 to 8192 : tensor<8192xi32, #row>
  %xs = tw.splat %x : !tw.ptr<f16> -> tensor<8192x!tw.ptr<f16>, #row>
  %px = tw.addptr %xs, %r : tensor<8192x!tw.ptr<f16>, #row>, tensor<8192xi32, #row>
  %v = tw.load %px {tw.vector_elements = 8 : i32} : tensor<8192x!tw.ptr<f16>, #row> -> tensor<8192xf16, #row>
  %w = arith.extf %v : tensor<8192xf16, #row> to tensor<8192xf32, #row>
  %sum = tw.reduce %w axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tw.yield %c : f32
  } : (tensor<8192xf32, #row>) -> f32
  %sums = tw.splat %sum : f32 -> tensor<8192xf32, #row>
  %m = arith.mulf %w, %sums : tensor<8192xf32, #row>
  %h = arith.truncf %m : tensor<8192xf32, #row> to tensor<8192xf16, #row>
  %ys = tw.splat %y : !tw.ptr<f16> -> tensor<8192x!tw.ptr<f16>, #row>
  %py = tw.addptr %ys, %r : tensor<8192x!tw.ptr<f16>, #row>, tensor<8192xi32, #row>
  tw.store %py, %h {tw.vector_elements = 8 : i32} : tensor<8192x!tw.ptr<f16>, #row>, tensor<8192xf16, #row>
  func.return
}
}

//--- few.mlir
#row = #tw.layout<register = [1, 2, 4, 256, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @few(%x: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f16> {tw.divisibility = 16 : i64}) {
  %r = tw.range 0 to 2048 : tensor<2048xi32, #row>
  %xs = tw.splat %x : !tw.ptr<f16> -> tensor<2048x!tw.ptr<f16>, #row>
  %px = tw.addptr %xs, %r : tensor<2048x!tw.ptr<f16>, #row>, tensor<2048xi32, #row>
  %v = tw.load %px {tw.vector_elements = 8 : i32} : tensor<2048x!tw.ptr<f16>, #row> -> tensor<2048xf16, #row>
  %w = arith.extf %v : tensor<2048xf16, #row> to tensor<2048xf32, #row>
  %sum = tw.reduce %w axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tw.yield %c : f32
  } : (tensor<2048xf32, #row>) -> f32
  %sums = tw.splat %sum : f32 -> tensor<2048xf32, #row>
  %m = arith.mulf %w, %sums : tensor<2048xf32, #row>
  %h = arith.truncf %m : tensor<2048xf32, #row> to tensor<2048xf16, #row>
  %ys = tw.splat %y : !tw.ptr<f16> -> tensor<2048x!tw.ptr<f16>, #row>
  %py = tw.addptr %ys, %r : tensor<2048x!tw.ptr<f16>, #row>, tensor<2048xi32, #row>
  tw.store %py, %h {tw.vector_elements = 8 : i32} : tensor<2048x!tw.ptr<f16>, #row>, tensor<2048xf16, #row>
  func.return
}
}
