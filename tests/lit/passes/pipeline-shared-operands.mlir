// RUN: tilewright-opt --split-input-file --tw-pipeline-loops %s | FileCheck %s
// A tile that a product reads in shared memory and others in registers: these read the slot, each in
// its own layout, so that the tile is copied ahead.

// CHECK-LABEL: @read
// CHECK-COUNT-2: tw.alloc_shared {tw.ring
// CHECK: scf.for
// CHECK: tw.async_wait
// CHECK: tw.barrier
// CHECK-NOT: tw.load
// CHECK: %[[OWN:.*]] = tw.shared_load %[[SLOT:[0-9]+]] : {{.*}}register = [1, 2, 4, 1024, 2048]
// CHECK-NEXT: arith.extf %[[OWN]]
// CHECK: tw.shared_load %[[SLOT]] : {{.*}}register = [1, 512, 8, 16, 32]
// CHECK-NOT: tw.load
// CHECK: scf.yield

#layout0 = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#layout1 = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 0, 0], warp = [0, 0], block = []>
#layout2 = #tw.layout<register = [16, 32], lane = [0, 0, 0, 1, 2], warp = [4, 8], block = []>
#layout3 = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#shared1 = #tw.shared<offset = [64, 128, 256, 512, 1024, 2048, 513, 1026, 2052, 8, 16, 32]>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @read(%arg0: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %arg1: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %arg2: i32) -> tensor<64x64xf32, #layout0> {
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
    %8:2 = scf.for %arg3 = %c0_i32 to %arg2 step %c1_i32 iter_args(%arg4 = %cst_0, %arg5 = %cst_0) -> (tensor<64x64xf32, #layout0>, tensor<64x64xf32, #layout0>)  : i32 {
      %9 = arith.muli %arg3, %c64_i32 : i32
      %10 = tw.splat %9 : i32 -> tensor<64x64xi32, #layout3>
      %11 = tw.splat %arg0 : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>, #layout3>
      %12 = tw.addptr %11, %7 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %13 = tw.addptr %12, %10 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %14 = tw.splat %arg1 : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>, #layout3>
      %15 = tw.addptr %14, %7 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %16 = tw.addptr %15, %10 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %17 = tw.load %13 {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #layout3> -> tensor<64x64xf16, #layout3>
      %23 = arith.extf %17 : tensor<64x64xf16, #layout3> to tensor<64x64xf32, #layout3>
      %24 = tw.convert_layout %23 : tensor<64x64xf32, #layout3> -> tensor<64x64xf32, #layout0>
      %18 = tw.alloc_shared %17 : tensor<64x64xf16, #layout3> -> : <64x64xf16, #shared0>
      %19 = tw.load %16 {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #layout3> -> tensor<64x64xf16, #layout3>
      %20 = tw.alloc_shared %19 : tensor<64x64xf16, #layout3> -> : <64x64xf16, #shared0>
      %21 = tw.buffer_permute %20 [1, 0] : <64x64xf16, #shared0> -> <64x64xf16, #shared1>
      %22 = tw.wgmma %18, %21, %arg4 warps [2, 0] : !tw.buffer<64x64xf16, #shared0>, <64x64xf16, #shared1>, tensor<64x64xf32, #layout0>
      %25 = tw.convert_layout %17 : tensor<64x64xf16, #layout3> -> tensor<64x64xf16, #layout0>
      %26 = arith.extf %25 : tensor<64x64xf16, #layout0> to tensor<64x64xf32, #layout0>
      %27 = arith.mulf %24, %26 : tensor<64x64xf32, #layout0>
      %28 = arith.addf %arg5, %27 : tensor<64x64xf32, #layout0>
      scf.yield %22, %28 : tensor<64x64xf32, #layout0>, tensor<64x64xf32, #layout0>
    }
    %29 = arith.addf %8#0, %8#1 : tensor<64x64xf32, #layout0>
    return %29 : tensor<64x64xf32, #layout0>
  }
}

// -----
// Where it is not copied, here since elements of two bytes are loaded one by one, all stays as it was
// but for the place of the buffer.

// CHECK-LABEL: @kept
// CHECK: tw.alloc_shared {tw.ring
// CHECK-NOT: tw.alloc_shared {tw.ring
// CHECK: scf.for
// CHECK: %[[TILE:.*]] = tw.load
// CHECK-NEXT: tw.alloc_shared %[[TILE]]
// CHECK: arith.extf %[[TILE]]
// CHECK-NEXT: tw.convert_layout
// CHECK-NOT: tw.shared_load
// CHECK: tw.convert_layout %[[TILE]]
// CHECK: scf.yield

#layout0 = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#layout1 = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 0, 0], warp = [0, 0], block = []>
#layout2 = #tw.layout<register = [16, 32], lane = [0, 0, 0, 1, 2], warp = [4, 8], block = []>
#layout3 = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
#shared1 = #tw.shared<offset = [64, 128, 256, 512, 1024, 2048, 513, 1026, 2052, 8, 16, 32]>
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @kept(%arg0: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %arg1: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %arg2: i32) -> tensor<64x64xf32, #layout0> {
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
    %8:2 = scf.for %arg3 = %c0_i32 to %arg2 step %c1_i32 iter_args(%arg4 = %cst_0, %arg5 = %cst_0) -> (tensor<64x64xf32, #layout0>, tensor<64x64xf32, #layout0>)  : i32 {
      %9 = arith.muli %arg3, %c64_i32 : i32
      %10 = tw.splat %9 : i32 -> tensor<64x64xi32, #layout3>
      %11 = tw.splat %arg0 : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>, #layout3>
      %12 = tw.addptr %11, %7 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %13 = tw.addptr %12, %10 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %14 = tw.splat %arg1 : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>, #layout3>
      %15 = tw.addptr %14, %7 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %16 = tw.addptr %15, %10 : tensor<64x64x!tw.ptr<f16>, #layout3>, tensor<64x64xi32, #layout3>
      %17 = tw.load %13 {tw.vector_elements = 1 : i32} : tensor<64x64x!tw.ptr<f16>, #layout3> -> tensor<64x64xf16, #layout3>
      %23 = arith.extf %17 : tensor<64x64xf16, #layout3> to tensor<64x64xf32, #layout3>
      %24 = tw.convert_layout %23 : tensor<64x64xf32, #layout3> -> tensor<64x64xf32, #layout0>
      %18 = tw.alloc_shared %17 : tensor<64x64xf16, #layout3> -> : <64x64xf16, #shared0>
      %19 = tw.load %16 {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #layout3> -> tensor<64x64xf16, #layout3>
      %20 = tw.alloc_shared %19 : tensor<64x64xf16, #layout3> -> : <64x64xf16, #shared0>
      %21 = tw.buffer_permute %20 [1, 0] : <64x64xf16, #shared0> -> <64x64xf16, #shared1>
      %22 = tw.wgmma %18, %21, %arg4 warps [2, 0] : !tw.buffer<64x64xf16, #shared0>, <64x64xf16, #shared1>, tensor<64x64xf32, #layout0>
      %25 = tw.convert_layout %17 : tensor<64x64xf16, #layout3> -> tensor<64x64xf16, #layout0>
      %26 = arith.extf %25 : tensor<64x64xf16, #layout0> to tensor<64x64xf32, #layout0>
      %27 = arith.mulf %24, %26 : tensor<64x64xf32, #layout0>
      %28 = arith.addf %arg5, %27 : tensor<64x64xf32, #layout0>
      scf.yield %22, %28 : tensor<64x64xf32, #layout0>, tensor<64x64xf32, #layout0>
    }
    %29 = arith.addf %8#0, %8#1 : tensor<64x64xf32, #layout0>
    return %29 : tensor<64x64xf32, #layout0>
  }
}
