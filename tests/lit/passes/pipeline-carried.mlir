// RUN: tilewright-opt --tw-pipeline-loops --split-input-file %s | FileCheck %s
// Variables that become what others were: sums that change places, the counter of the
// iteration before, and an argument of the function. They are pipelined like others, and no op is left of the exchange.

// CHECK-LABEL: @exchange
// CHECK: tw.alloc_shared {tw.ring = {{.*}}} : <64x64xf16, {{.*}}, 3>
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} iter_args(%[[X:[a-z0-9]+]] = {{[^,]*}}, %[[Y:[a-z0-9]+]] =
// CHECK: tw.async_wait 1
// CHECK: %[[D:.*]] = tw.wgmma %{{.*}}, %{{.*}}, %[[X]] warps
// CHECK-NOT: unrealized_conversion_cast
// CHECK: arith.addi %[[I]]
// CHECK-NOT: unrealized_conversion_cast
// CHECK: scf.yield %[[Y]], %[[D]], %{{[0-9]+}}, %arg1

#layout0 = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#layout1 = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 0, 0], warp = [0, 0], block = []>
#layout2 = #tw.layout<register = [16, 32], lane = [0, 0, 0, 1, 2], warp = [4, 8], block = []>
#layout3 = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @exchange(%arg0: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %arg1: i32) -> (tensor<64x64xf32, #layout0>, tensor<64x64xf32, #layout0>, i32, i32) {
    %0 = tw.range 0 to 64 : tensor<64xi32, #layout1>
    %1 = tw.range 0 to 64 : tensor<64xi32, #layout2>
    %2 = tw.expand_dims %1, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout2>
    %3 = tw.expand_dims %0, 0 : tensor<64xi32, #layout1> -> tensor<1x64xi32, #layout1>
    %cst = arith.constant dense<1024> : tensor<64x1xi32, #layout2>
    %4 = arith.muli %2, %cst : tensor<64x1xi32, #layout2>
    %5 = tw.broadcast %4 : tensor<64x1xi32, #layout2> -> tensor<64x64xi32, #layout3>
    %6 = tw.broadcast %3 : tensor<1x64xi32, #layout1> -> tensor<64x64xi32, #layout3>
    %7 = arith.addi %5, %6 : tensor<64x64xi32, #layout3>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout0>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c64_i32 = arith.constant 64 : i32
    %8:4 = scf.for %arg2 = %c0_i32 to %arg1 step %c1_i32 iter_args(%arg3 = %cst_0, %arg4 = %cst_0, %arg5 = %c0_i32, %arg6 = %c0_i32) -> (tensor<64x64xf32, #layout0>, tensor<64x64xf32, #layout0>, i32, i32)  : i32 {
      %9 = arith.muli %arg2, %c64_i32 : i32
      %10 = tw.splat %9 : i32 -> tensor<64x64xi32, #layout3>
      %11 = tw.splat %arg0 : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>, #layout3>
      %12 = tw.addptr %11, %7 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %13 = tw.addptr %12, %10 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %14 = tw.load %13 {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #layout3> -> tensor<64x64xf16, #layout3>
      %15 = tw.alloc_shared %14 : tensor<64x64xf16, #layout3> -> : <64x64xf16, #shared0>
      %16 = tw.wgmma %15, %15, %arg3 warps [2, 0] : !tw.buffer<64x64xf16, #shared0>, <64x64xf16, #shared0>, tensor<64x64xf32, #layout0>
      scf.yield %arg4, %16, %arg2, %arg1 : tensor<64x64xf32, #layout0>, tensor<64x64xf32, #layout0>, i32, i32
    }
    return %8#0, %8#1, %8#2, %8#3 : tensor<64x64xf32, #layout0>, tensor<64x64xf32, #layout0>, i32, i32
  }
}

// -----

// A variable that becomes a value from before the loop, which is no argument: the first
// iteration loads with the tile of the caller, the others with one that was computed.

// CHECK-LABEL: @outer
// CHECK: %[[FRESH:.*]] = arith.addi
// CHECK: tw.async_copy
// CHECK: scf.for
// CHECK: tw.async_copy
// CHECK-NOT: unrealized_conversion_cast
// CHECK: scf.yield

#layout0 = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#layout1 = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 0, 0], warp = [0, 0], block = []>
#layout2 = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 0], block = []>
#layout3 = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#layout4 = #tw.layout<register = [16, 32], lane = [0, 0, 0, 1, 2], warp = [4, 8], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @outer(%arg0: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %arg1: !tw.ptr<i32>, %arg2: i32) -> tensor<64x64xf32, #layout0> {
    %0 = tw.range 0 to 64 : tensor<64xi32, #layout1>
    %1 = tw.range 0 to 64 : tensor<64xi32, #layout2>
    %2 = tw.splat %arg1 : !tw.ptr<i32> -> tensor<64x!tw.ptr<i32>, #layout2>
    %3 = tw.addptr %2, %1 : tensor<64x!tw.ptr<i32>, #layout2>, tensor<64xi32, #layout2>
    %4 = tw.load %3 : tensor<64x!tw.ptr<i32>, #layout2> -> tensor<64xi32, #layout2>
    %5 = arith.addi %1, %1 : tensor<64xi32, #layout2>
    %6 = tw.expand_dims %0, 0 : tensor<64xi32, #layout1> -> tensor<1x64xi32, #layout1>
    %7 = tw.broadcast %6 : tensor<1x64xi32, #layout1> -> tensor<64x64xi32, #layout3>
    %cst = arith.constant dense<1024> : tensor<64x1xi32, #layout2>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout0>
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %8:2 = scf.for %arg3 = %c0_i32 to %arg2 step %c1_i32 iter_args(%arg4 = %cst_0, %arg5 = %4) -> (tensor<64x64xf32, #layout0>, tensor<64xi32, #layout2>)  : i32 {
      %9 = tw.expand_dims %arg5, 1 : tensor<64xi32, #layout2> -> tensor<64x1xi32, #layout2>
      %10 = arith.muli %9, %cst : tensor<64x1xi32, #layout2>
      %11 = tw.convert_layout %10 : tensor<64x1xi32, #layout2> -> tensor<64x1xi32, #layout4>
      %12 = tw.broadcast %11 : tensor<64x1xi32, #layout4> -> tensor<64x64xi32, #layout3>
      %13 = arith.addi %12, %7 : tensor<64x64xi32, #layout3>
      %14 = tw.splat %arg0 : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>, #layout3>
      %15 = tw.addptr %14, %13 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %16 = tw.load %15 {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #layout3> -> tensor<64x64xf16, #layout3>
      %17 = tw.alloc_shared %16 : tensor<64x64xf16, #layout3> -> : <64x64xf16, #shared0>
      %18 = tw.wgmma %17, %17, %arg4 warps [2, 0] : !tw.buffer<64x64xf16, #shared0>, <64x64xf16, #shared0>, tensor<64x64xf32, #layout0>
      scf.yield %18, %5 : tensor<64x64xf32, #layout0>, tensor<64xi32, #layout2>
    }
    return %8#0 : tensor<64x64xf32, #layout0>
  }
}
