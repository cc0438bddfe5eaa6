// Every op of the layout level prints and parses back to itself.
// RUN: tilewright-opt %s --split-input-file | tilewright-opt --split-input-file | FileCheck %s

#row = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128], block = []>
#column = #tw.layout<register = [16, 32], lane = [1, 2, 4, 8, 64], warp = [128], block = []>
#plain = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
#turned = #tw.shared<offset = [16, 32, 64, 128, 1, 2, 4, 8]>
!tile = tensor<16x16xf32, #row>
!turned = tensor<16x16xf32, #column>
!indices = tensor<16x16xi32, #row>
!pointers = tensor<16x16x!tw.ptr<f32>, #row>
!buffer = !tw.buffer<16x16xf32, #plain>
!turned_buffer = !tw.buffer<16x16xf32, #turned>
!ring = !tw.buffer<16x16xf32, #plain, 3>

// CHECK-LABEL: func.func @buffers
func.func @buffers(%x: !tile, %n: !indices, %i: i32) {
  // CHECK: tw.convert_layout %{{.*}} : tensor<16x16xf32, #tw.layout<register = [1, 2], {{.*}}>> -> tensor<16x16xf32, #tw.layout<register = [16, 32],
  %0 = tw.convert_layout %x : !tile -> !turned
  // CHECK: tw.alloc_shared %{{.*}} : tensor<16x16xf32, {{.*}}> -> : <16x16xf32,
  %m = tw.alloc_shared %x : !tile -> : !buffer
  // CHECK: tw.alloc_shared : <16x16xf32, {{.*}}, 3>
  %ring = tw.alloc_shared : !ring
  // CHECK: tw.buffer_slot %{{.*}}[%{{.*}}] : <16x16xf32, {{.*}}, 3> -> <16x16xf32,
  %slot = tw.buffer_slot %ring[%i] : !ring -> !buffer
  // CHECK: tw.buffer_permute %{{.*}} [1, 0] : <16x16xf32, #tw.shared<offset = [1, {{.*}}>> -> <16x16xf32, #tw.shared<offset = [16,
  %t = tw.buffer_permute %m [1, 0] : !buffer -> !turned_buffer
  // CHECK: tw.shared_store %{{.*}}, %{{.*}} : tensor<16x16xf32, {{.*}}>, <16x16xf32,
  tw.shared_store %x, %m : !tile, !buffer
  // CHECK: tw.shared_load %{{.*}} : <16x16xf32, {{.*}}> -> tensor<16x16xf32,
  %1 = tw.shared_load %m : !buffer -> !tile
  // CHECK: tw.shared_gather %{{.*}}[%{{.*}}] axis 1 : <16x16xf32, {{.*}}>, tensor<16x16xi32, {{.*}}> -> tensor<16x16xf32,
  %2 = tw.shared_gather %m[%n] axis 1 : !buffer, !indices -> !tile
  return
}

#numbers = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 0], block = []>
!numbers = tensor<64xi32, #numbers>
!masks = tensor<64xi1, #numbers>
!bins = !tw.buffer<16xi32, #tw.shared<offset = [1, 2, 4, 8]>>

// CHECK-LABEL: func.func @counts
func.func @counts(%n: !numbers, %k: !masks, %m: !bins) {
  // CHECK: tw.shared_count %{{.*}}, %{{.*}} mask %{{.*}} : tensor<64xi1, {{.*}}> : tensor<64xi32, {{.*}}>, <16xi32,
  tw.shared_count %n, %m mask %k : !masks : !numbers, !bins
  return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%p: !pointers, %m: !buffer, %slot: !buffer, %d: !tw.descriptor<16x16xf32>, %i: i32) {
  // CHECK: tw.async_copy %{{.*}}, %{{.*}} {tw.vector_elements = 4 : i32} : tensor<16x16x!tw.ptr<f32>, {{.*}}>, <16x16xf32,
  tw.async_copy %p, %slot {tw.vector_elements = 4 : i32} : !pointers, !buffer
  // CHECK: tw.async_commit
  tw.async_commit
  // CHECK: tw.async_wait 1
  tw.async_wait 1
  // CHECK: tw.mbarrier_alloc 1 : <3>
  %full = tw.mbarrier_alloc 1 : !tw.mbarrier<3>
  // CHECK: tw.mbarrier_alloc 4 : <3>
  %free = tw.mbarrier_alloc 4 : !tw.mbarrier<3>
  // CHECK: tw.is_first_warp
  %first = tw.is_first_warp
  // CHECK: tw.mbarrier_phase %{{.*}}[%{{.*}}] : <3>
  %phase = tw.mbarrier_phase %full[%i] : !tw.mbarrier<3>
  // CHECK: tw.mbarrier_expect %{{.*}}[%{{.*}}], 1024 : <3>
  tw.mbarrier_expect %full[%i], 1024 : !tw.mbarrier<3>
  // CHECK: tw.tma_load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}, %{{.*}}[%{{.*}}] : <16x16xf32>, <16x16xf32, {{.*}}>, <3>
  tw.tma_load %d[%i, %i], %slot, %full[%i] : !tw.descriptor<16x16xf32>, !buffer, !tw.mbarrier<3>
  // CHECK: tw.mbarrier_wait %{{.*}}[%{{.*}}], %{{.*}} : <3>
  tw.mbarrier_wait %full[%i], %phase : !tw.mbarrier<3>
  // CHECK: tw.mbarrier_arrive %{{.*}}[%{{.*}}] : <3>
  tw.mbarrier_arrive %free[%i] : !tw.mbarrier<3>
  // CHECK: tw.fence_async{{$}}
  tw.fence_async
  // CHECK: tw.fence_async global
  tw.fence_async global
  // CHECK: tw.tma_store %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} : <16x16xf32>, <16x16xf32,
  tw.tma_store %d[%i, %i], %m : !tw.descriptor<16x16xf32>, !buffer
  // CHECK: tw.tma_store_wait 0 %{{.*}} : !tw.buffer<16x16xf32,
  // CHECK-NOT: complete
  tw.tma_store_wait 0 %m : !buffer
  return
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
!left = !tw.buffer<64x64xf16, #buf>
!right = !tw.buffer<64x64xf16, #buf>
!sums = tensor<64x64xf32, #acc>

module attributes {tw.num_warps = 4 : i32} {
// CHECK-LABEL: func.func @warpgroup
func.func @warpgroup(%a: !left, %b: !right, %acc: !sums) -> !sums {
  // CHECK: tw.wgmma %{{.*}}, %{{.*}}, %{{.*}} async warps [2, 0] : {{.*}}tensor<64x64xf32,
  %p = tw.wgmma %a, %b, %acc async warps [2, 0] : !left, !right, !sums
  // CHECK: tw.wgmma_wait 0 %{{.*}} : tensor<64x64xf32, {{.*}}> -> tensor<64x64xf32,
  %r = tw.wgmma_wait 0 %p : !sums -> !sums
  return %r : !sums
}
}

// -----
#small = #tw.shared<offset = [1, 2, 4]>
!left = !tw.buffer<2x4xf32, #small>
!right = !tw.buffer<4x2xf32, #small>
!sums = tensor<2x2xf32>

// CHECK-LABEL: func.func @sharedDot
func.func @sharedDot(%a: !left, %b: !right, %c: !sums) -> !sums {
  // CHECK: tw.shared_dot %{{.*}}, %{{.*}}, %{{.*}} warps [1, 0] : <2x4xf32, {{.*}}>, <4x2xf32, {{.*}}>, tensor<2x2xf32>
  %0 = tw.shared_dot %a, %b, %c warps [1, 0] : !left, !right, !sums
  return %0 : !sums
}
