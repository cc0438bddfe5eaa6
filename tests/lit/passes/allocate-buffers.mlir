// Lifetimes and places of tiles in shared memory.
// RUN: tilewright-opt %s --split-input-file --tw-allocate-shared | FileCheck %s

#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>

// The scratch of a conversion lies beside what is alive, and over what is not.
// CHECK: tw.shared_bytes = 16384
// CHECK-LABEL: @lifetimes
// CHECK: tw.alloc_shared {{.*}}tw.scratch_offset = 0
// CHECK: tw.convert_layout {{.*}}tw.scratch_offset = 8192
// CHECK: tw.convert_layout {{.*}}tw.scratch_offset = 0
module attributes {tw.num_warps = 4 : i32} {
  func.func @lifetimes(%x: tensor<2048xf32, #a>) -> tensor<2048xf32, #b> {
    %m = tw.alloc_shared %x : tensor<2048xf32, #a> -> : !tw.buffer<2048xf32, #s>
    %0 = tw.convert_layout %x : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    %1 = tw.shared_load %m : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #b>
    %2 = arith.addf %0, %1 : tensor<2048xf32, #b>
    %3 = tw.convert_layout %2 : tensor<2048xf32, #b> -> tensor<2048xf32, #a>
    %4 = tw.convert_layout %3 : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    return %4 : tensor<2048xf32, #b>
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#small = #tw.shared<offset = [1, 2, 4, 8]>
#l = #tw.layout<register = [], lane = [1, 2, 4, 8, 0], warp = [0, 0], block = []>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>

// A buffer made outside a loop and used in it is alive to the loop's end, through
// slots and loop-carried values; rings begin at a multiple of 1024; barriers are
// never shared, and lie after what is larger.
// CHECK: tw.shared_bytes = 24656
// CHECK-LABEL: @loop
// CHECK: tw.mbarrier_alloc {{.*}}tw.scratch_offset = 24640
// CHECK: tw.alloc_shared {tw.scratch_offset = 24576
// CHECK: tw.alloc_shared {tw.scratch_offset = 0
// CHECK: scf.for
// CHECK: tw.convert_layout {{.*}}tw.scratch_offset = 16384
// CHECK: }
// CHECK: tw.convert_layout {{.*}}tw.scratch_offset = 0
module attributes {tw.num_warps = 4 : i32} {
  func.func @loop(%x: tensor<2048xf32, #a>, %y: tensor<16xf32, #l>, %n: i32) -> tensor<2048xf32, #b> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %bar = tw.mbarrier_alloc 1 : !tw.mbarrier<2>
    %e = tw.alloc_shared : !tw.buffer<16xf32, #small>
    tw.shared_store %y, %e : tensor<16xf32, #l>, !tw.buffer<16xf32, #small>
    %ring = tw.alloc_shared : !tw.buffer<2048xf32, #s, 2>
    %first = tw.buffer_slot %ring[%c0] : !tw.buffer<2048xf32, #s, 2> -> !tw.buffer<2048xf32, #s>
    tw.shared_store %x, %first : tensor<2048xf32, #a>, !tw.buffer<2048xf32, #s>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x, %slot = %first)
        -> (tensor<2048xf32, #a>, !tw.buffer<2048xf32, #s>) : i32 {
      %v = tw.shared_load %slot : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #a>
      %z = tw.shared_load %e : !tw.buffer<16xf32, #small> -> tensor<16xf32, #l>
      %next = tw.buffer_slot %ring[%i] : !tw.buffer<2048xf32, #s, 2> -> !tw.buffer<2048xf32, #s>
      %w = arith.addf %v, %acc : tensor<2048xf32, #a>
      %0 = tw.convert_layout %w : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
      %1 = arith.addf %0, %0 : tensor<2048xf32, #b>
      %2 = tw.convert_layout %1 : tensor<2048xf32, #b> -> tensor<2048xf32, #a>
      scf.yield %2, %next : tensor<2048xf32, #a>, !tw.buffer<2048xf32, #s>
    }
    %3 = tw.convert_layout %r#0 : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    return %3 : tensor<2048xf32, #b>
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>

// A copy that nobody has waited for still writes: alive to the wait for all.
// CHECK: tw.shared_bytes = 16384
// CHECK-LABEL: @asynchronous
// CHECK: tw.alloc_shared {tw.scratch_offset = 0
// CHECK: tw.convert_layout {{.*}}tw.scratch_offset = 8192
// CHECK: tw.async_wait 0
// CHECK: tw.convert_layout {{.*}}tw.scratch_offset = 0
module attributes {tw.num_warps = 4 : i32} {
  func.func @asynchronous(%x: tensor<2048xf32, #a>, %p: tensor<2048x!tw.ptr<f32>, #a>) -> tensor<2048xf32, #a> {
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    tw.async_copy %p, %m {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #a>, !tw.buffer<2048xf32, #s>
    tw.async_commit
    %0 = tw.convert_layout %x : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    tw.async_wait 0
    %1 = tw.convert_layout %0 : tensor<2048xf32, #b> -> tensor<2048xf32, #a>
    return %1 : tensor<2048xf32, #a>
  }
}
