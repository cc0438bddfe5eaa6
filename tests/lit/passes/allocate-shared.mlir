// Offsets of scratch and the size of the whole.
// RUN: tilewright-opt %s --split-input-file --tw-allocate-shared | FileCheck %s

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// Two reductions in a row are kept apart, so that no barrier is needed between
// them; the third may have the first one's bytes again.
// CHECK: tw.shared_bytes = 32
// CHECK-LABEL: @neighbours
// CHECK: tw.scratch_offset = 0
// CHECK: tw.scratch_offset = 16
// CHECK: tw.scratch_offset = 0
module attributes {tw.num_warps = 4 : i32} {
  func.func @neighbours(%x: tensor<512xf32, #a>) -> (f32, f32, f32) {
    %0 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<512xf32, #a>) -> f32
    %1 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.maxnumf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<512xf32, #a>) -> f32
    %2 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.minnumf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<512xf32, #a>) -> f32
    return %0, %1, %2 : f32, f32, f32
  }
}

// -----
#a = #tw.layout<register = [1, 2, 512, 1024, 2048, 4096], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 2048, 4096, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>

// Large ones share their bytes: a barrier costs less than half the occupancy.
// CHECK: tw.shared_bytes = 32768
// CHECK-LABEL: @large
// CHECK: tw.scratch_offset = 0
// CHECK: tw.scratch_offset = 0
module attributes {tw.num_warps = 4 : i32} {
  func.func @large(%x: tensor<8192xf32, #a>) -> tensor<8192xf32, #a> {
    %0 = tw.convert_layout %x : tensor<8192xf32, #a> -> tensor<8192xf32, #b>
    %1 = arith.addf %0, %0 : tensor<8192xf32, #b>
    %2 = tw.convert_layout %1 : tensor<8192xf32, #b> -> tensor<8192xf32, #a>
    return %2 : tensor<8192xf32, #a>
  }
}

// -----
#w = #tw.layout<register = [1, 2, 4, 8], lane = [16, 32, 64, 128, 256], warp = [0, 0], block = []>

// Within a warp nothing is needed. An atomic whose result nobody uses needs
// nothing either; a scalar one that is used has a slot.
// CHECK: tw.shared_bytes = 16
// CHECK-LABEL: @little
// CHECK: tw.reduce
// CHECK-NOT: tw.scratch_offset
// CHECK: tw.atomic_rmw
// CHECK-NOT: tw.scratch_offset
// CHECK: tw.atomic_rmw {{.*}}tw.scratch_offset = 0
module attributes {tw.num_warps = 4 : i32} {
  func.func @little(%x: tensor<512xf32, #w>, %p: !tw.ptr<f32>) -> f32 {
    %0 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<512xf32, #w>) -> f32
    %1 = tw.atomic_rmw <fadd>, <relaxed>, <gpu>, %p, %0 : !tw.ptr<f32>, f32
    %2 = tw.atomic_rmw <fadd>, <relaxed>, <gpu>, %p, %0 : !tw.ptr<f32>, f32
    return %2 : f32
  }
}

// -----
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
#c = #tw.layout<register = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#d = #tw.layout<register = [512, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
#e = #tw.layout<register = [128], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#f = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
#t = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>

// Kept apart these take 13.5 KB, which count as free; together they would take 9.5.
// CHECK: tw.shared_bytes = 13824
// CHECK-LABEL: @free
module attributes {tw.num_warps = 4 : i32} {
  func.func @free(%x: tensor<2048xf32, #a>, %y: tensor<1024xf32, #c>, %z: tensor<256xf32, #e>, %w: tensor<128xf32, #f>) -> (tensor<2048xf32, #b>, tensor<1024xf32, #d>, tensor<256xf32, #e>, tensor<128xf32, #f>) {
    %m = tw.alloc_shared %z : tensor<256xf32, #e> -> : !tw.buffer<256xf32, #s>
    %n = tw.alloc_shared %w : tensor<128xf32, #f> -> : !tw.buffer<128xf32, #t>
    %0 = tw.convert_layout %x : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    %1 = tw.convert_layout %y : tensor<1024xf32, #c> -> tensor<1024xf32, #d>
    %2 = tw.shared_load %m : !tw.buffer<256xf32, #s> -> tensor<256xf32, #e>
    %3 = tw.shared_load %n : !tw.buffer<128xf32, #t> -> tensor<128xf32, #f>
    return %0, %1, %2, %3 : tensor<2048xf32, #b>, tensor<1024xf32, #d>, tensor<256xf32, #e>, tensor<128xf32, #f>
  }
}
