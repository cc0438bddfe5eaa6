// Products by warpgroups: instruction forms, descriptors, groups and waits.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/sync.mlir --tw-emit-ptx -o /dev/null | FileCheck %s --check-prefix=SYNC
// RUN: tilewright-opt %t/zero.mlir --tw-emit-ptx -o /dev/null | FileCheck %s --check-prefix=ZERO
// RUN: tilewright-opt %t/registers.mlir --tw-emit-ptx -o /dev/null | FileCheck %s --check-prefix=REGISTERS
// RUN: tilewright-opt %t/promoted.mlir --tw-emit-ptx -o /dev/null | FileCheck %s --check-prefix=PROMOTED
// RUN: tilewright-opt %t/integers.mlir --tw-emit-ptx -o /dev/null | FileCheck %s --check-prefix=INTEGERS

//--- sync.mlir
// Two k steps of one row block, waited for; the accumulator is passed in. Rows
// of 64 bytes: mode 2, eight rows every 512 bytes (2 << 30 | 32).
// SYNC: wgmma.fence.sync.aligned;
// SYNC: add.u32 word, {{%r[0-9]+}}, 0;
// SYNC-NEXT: mov.b64 descA, {word, 2147483680};
// SYNC: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {[[D:%f[0-9]+, .*]]}, descA, descB, add, 1, 1, 0, 0;
// SYNC: add.u32 word, {{%r[0-9]+}}, 2;
// SYNC: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {[[D]]}, descA, descB, add, 1, 1, 0, 0;
// SYNC: wgmma.commit_group.sync.aligned;
// SYNC: wgmma.wait_group.sync.aligned 0;
// SYNC-NOT: wgmma
#b = #tw.shared<offset = [16, 32, 64, 128, 256, 1, 130, 260, 8]>
#c = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [256, 512], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32} {
func.func @sync(%x: f32, %out: !tw.ptr<f32>) {
  %acc = tw.splat %x : f32 -> tensor<64x16xf32, #c>
  %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x32xf16, #a>
  %b = tw.alloc_shared {tw.scratch_offset = 4096 : i32} : !tw.buffer<32x16xf16, #b>
  %f = tw.wgmma %a, %b, %acc warps [2, 0] : !tw.buffer<64x32xf16, #a>, !tw.buffer<32x16xf16, #b>, tensor<64x16xf32, #c>
  %p = tw.splat %out : !tw.ptr<f32> -> tensor<64x16x!tw.ptr<f32>, #c>
  tw.store %p, %f : tensor<64x16x!tw.ptr<f32>, #c>, tensor<64x16xf32, #c>
  func.return
}
}

//--- zero.mlir
// A zero accumulator is not made: the first step overwrites. Both operands lie
// along M and N; the wait is an op of its own.
// ZERO-NOT: 0f00000000
// ZERO: m64n16k16.f32.bf16.bf16 {{{.*}}}, descA, descB, zero, 1, 1, 1, 1;
// ZERO-NEXT: wgmma.commit_group.sync.aligned;
// ZERO-NEXT: }
// ZERO: wgmma.wait_group.sync.aligned 0;
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 128]>
#c = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [256, 512], block = []>
#a = #tw.shared<offset = [16, 32, 64, 128, 256, 512, 129, 258, 516, 8]>
module attributes {tw.num_warps = 4 : i32} {
func.func @zero(%x: f32, %out: !tw.ptr<f32>) {
  %acc = arith.constant dense<0.0> : tensor<64x16xf32, #c>
  %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x16xbf16, #a>
  %b = tw.alloc_shared {tw.scratch_offset = 2048 : i32} : !tw.buffer<16x16xbf16, #b>
  %d = tw.wgmma %a, %b, %acc async warps [2, 0] : !tw.buffer<64x16xbf16, #a>, !tw.buffer<16x16xbf16, #b>, tensor<64x16xf32, #c>
  %f = tw.wgmma_wait 0 %d : tensor<64x16xf32, #c> -> tensor<64x16xf32, #c>
  %p = tw.splat %out : !tw.ptr<f32> -> tensor<64x16x!tw.ptr<f32>, #c>
  tw.store %p, %f : tensor<64x16x!tw.ptr<f32>, #c>, tensor<64x16xf32, #c>
  func.return
}
}

//--- registers.mlir
// The first operand from registers; f16 accumulators are pairs.
// REGISTERS: m64n8k16.f16.f16.f16 {{{%r[0-9]+, %r[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+}}}, descB, add, 1, 1, 0;
#b = #tw.shared<offset = [8, 16, 32, 64, 1, 2, 68]>
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#t = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [256, 512], block = []>
module attributes {tw.num_warps = 4 : i32} {
func.func @registers(%x: f16, %y: f16, %out: !tw.ptr<f16>) {
  %acc = tw.splat %x : f16 -> tensor<64x8xf16, #c>
  %a = tw.splat %y : f16 -> tensor<64x16xf16, #t>
  %b = tw.alloc_shared {tw.scratch_offset = 2048 : i32} : !tw.buffer<16x8xf16, #b>
  %f = tw.wgmma %a, %b, %acc warps [2, 0] : tensor<64x16xf16, #t>, !tw.buffer<16x8xf16, #b>, tensor<64x8xf16, #c>
  %p = tw.splat %out : !tw.ptr<f16> -> tensor<64x8x!tw.ptr<f16>, #c>
  tw.store %p, %f : tensor<64x8x!tw.ptr<f16>, #c>, tensor<64x8xf16, #c>
  func.return
}
}

//--- promoted.mlir
// Every 64 elements of K the products are added in full precision.
// PROMOTED: m64n8k32.f32.e4m3.e5m2 {{{.*}}}, descA, descB, zero, 1, 1;
// PROMOTED: m64n8k32.f32.e4m3.e5m2 {{{.*}}}, descA, descB, add, 1, 1;
// PROMOTED: wgmma.wait_group.sync.aligned 0;
// PROMOTED: add.{{(rn.)?}}f32
// PROMOTED: m64n8k32.f32.e4m3.e5m2 {{{.*}}}, descA, descB, zero, 1, 1;
// PROMOTED: m64n8k32.f32.e4m3.e5m2 {{{.*}}}, descA, descB, add, 1, 1;
// PROMOTED: add.{{(rn.)?}}f32
#b = #tw.shared<offset = [8, 16, 32, 64, 128, 256, 512, 129, 258, 516]>
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [128, 256], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 144, 288, 576, 1024, 2048, 4096]>
module attributes {tw.num_warps = 4 : i32} {
func.func @promoted(%x: f32, %out: !tw.ptr<f32>) {
  %acc = tw.splat %x : f32 -> tensor<64x8xf32, #c>
  %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64x128xf8E4M3FN, #a>
  %b = tw.alloc_shared {tw.scratch_offset = 8192 : i32} : !tw.buffer<128x8xf8E5M2, #b>
  %f = tw.wgmma %a, %b, %acc warps [2, 0] {maxImprecise = 64 : i32} : !tw.buffer<64x128xf8E4M3FN, #a>, !tw.buffer<128x8xf8E5M2, #b>, tensor<64x8xf32, #c>
  %p = tw.splat %out : !tw.ptr<f32> -> tensor<64x8x!tw.ptr<f32>, #c>
  tw.store %p, %f : tensor<64x8x!tw.ptr<f32>, #c>, tensor<64x8xf32, #c>
  func.return
}
}

//--- integers.mlir
// Two row blocks, and each warpgroup has eight columns: the start of its part of
// B is added to the address.
// INTEGERS: shfl.sync.idx
// INTEGERS: m64n8k32.s32.s8.s8 {{.*}}, descA, descB, add;
// INTEGERS: m64n8k32.s32.s8.s8 {{.*}}, descA, descB, add;
#b = #tw.shared<offset = [16, 32, 64, 128, 256, 1, 2, 260, 8]>
#c = #tw.layout<register = [1, 128, 1024], lane = [2, 4, 16, 32, 64], warp = [256, 512, 8], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 144, 256, 512, 1024, 2048]>
module attributes {tw.num_warps = 8 : i32} {
func.func @integers(%x: i32, %out: !tw.ptr<i32>) {
  %acc = tw.splat %x : i32 -> tensor<128x16xi32, #c>
  %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<128x32xi8, #a>
  %b = tw.alloc_shared {tw.scratch_offset = 4096 : i32} : !tw.buffer<32x16xi8, #b>
  %f = tw.wgmma %a, %b, %acc warps [2, 1] : !tw.buffer<128x32xi8, #a>, !tw.buffer<32x16xi8, #b>, tensor<128x16xi32, #c>
  %p = tw.splat %out : !tw.ptr<i32> -> tensor<128x16x!tw.ptr<i32>, #c>
  tw.store %p, %f : tensor<128x16x!tw.ptr<i32>, #c>, tensor<128x16xi32, #c>
  func.return
}
}
