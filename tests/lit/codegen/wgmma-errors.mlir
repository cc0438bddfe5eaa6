// Products that no instruction of a warpgroup computes.
// RUN: tilewright-opt %s --tw-lower-to-llvm -split-input-file -verify-diagnostics

// B lies along N, and only 16-bit operands may lie so.
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @bytesAlongN(%x: f32) {
    %acc = tw.splat %x : f32 -> tensor<64x8xf32, #c>
    %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x32xf8E5M2, #a>
    %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<32x8xf8E5M2, #b>
    // expected-error @below {{cannot read an operand in this layout}}
    %d = tw.wgmma %a, %b, %acc warps [2, 0] : !tw.buffer<64x32xf8E5M2, #a>, !tw.buffer<32x8xf8E5M2, #b>, tensor<64x8xf32, #c>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @shortK(%x: f32) {
    %acc = tw.splat %x : f32 -> tensor<64x8xf32, #c>
    %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x8xf16, #a>
    %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<8x8xf16, #b>
    // expected-error @below {{needs 16 elements of K, got 8}}
    %d = tw.wgmma %a, %b, %acc warps [2, 0] : !tw.buffer<64x8xf16, #a>, !tw.buffer<8x8xf16, #b>, tensor<64x8xf32, #c>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @noInstruction(%x: f32) {
    %acc = tw.splat %x : f32 -> tensor<64x8xf32, #c>
    %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x16xbf16, #a>
    %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16x8xf16, #b>
    // expected-error @below {{has no instruction for 'bf16' x 'f16' to 'f32' on sm_90a}}
    %d = tw.wgmma %a, %b, %acc warps [2, 0] : !tw.buffer<64x16xbf16, #a>, !tw.buffer<16x8xf16, #b>, tensor<64x8xf32, #c>
    func.return
  }
}

// -----

// Rows and columns of the accumulator are exchanged.
#c = #tw.layout<register = [64, 1], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @otherLayout(%x: f32) {
    %acc = tw.splat %x : f32 -> tensor<64x8xf32, #c>
    %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x16xf16, #a>
    %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16x8xf16, #b>
    // expected-error @below {{accumulator has another layout than wgmma's}}
    %d = tw.wgmma %a, %b, %acc warps [2, 0] : !tw.buffer<64x16xf16, #a>, !tw.buffer<16x8xf16, #b>, tensor<64x8xf32, #c>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1, 64, 512, 1024, 2048, 4096], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @batchesOfWgmma(%v: f32) {
    %c = tw.splat %v : f32 -> tensor<16x64x8xf32, #c>
    %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16x64x16xf16, #a>
    %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16x16x8xf16, #b>
    // expected-error @below {{takes two dimensions, got 3}}
    %d = tw.wgmma %a, %b, %c warps [0, 2, 0] : !tw.buffer<16x64x16xf16, #a>, !tw.buffer<16x16x8xf16, #b>, tensor<16x64x8xf32, #c>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @warpsAlongN(%v: f32) {
    %c = tw.splat %v : f32 -> tensor<64x8xf32, #c>
    %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x16xf16, #a>
    %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16x8xf16, #b>
    // expected-error @below {{needs four warps along M, 64 rows and 8 columns}}
    %d = tw.wgmma %a, %b, %c warps [1, 1] : !tw.buffer<64x16xf16, #a>, !tw.buffer<16x8xf16, #b>, tensor<64x8xf32, #c>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#a = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>
module attributes {tw.num_warps = 4 : i32} {
  func.func @firstOperandElsewhere(%v: f32, %w: f16) {
    %c = tw.splat %v : f32 -> tensor<64x8xf32, #c>
    %a = tw.splat %w : f16 -> tensor<64x16xf16, #a>
    %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16x8xf16, #b>
    // expected-error @below {{first operand has another layout than wgmma's}}
    %d = tw.wgmma %a, %b, %c warps [2, 0] : tensor<64x16xf16, #a>, !tw.buffer<16x8xf16, #b>, tensor<64x8xf32, #c>
    func.return
  }
}

// -----

#a = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @halfAWord(%w: f16) {
    %x = tw.splat %w : f16 -> tensor<128xf16, #a>
    // expected-error @below {{waits for a tile whose registers fill no word: 'tensor<128xf16}}
    %y = tw.wgmma_wait 0 %x : tensor<128xf16, #a> -> tensor<128xf16, #a>
    func.return
  }
}
