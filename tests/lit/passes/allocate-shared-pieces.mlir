// Layout changes that are larger than shared memory go through it in pieces.
// RUN: tilewright-opt %s --split-input-file --tw-remarks --tw-allocate-shared="shared-limit=40000" 2>&1 | FileCheck %s

#a = #tw.layout<register = [1, 2, 512, 1024, 2048, 4096], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 2048, 4096, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]>

// One fits as a whole; two at a time never are; beside a tile that is alive only
// an eighth fits.
// CHECK: layout-change-in-pieces: applied, bytes=4096 (the whole does not fit into shared memory)
// CHECK: tw.shared_bytes = 36864
// CHECK-LABEL: @pieces
// CHECK: tw.convert_layout %{{[a-z0-9]+}} {tw.scratch_offset = 0 : i32} :
// CHECK: tw.alloc_shared {{.*}}tw.scratch_offset = 0
// CHECK: tw.convert_layout {{.*}}tw.scratch_limit = 4096 : i32, tw.scratch_offset = 32768 : i32
module attributes {tw.num_warps = 4 : i32} {
  func.func @pieces(%x: tensor<8192xf32, #a>) -> tensor<8192xf32, #a> {
    %0 = tw.convert_layout %x : tensor<8192xf32, #a> -> tensor<8192xf32, #b>
    %m = tw.alloc_shared %x : tensor<8192xf32, #a> -> : !tw.buffer<8192xf32, #s>
    %1 = tw.convert_layout %0 : tensor<8192xf32, #b> -> tensor<8192xf32, #a>
    tw.shared_store %1, %m : tensor<8192xf32, #a>, !tw.buffer<8192xf32, #s>
    return %1 : tensor<8192xf32, #a>
  }
}
