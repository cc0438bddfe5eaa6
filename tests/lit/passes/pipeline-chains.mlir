// RUN: tilewright-opt --split-input-file --tw-pipeline-loops %s | FileCheck %s
// Two products of which the second reads what becomes of the first.

// One warpgroup of 64 rows: with rings of one slot four blocks fit a multiprocessor,
// with rings of two slots two. So the products are computed in turn; a slot is filled
// again after the product that has read it, that of the second one beside the next
// first one, which it need not wait for.

// CHECK-LABEL: @attend
// CHECK: [[K:%.*]] = tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : <64x128xf16, {{[^:]*}}>
// CHECK: [[V:%.*]] = tw.alloc_shared {tw.ring = {{.*}}} : <64x128xf16, {{[^:]*}}>
// CHECK: [[KFULL:%.*]] = tw.mbarrier_alloc 1 : <1>
// CHECK: [[KFREE:%.*]] = tw.mbarrier_alloc 4 : <1>
// CHECK: [[VFULL:%.*]] = tw.mbarrier_alloc 1 : <1>
// CHECK: [[VFREE:%.*]] = tw.mbarrier_alloc 4 : <1>
// CHECK: scf.if
// CHECK: tw.tma_load %arg1
// CHECK-NOT: tw.tma_load
// CHECK: scf.for
// CHECK-NOT: tw.barrier
// CHECK: tw.mbarrier_wait [[KFULL]]
// CHECK: tw.wgmma
// CHECK: scf.if
// CHECK-NEXT: tw.mbarrier_wait [[VFREE]]
// CHECK-NEXT: tw.mbarrier_expect [[VFULL]]
// CHECK-NEXT: tw.tma_load %arg2
// CHECK: tw.wgmma_wait 0
// CHECK-NEXT: tw.mbarrier_arrive [[KFREE]]
// CHECK: scf.if
// CHECK-NEXT: tw.mbarrier_wait [[KFREE]]
// CHECK-NEXT: tw.mbarrier_expect [[KFULL]]
// CHECK-NEXT: tw.tma_load %arg1
// CHECK: math.exp2
// CHECK: tw.mbarrier_wait [[VFULL]]
// CHECK-NEXT: tw.wgmma
// CHECK: tw.wgmma_wait 0
// CHECK-NEXT: tw.mbarrier_arrive [[VFREE]]
// CHECK-NOT: tw.barrier
// CHECK: scf.yield

#layout0 = #tw.layout<register = [1, 2, 512, 1024, 2048, 4096], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#layout1 = #tw.layout<register = [1, 1024, 8, 16, 32, 64], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], block = []>
#layout2 = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#layout3 = #tw.layout<register = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 2048, 4096, 64]>
#shared1 = #tw.shared<offset = [64, 128, 256, 512, 1024, 2048, 513, 1026, 2052, 8, 16, 32, 4096]>
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 4 : i32} {
  func.func @attend(%arg0: tensor<64x128xf16, #layout0>, %arg1: !tw.descriptor<64x128xf16>, %arg2: !tw.descriptor<64x128xf16>, %arg3: i32) -> tensor<64x128xf32, #layout1> {
    %0 = tw.alloc_shared %arg0 : tensor<64x128xf16, #layout0> -> : <64x128xf16, #shared0>
    %cst = arith.constant dense<0.000000e+00> : tensor<64x128xf32, #layout1>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout2>
    %c0_i32 = arith.constant 0 : i32
    %c64_i32 = arith.constant 64 : i32
    %1 = scf.for %arg4 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg5 = %cst) -> (tensor<64x128xf32, #layout1>)  : i32 {
      %2 = tw.descriptor_load %arg1[%arg4, %c0_i32] : <64x128xf16> -> tensor<64x128xf16, #layout3>
      %3 = tw.alloc_shared %2 : tensor<64x128xf16, #layout3> -> : <64x128xf16, #shared0>
      %4 = tw.descriptor_load %arg2[%arg4, %c0_i32] : <64x128xf16> -> tensor<64x128xf16, #layout3>
      %5 = tw.alloc_shared %4 : tensor<64x128xf16, #layout3> -> : <64x128xf16, #shared0>
      %6 = tw.buffer_permute %3 [1, 0] : <64x128xf16, #shared0> -> <128x64xf16, #shared1>
      %7 = tw.wgmma %0, %6, %cst_0 warps [2, 0] : !tw.buffer<64x128xf16, #shared0>, <128x64xf16, #shared1>, tensor<64x64xf32, #layout2>
      %8 = math.exp2 %7 : tensor<64x64xf32, #layout2>
      %9 = arith.truncf %8 : tensor<64x64xf32, #layout2> to tensor<64x64xf16, #layout2>
      %10 = tw.wgmma %9, %5, %arg5 warps [2, 0] : tensor<64x64xf16, #layout2>, <64x128xf16, #shared0>, tensor<64x128xf32, #layout1>
      scf.yield %10 : tensor<64x128xf32, #layout1>
    }
    return %1 : tensor<64x128xf32, #layout1>
  }
}

// -----

// Two warpgroups, and one block either way: the first product of an iteration runs
// beside the second one of the iteration before, and the arithmetic beside that.

// CHECK-LABEL: @attend
// CHECK: tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : <128x128xf16, {{[^:]*}}, 3>
// CHECK: scf.for
// CHECK-NOT: tw.barrier
// CHECK: [[S:%.*]] = tw.wgmma {{.*}} async
// CHECK: [[O:%.*]] = tw.wgmma {{.*}} async
// CHECK: tw.tma_load
// CHECK: tw.tma_load
// CHECK: [[DONE:%.*]] = tw.wgmma_wait 1 [[S]]
// CHECK: tw.mbarrier_arrive
// CHECK: [[P:%.*]] = math.exp2 [[DONE]]
// CHECK: [[LATER:%.*]]:3 = tw.wgmma_wait 0 settled 1 [[O]], {{.*}}, [[P]]
// CHECK: arith.truncf [[LATER]]#2
// CHECK: tw.mbarrier_arrive
// CHECK-NOT: tw.barrier
// CHECK: scf.yield
// The last iteration's second product.
// CHECK: scf.if
// CHECK: tw.wgmma
// CHECK: tw.wgmma_wait 0

#layout0 = #tw.layout<register = [1, 2, 1024, 2048, 4096, 8192], lane = [4, 8, 16, 32, 64], warp = [128, 256, 512], block = []>
#layout1 = #tw.layout<register = [1, 1024, 8, 16, 32, 64], lane = [2, 4, 128, 256, 512], warp = [2048, 4096, 8192], block = []>
#layout2 = #tw.layout<register = [1, 2, 4, 2048, 4096, 8192], lane = [8, 16, 32, 64, 128], warp = [256, 512, 1024], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 2048, 4096, 8192, 64]>
#shared1 = #tw.shared<offset = [128, 256, 512, 1024, 2048, 4096, 1025, 2050, 4100, 8, 16, 32, 64, 8192]>
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 8 : i32} {
  func.func @attend(%arg0: tensor<128x128xf16, #layout0>, %arg1: !tw.descriptor<128x128xf16>, %arg2: !tw.descriptor<128x128xf16>, %arg3: i32) -> tensor<128x128xf32, #layout1> {
    %0 = tw.alloc_shared %arg0 : tensor<128x128xf16, #layout0> -> : <128x128xf16, #shared0>
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #layout1>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #layout1>
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %1 = scf.for %arg4 = %c0_i32 to %arg3 step %c128_i32 iter_args(%arg5 = %cst) -> (tensor<128x128xf32, #layout1>)  : i32 {
      %2 = tw.descriptor_load %arg1[%arg4, %c0_i32] : <128x128xf16> -> tensor<128x128xf16, #layout2>
      %3 = tw.alloc_shared %2 : tensor<128x128xf16, #layout2> -> : <128x128xf16, #shared0>
      %4 = tw.descriptor_load %arg2[%arg4, %c0_i32] : <128x128xf16> -> tensor<128x128xf16, #layout2>
      %5 = tw.alloc_shared %4 : tensor<128x128xf16, #layout2> -> : <128x128xf16, #shared0>
      %6 = tw.buffer_permute %3 [1, 0] : <128x128xf16, #shared0> -> <128x128xf16, #shared1>
      %7 = tw.wgmma %0, %6, %cst_0 warps [3, 0] : !tw.buffer<128x128xf16, #shared0>, <128x128xf16, #shared1>, tensor<128x128xf32, #layout1>
      %8 = math.exp2 %7 : tensor<128x128xf32, #layout1>
      %9 = arith.truncf %8 : tensor<128x128xf32, #layout1> to tensor<128x128xf16, #layout1>
      %10 = tw.wgmma %9, %5, %arg5 warps [3, 0] : tensor<128x128xf16, #layout1>, <128x128xf16, #shared0>, tensor<128x128xf32, #layout1>
      scf.yield %10 : tensor<128x128xf32, #layout1>
    }
    return %1 : tensor<128x128xf32, #layout1>
  }
}

// -----

// The same with cp.async, where threads meet instead: after each wait for tiles, and
// where the first product has read its tile.

// CHECK-LABEL: @attend
// CHECK: scf.for
// CHECK: tw.async_wait 0
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.wgmma
// CHECK: tw.async_copy
// CHECK-NEXT: tw.async_commit
// CHECK: tw.wgmma_wait 0
// CHECK-NEXT: tw.barrier
// CHECK: tw.async_copy
// CHECK: tw.async_commit
// CHECK: math.exp2
// CHECK: tw.async_wait 1
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.wgmma
// CHECK: tw.wgmma_wait 0
// CHECK-NOT: tw.barrier
// CHECK: scf.yield

#layout0 = #tw.layout<register = [1, 2, 512, 1024, 2048, 4096], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#layout1 = #tw.layout<register = [1, 1024, 8, 16, 32, 64], lane = [2, 4, 128, 256, 512], warp = [2048, 4096], block = []>
#layout2 = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#layout3 = #tw.layout<register = [8, 16, 32], lane = [0, 0, 0, 0, 1], warp = [2, 4], block = []>
#layout4 = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 0], warp = [0, 0], block = []>
#layout5 = #tw.layout<register = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 2048, 4096, 64]>
#shared1 = #tw.shared<offset = [64, 128, 256, 512, 1024, 2048, 513, 1026, 2052, 8, 16, 32, 4096]>
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 4 : i32} {
  func.func @attend(%arg0: tensor<64x128xf16, #layout0>, %arg1: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %arg2: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %arg3: i32) -> tensor<64x128xf32, #layout1> {
    %0 = tw.alloc_shared %arg0 : tensor<64x128xf16, #layout0> -> : <64x128xf16, #shared0>
    %cst = arith.constant dense<0.000000e+00> : tensor<64x128xf32, #layout1>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #layout2>
    %1 = tw.range 0 to 64 : tensor<64xi32, #layout3>
    %2 = tw.range 0 to 128 : tensor<128xi32, #layout4>
    %3 = tw.expand_dims %1, 1 : tensor<64xi32, #layout3> -> tensor<64x1xi32, #layout3>
    %4 = tw.expand_dims %2, 0 : tensor<128xi32, #layout4> -> tensor<1x128xi32, #layout4>
    %cst_1 = arith.constant dense<128> : tensor<64x1xi32, #layout3>
    %5 = arith.muli %3, %cst_1 : tensor<64x1xi32, #layout3>
    %6 = tw.broadcast %5 : tensor<64x1xi32, #layout3> -> tensor<64x128xi32, #layout5>
    %7 = tw.broadcast %4 : tensor<1x128xi32, #layout4> -> tensor<64x128xi32, #layout5>
    %8 = arith.addi %6, %7 : tensor<64x128xi32, #layout5>
    %c0_i32 = arith.constant 0 : i32
    %c64_i32 = arith.constant 64 : i32
    %c128_i32 = arith.constant 128 : i32
    %9 = scf.for %arg4 = %c0_i32 to %arg3 step %c64_i32 iter_args(%arg5 = %cst) -> (tensor<64x128xf32, #layout1>)  : i32 {
      %10 = arith.muli %arg4, %c128_i32 : i32
      %11 = tw.splat %10 : i32 -> tensor<64x128xi32, #layout5>
      %12 = tw.splat %arg1 : !tw.ptr<f16> -> tensor<64x128x!tw.ptr<f16>, #layout5>
      %13 = tw.addptr %12, %8 : tensor<64x128x!tw.ptr<f16>, #layout5>, tensor<64x128xi32, #layout5>
      %14 = tw.addptr %13, %11 : tensor<64x128x!tw.ptr<f16>, #layout5>, tensor<64x128xi32, #layout5>
      %15 = tw.splat %arg2 : !tw.ptr<f16> -> tensor<64x128x!tw.ptr<f16>, #layout5>
      %16 = tw.addptr %15, %8 : tensor<64x128x!tw.ptr<f16>, #layout5>, tensor<64x128xi32, #layout5>
      %17 = tw.addptr %16, %11 : tensor<64x128x!tw.ptr<f16>, #layout5>, tensor<64x128xi32, #layout5>
      %18 = tw.load %14 {tw.vector_elements = 8 : i32} : tensor<64x128x!tw.ptr<f16>, #layout5> -> tensor<64x128xf16, #layout5>
      %19 = tw.alloc_shared %18 : tensor<64x128xf16, #layout5> -> : <64x128xf16, #shared0>
      %20 = tw.load %17 {tw.vector_elements = 8 : i32} : tensor<64x128x!tw.ptr<f16>, #layout5> -> tensor<64x128xf16, #layout5>
      %21 = tw.alloc_shared %20 : tensor<64x128xf16, #layout5> -> : <64x128xf16, #shared0>
      %22 = tw.buffer_permute %19 [1, 0] : <64x128xf16, #shared0> -> <128x64xf16, #shared1>
      %23 = tw.wgmma %0, %22, %cst_0 warps [2, 0] : !tw.buffer<64x128xf16, #shared0>, <128x64xf16, #shared1>, tensor<64x64xf32, #layout2>
      %24 = math.exp2 %23 : tensor<64x64xf32, #layout2>
      %25 = arith.truncf %24 : tensor<64x64xf32, #layout2> to tensor<64x64xf16, #layout2>
      %26 = tw.wgmma %25, %21, %arg5 warps [2, 0] : tensor<64x64xf16, #layout2>, <64x128xf16, #shared0>, tensor<64x128xf32, #layout1>
      scf.yield %26 : tensor<64x128xf32, #layout1>
    }
    return %9 : tensor<64x128xf32, #layout1>
  }
}

// -----

// A transposed tile of the second product: its view belongs to the later iteration too.

// CHECK-LABEL: @attend_transposed
// CHECK: scf.for
// CHECK: [[S:%.*]] = tw.wgmma {{.*}} async
// CHECK: [[V:%.*]] = tw.buffer_permute
// CHECK: tw.wgmma {{.*}}, [[V]], {{.*}} async
// CHECK: tw.wgmma_wait 1 [[S]]
// CHECK: scf.yield

#layout0 = #tw.layout<register = [1, 2, 1024, 2048, 4096, 8192], lane = [4, 8, 16, 32, 64], warp = [128, 256, 512], block = []>
#layout1 = #tw.layout<register = [1, 1024, 8, 16, 32, 64], lane = [2, 4, 128, 256, 512], warp = [2048, 4096, 8192], block = []>
#layout2 = #tw.layout<register = [1, 2, 4, 2048, 4096, 8192], lane = [8, 16, 32, 64, 128], warp = [256, 512, 1024], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 2048, 4096, 8192, 64]>
#shared1 = #tw.shared<offset = [128, 256, 512, 1024, 2048, 4096, 1025, 2050, 4100, 8, 16, 32, 64, 8192]>
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 8 : i32} {
  func.func @attend_transposed(%arg0: tensor<128x128xf16, #layout0>, %arg1: !tw.descriptor<128x128xf16>, %arg2: !tw.descriptor<128x128xf16>, %arg3: i32) -> tensor<128x128xf32, #layout1> {
    %0 = tw.alloc_shared %arg0 : tensor<128x128xf16, #layout0> -> : <128x128xf16, #shared0>
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #layout1>
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %1 = scf.for %arg4 = %c0_i32 to %arg3 step %c128_i32 iter_args(%arg5 = %cst) -> (tensor<128x128xf32, #layout1>)  : i32 {
      %2 = tw.descriptor_load %arg1[%arg4, %c0_i32] : <128x128xf16> -> tensor<128x128xf16, #layout2>
      %3 = tw.alloc_shared %2 : tensor<128x128xf16, #layout2> -> : <128x128xf16, #shared0>
      %4 = tw.descriptor_load %arg2[%c0_i32, %arg4] : <128x128xf16> -> tensor<128x128xf16, #layout2>
      %5 = tw.alloc_shared %4 : tensor<128x128xf16, #layout2> -> : <128x128xf16, #shared0>
      %6 = tw.buffer_permute %5 [1, 0] : <128x128xf16, #shared0> -> <128x128xf16, #shared1>
      %7 = tw.wgmma %0, %3, %cst warps [3, 0] : !tw.buffer<128x128xf16, #shared0>, <128x128xf16, #shared0>, tensor<128x128xf32, #layout1>
      %8 = arith.truncf %7 : tensor<128x128xf32, #layout1> to tensor<128x128xf16, #layout1>
      %9 = tw.wgmma %8, %6, %arg5 warps [3, 0] : tensor<128x128xf16, #layout1>, <128x128xf16, #shared1>, tensor<128x128xf32, #layout1>
      scf.yield %9 : tensor<128x128xf32, #layout1>
    }
    return %1 : tensor<128x128xf32, #layout1>
  }
}

// -----

// A tile that no copy brings has one place, which the next iteration overwrites: the
// second product must not read it an iteration later.

// CHECK-LABEL: @attend_computed
// CHECK: scf.for
// CHECK: [[V:%.*]] = tw.alloc_shared %
// CHECK: [[O:%.*]] = tw.wgmma {{.*}}, [[V]],
// CHECK-NOT: async
// CHECK: scf.yield

#layout0 = #tw.layout<register = [1, 2, 1024, 2048, 4096, 8192], lane = [4, 8, 16, 32, 64], warp = [128, 256, 512], block = []>
#layout1 = #tw.layout<register = [1, 1024, 8, 16, 32, 64], lane = [2, 4, 128, 256, 512], warp = [2048, 4096, 8192], block = []>
#layout2 = #tw.layout<register = [1, 2, 4, 2048, 4096, 8192], lane = [8, 16, 32, 64, 128], warp = [256, 512, 1024], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 2048, 4096, 8192, 64]>
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 8 : i32} {
  func.func @attend_computed(%arg0: tensor<128x128xf16, #layout0>, %arg1: !tw.descriptor<128x128xf16>, %arg2: !tw.descriptor<128x128xf16>, %arg3: i32) -> tensor<128x128xf32, #layout1> {
    %0 = tw.alloc_shared %arg0 : tensor<128x128xf16, #layout0> -> : <128x128xf16, #shared0>
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #layout1>
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %1 = scf.for %arg4 = %c0_i32 to %arg3 step %c128_i32 iter_args(%arg5 = %cst) -> (tensor<128x128xf32, #layout1>)  : i32 {
      %2 = tw.descriptor_load %arg1[%arg4, %c0_i32] : <128x128xf16> -> tensor<128x128xf16, #layout2>
      %3 = tw.alloc_shared %2 : tensor<128x128xf16, #layout2> -> : <128x128xf16, #shared0>
      %4 = tw.descriptor_load %arg2[%arg4, %c0_i32] : <128x128xf16> -> tensor<128x128xf16, #layout2>
      %5 = arith.addf %4, %4 : tensor<128x128xf16, #layout2>
      %6 = tw.alloc_shared %5 : tensor<128x128xf16, #layout2> -> : <128x128xf16, #shared0>
      %7 = tw.wgmma %0, %3, %cst warps [3, 0] : !tw.buffer<128x128xf16, #shared0>, <128x128xf16, #shared0>, tensor<128x128xf32, #layout1>
      %8 = arith.truncf %7 : tensor<128x128xf32, #layout1> to tensor<128x128xf16, #layout1>
      %9 = tw.wgmma %8, %6, %arg5 warps [3, 0] : tensor<128x128xf16, #layout1>, <128x128xf16, #shared0>, tensor<128x128xf32, #layout1>
      scf.yield %9 : tensor<128x128xf32, #layout1>
    }
    return %1 : tensor<128x128xf32, #layout1>
  }
}

// -----

// What is computed from the second product's sum is read by the next iteration's first
// part: nothing of an iteration may be left for the next one.

// CHECK-LABEL: @feedback
// CHECK: scf.for
// CHECK: tw.wgmma
// CHECK: tw.wgmma
// CHECK: scf.yield
// CHECK-NOT: tw.wgmma {{.*}}
// CHECK: return

#layout0 = #tw.layout<register = [1, 2, 1024, 2048, 4096, 8192], lane = [4, 8, 16, 32, 64], warp = [128, 256, 512], block = []>
#layout1 = #tw.layout<register = [1, 1024, 8, 16, 32, 64], lane = [2, 4, 128, 256, 512], warp = [2048, 4096, 8192], block = []>
#layout2 = #tw.layout<register = [1, 2, 4, 2048, 4096, 8192], lane = [8, 16, 32, 64, 128], warp = [256, 512, 1024], block = []>
#shared0 = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 2048, 4096, 8192, 64]>
#shared1 = #tw.shared<offset = [128, 256, 512, 1024, 2048, 4096, 1025, 2050, 4100, 8, 16, 32, 64, 8192]>
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 8 : i32} {
  func.func @feedback(%arg0: tensor<128x128xf16, #layout0>, %arg1: !tw.descriptor<128x128xf16>, %arg2: !tw.descriptor<128x128xf16>, %arg3: i32) -> tensor<128x128xf32, #layout1> {
    %0 = tw.alloc_shared %arg0 : tensor<128x128xf16, #layout0> -> : <128x128xf16, #shared0>
    %cst = arith.constant dense<0.000000e+00> : tensor<128x128xf32, #layout1>
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %1:2 = scf.for %arg4 = %c0_i32 to %arg3 step %c128_i32 iter_args(%arg5 = %cst, %arg6 = %cst) -> (tensor<128x128xf32, #layout1>, tensor<128x128xf32, #layout1>)  : i32 {
      %2 = tw.descriptor_load %arg1[%arg4, %c0_i32] : <128x128xf16> -> tensor<128x128xf16, #layout2>
      %3 = tw.alloc_shared %2 : tensor<128x128xf16, #layout2> -> : <128x128xf16, #shared0>
      %4 = tw.descriptor_load %arg2[%arg4, %c0_i32] : <128x128xf16> -> tensor<128x128xf16, #layout2>
      %5 = tw.alloc_shared %4 : tensor<128x128xf16, #layout2> -> : <128x128xf16, #shared0>
      %6 = tw.buffer_permute %3 [1, 0] : <128x128xf16, #shared0> -> <128x128xf16, #shared1>
      %7 = tw.wgmma %0, %6, %cst warps [3, 0] : !tw.buffer<128x128xf16, #shared0>, <128x128xf16, #shared1>, tensor<128x128xf32, #layout1>
      %8 = arith.addf %7, %arg6 : tensor<128x128xf32, #layout1>
      %9 = arith.truncf %8 : tensor<128x128xf32, #layout1> to tensor<128x128xf16, #layout1>
      %10 = math.absf %arg5 : tensor<128x128xf32, #layout1>
      %11 = tw.wgmma %9, %5, %arg5 warps [3, 0] : tensor<128x128xf16, #layout1>, <128x128xf16, #shared0>, tensor<128x128xf32, #layout1>
      scf.yield %11, %10 : tensor<128x128xf32, #layout1>, tensor<128x128xf32, #layout1>
    }
    return %1#0 : tensor<128x128xf32, #layout1>
  }
}
