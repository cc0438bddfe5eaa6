// Products by fma of tiles in shared memory: a loop along K that stays one.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/loop.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=LOOP
// RUN: not tilewright-opt %t/layout.mlir --tw-lower-to-llvm 2>&1 | FileCheck %s --check-prefix=LAYOUT
// RUN: not tilewright-opt %t/shapes.mlir 2>&1 | FileCheck %s --check-prefix=SHAPES
// RUN: not tilewright-opt %t/ring.mlir 2>&1 | FileCheck %s --check-prefix=RING

//--- loop.mlir
// 16 elements of K a round, two rows and two columns of each thread: a vector of
// four for A's rows, which lie along K, pairs for B's.
// LOOP: $L__BB0_1:
// LOOP-COUNT-8: ld.shared.v4.f32
// LOOP-COUNT-16: ld.shared.v2.f32
// LOOP-COUNT-64: fma.rn.f32
// LOOP-NOT: fma.rn.f32
// LOOP: bra{{.*}} $L__BB0_1;
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>
module attributes {tw.num_warps = 1 : i32} {
func.func @loop(%z: f32, %out: !tw.ptr<f32>) {
  %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16x64xf32, #a>
  %b = tw.alloc_shared {tw.scratch_offset = 4096 : i32} : !tw.buffer<64x8xf32, #b>
  %c = tw.splat %z : f32 -> tensor<16x8xf32, #c>
  %d = tw.shared_dot %a, %b, %c warps [0, 0] : !tw.buffer<16x64xf32, #a>, !tw.buffer<64x8xf32, #b>, tensor<16x8xf32, #c>
  %i = tw.range 0 to 128 : tensor<128xi32, #c>
  %j = tw.reshape %i : tensor<128xi32, #c> -> tensor<16x8xi32, #c>
  %s = tw.splat %out : !tw.ptr<f32> -> tensor<16x8x!tw.ptr<f32>, #c>
  %p = tw.addptr %s, %j : tensor<16x8x!tw.ptr<f32>, #c>, tensor<16x8xi32, #c>
  tw.store %p, %d : tensor<16x8x!tw.ptr<f32>, #c>, tensor<16x8xf32, #c>
  func.return
}
}

//--- layout.mlir
// LAYOUT: accumulator has another layout than mma's
#c = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
#a = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
#b = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>
module attributes {tw.num_warps = 1 : i32} {
func.func @layout(%z: f32) {
  %a = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16x64xf32, #a>
  %b = tw.alloc_shared {tw.scratch_offset = 4096 : i32} : !tw.buffer<64x8xf32, #b>
  %c = tw.splat %z : f32 -> tensor<16x8xf32, #c>
  %d = tw.shared_dot %a, %b, %c warps [0, 0] : !tw.buffer<16x64xf32, #a>, !tw.buffer<64x8xf32, #b>, tensor<16x8xf32, #c>
  func.return
}
}

//--- shapes.mlir
// SHAPES: inner extents differ: 64 and 32
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
#t = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
func.func @shapes(%a: !tw.buffer<16x64xf32, #s>, %b: !tw.buffer<32x8xf32, #t>, %c: tensor<16x8xf32>) {
  %d = tw.shared_dot %a, %b, %c warps [0, 0] : !tw.buffer<16x64xf32, #s>, !tw.buffer<32x8xf32, #t>, tensor<16x8xf32>
  return
}

//--- ring.mlir
// RING: takes one tile, got a ring of 2
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
#t = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>
func.func @ring(%a: !tw.buffer<16x64xf32, #s, 2>, %b: !tw.buffer<64x8xf32, #t>, %c: tensor<16x8xf32>) {
  %d = tw.shared_dot %a, %b, %c warps [0, 0] : !tw.buffer<16x64xf32, #s, 2>, !tw.buffer<64x8xf32, #t>, tensor<16x8xf32>
  return
}
