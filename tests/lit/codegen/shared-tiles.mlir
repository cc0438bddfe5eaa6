// Tiles in shared memory: matrix instructions, vectors, slots, asynchronous copies.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/tile.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefixes=TILE,SM80
// RUN: tilewright-opt %t/tile.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefixes=TILE,SM90
// RUN: tilewright-opt %t/permuted.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=TRANS
// RUN: tilewright-opt %t/copies.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=COPY
// RUN: tilewright-opt %t/narrow.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=NARROW
// RUN: tilewright-opt %t/own.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=OWN
// RUN: sed 's/{isOwn} //' %t/own.mlir | tilewright-opt --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=ANY
// RUN: tilewright-opt %t/turns.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=TURNS
// RUN: not tilewright-opt %t/unplaced.mlir --tw-lower-to-llvm 2>&1 | FileCheck %s --check-prefix=UNPLACED
// RUN: tilewright-opt %t/pieces.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=PIECES
// RUN: sed 's/{inPieces} //' %t/pieces.mlir | tilewright-opt --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/.. WRITE HERE/tw.barrier/' %t/pieces.mlir | tilewright-opt --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/%r, %zero/%r, %e/; s/.. WRITE HERE/%e = tw.dot %one, %r, %zero {unit = #tw.unit<mma>, warps = array<i32: 0, 0>} : tensor<16x16xf16, #a>, tensor<16x32xf16, #b>, tensor<16x32xf32, #c>/' %t/pieces.mlir | tilewright-opt --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=TWICE

//--- tile.mlir
// A swizzled 64x32 tile: slot 1 of a ring begins 4096 bytes after the first;
// accumulators go with ldmatrix and, where it exists, stmatrix; the second access
// differs by one exclusive or, and rows by immediates.
// TILE: .extern .shared .align 1024 .b8 __tw_shared[];
// TILE: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{.*}}, [%r{{[0-9]+}}+0];
// TILE: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// TILE-NOT: ldmatrix
// TILE: bar.sync
// SM80-COUNT-8: st.shared.{{[bu]}}32
// SM80-NOT: stmatrix
// SM90-COUNT-2: stmatrix.sync.aligned.m8n8.x4.shared.b16 [
// SM90-NOT: st.shared
// TILE: bar.sync
// TILE: ld.shared.v4.{{[bu]}}32
// TILE: ld.shared.v4.{{[bu]}}32 {{.*}}+2048]
#p = #tw.layout<register = [1, 2, 4, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 256, 512, 1024]>
#acc = #tw.layout<register = [1, 256, 8, 16], lane = [2, 4, 32, 64, 128], warp = [512, 1024], block = []>
module attributes {tw.num_warps = 4 : i32} {
func.func @tile(%x: !tw.ptr<f16>, %m: i32) {
  %r = tw.range 0 to 2048 : tensor<2048xi32, #p>
  %r2 = tw.reshape %r : tensor<2048xi32, #p> -> tensor<64x32xi32, #p>
  %xs = tw.splat %x : !tw.ptr<f16> -> tensor<64x32x!tw.ptr<f16>, #p>
  %p = tw.addptr %xs, %r2 : tensor<64x32x!tw.ptr<f16>, #p>, tensor<64x32xi32, #p>
  %ring = tw.alloc_shared {tw.scratch_offset = 1024 : i32} : !tw.buffer<64x32xf16, #s, 3>
  %b = tw.buffer_slot %ring[%m] : !tw.buffer<64x32xf16, #s, 3> -> !tw.buffer<64x32xf16, #s>
  %a = tw.shared_load %b : !tw.buffer<64x32xf16, #s> -> tensor<64x32xf16, #acc>
  tw.barrier
  %z = arith.addf %a, %a : tensor<64x32xf16, #acc>
  tw.shared_store %z, %b : tensor<64x32xf16, #acc>, !tw.buffer<64x32xf16, #s>
  tw.barrier
  %c = tw.shared_load %b : !tw.buffer<64x32xf16, #s> -> tensor<64x32xf16, #p>
  tw.store %p, %c {tw.vector_elements = 8 : i32} : tensor<64x32x!tw.ptr<f16>, #p>, tensor<64x32xf16, #p>
  func.return
}
}

//--- permuted.mlir
// B (k x n) from a tile that is stored with k slowest comes transposed; seen
// through a permutation, the same bytes come plain. `init` is written at once.
// TRANS: st.shared.v4.{{[bu]}}32
// TRANS: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// TRANS: ldmatrix.sync.aligned.m8n8.x4.shared.b16
#p = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
#t = #tw.shared<offset = [16, 32, 64, 128, 1, 2, 4, 8]>
#b = #tw.layout<register = [16, 128, 8], lane = [32, 64, 1, 2, 4], warp = [], block = []>
#bt = #tw.layout<register = [16, 128, 8], lane = [32, 64, 1, 2, 4], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @permuted(%x: !tw.ptr<f16>) {
  %r = tw.range 0 to 256 : tensor<256xi32, #p>
  %r2 = tw.reshape %r : tensor<256xi32, #p> -> tensor<16x16xi32, #p>
  %xs = tw.splat %x : !tw.ptr<f16> -> tensor<16x16x!tw.ptr<f16>, #p>
  %p = tw.addptr %xs, %r2 : tensor<16x16x!tw.ptr<f16>, #p>, tensor<16x16xi32, #p>
  %v = tw.load %p {tw.vector_elements = 8 : i32} : tensor<16x16x!tw.ptr<f16>, #p> -> tensor<16x16xf16, #p>
  %m = tw.alloc_shared %v : tensor<16x16xf16, #p> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<16x16xf16, #s>
  tw.barrier
  %a = tw.shared_load %m : !tw.buffer<16x16xf16, #s> -> tensor<16x16xf16, #b>
  %t = tw.buffer_permute %m [1, 0] : !tw.buffer<16x16xf16, #s> -> !tw.buffer<16x16xf16, #t>
  %c = tw.shared_load %t : !tw.buffer<16x16xf16, #t> -> tensor<16x16xf16, #bt>
  %d = arith.addf %a, %c : tensor<16x16xf16, #b>
  %q = tw.splat %x : !tw.ptr<f16> -> tensor<16x16x!tw.ptr<f16>, #b>
  tw.store %q, %d : tensor<16x16x!tw.ptr<f16>, #b>, tensor<16x16xf16, #b>
  func.return
}
}

//--- copies.mlir
// With a mask the source is 0 bytes long; `other` is stored under the opposite
// mask; hints as on loads; what is not proven wide is copied by 4 bytes.
// COPY: selp.b32 [[SIZE:%r[0-9]+]], 16, 0
// COPY: cp.async.cg.shared.global [%r{{[0-9]+}}+0], [%rd{{[0-9]+}}], 16, [[SIZE]];
// COPY: cp.async.commit_group
// COPY: @%p{{[0-9]+}} cp.async.cg.shared.global [%r{{[0-9]+}}+0], [%rd{{[0-9]+}}], 16;
// COPY: @%p{{[0-9]+}} st.shared.v4.b32
// COPY: cp.async.ca.shared.global.L2::cache_hint [%r{{[0-9]+}}+0], [%rd{{[0-9]+}}], 16, %rd
// COPY-COUNT-4: cp.async.ca.shared.global [{{.*}}], 4;
// COPY: cp.async.wait_group 1
#p = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>
module attributes {tw.num_warps = 1 : i32} {
func.func @copies(%x: !tw.ptr<f32>, %n: i32) {
  %r = tw.range 0 to 128 : tensor<128xi32, #p>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #p>
  %p = tw.addptr %xs, %r : tensor<128x!tw.ptr<f32>, #p>, tensor<128xi32, #p>
  %ns = tw.splat %n : i32 -> tensor<128xi32, #p>
  %mask = arith.cmpi slt, %r, %ns : tensor<128xi32, #p>
  %zero = arith.constant dense<0.0> : tensor<128xf32, #p>
  %one = arith.constant dense<1.0> : tensor<128xf32, #p>
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<128xf32, #s>
  tw.async_copy %p, %b mask %mask : tensor<128xi1, #p> other %zero : tensor<128xf32, #p> {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<f32>, #p>, !tw.buffer<128xf32, #s>
  tw.async_commit
  tw.async_copy %p, %b mask %mask : tensor<128xi1, #p> other %one : tensor<128xf32, #p> {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<f32>, #p>, !tw.buffer<128xf32, #s>
  tw.async_copy %p, %b {tw.vector_elements = 4 : i32, cache = #tw.cache<ca>, eviction = #tw.eviction<evict_first>} : tensor<128x!tw.ptr<f32>, #p>, !tw.buffer<128xf32, #s>
  tw.async_copy %p, %b : tensor<128x!tw.ptr<f32>, #p>, !tw.buffer<128xf32, #s>
  tw.async_commit
  tw.async_wait 1
  func.return
}
}

//--- narrow.mlir
// Two bytes cannot be copied asynchronously: loaded and stored. Of the lanes that
// hold copies one acts.
// NARROW: ld.global
// NARROW: @%p{{[0-9]+}} st.shared.b16 [%r{{[0-9]+}}+0]
// NARROW-NOT: cp.async.ca
#p = #tw.layout<register = [], lane = [1, 2, 4, 8, 0], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8]>
module attributes {tw.num_warps = 1 : i32} {
func.func @narrow(%x: !tw.ptr<f16>) {
  %r = tw.range 0 to 16 : tensor<16xi32, #p>
  %xs = tw.splat %x : !tw.ptr<f16> -> tensor<16x!tw.ptr<f16>, #p>
  %p = tw.addptr %xs, %r : tensor<16x!tw.ptr<f16>, #p>, tensor<16xi32, #p>
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<16xf16, #s>
  tw.async_copy %p, %b : tensor<16x!tw.ptr<f16>, #p>, !tw.buffer<16xf16, #s>
  func.return
}
}

//--- unplaced.mlir
// UNPLACED: has no place in shared memory
#s = #tw.shared<offset = [1, 2, 4, 8]>
func.func @unplaced() {
  %b = tw.alloc_shared : !tw.buffer<16xf16, #s>
  func.return
}

//--- own.mlir
// What each thread copied itself it reads itself: ldmatrix takes the addresses of other
// lanes, whose copies this lane has not waited for.
// OWN: cp.async.wait_group 0
// OWN-NOT: ldmatrix
// OWN-COUNT-4: ld.shared.{{[bfu]}}32
// ANY: cp.async.wait_group 0
// ANY: ldmatrix.sync.aligned.m8n8.x4.shared.b16
#a = #tw.layout<register = [32, 64], lane = [1, 2, 4, 8, 16], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>
module attributes {tw.num_warps = 1 : i32} {
func.func @own(%x: !tw.ptr<f32>) {
  %r = tw.range 0 to 128 : tensor<128xi32, #a>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #a>
  %p = tw.addptr %xs, %r : tensor<128x!tw.ptr<f32>, #a>, tensor<128xi32, #a>
  %m = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<128xf32, #s>
  tw.async_copy %p, %m : tensor<128x!tw.ptr<f32>, #a>, !tw.buffer<128xf32, #s>
  tw.async_commit
  tw.async_wait 0
  %v = tw.shared_load %m {isOwn} : !tw.buffer<128xf32, #s> -> tensor<128xf32, #a>
  tw.store %p, %v : tensor<128x!tw.ptr<f32>, #a>, tensor<128xf32, #a>
  func.return
}
}

//--- pieces.mlir
// A product reads its operand piece by piece where that is asked for. Otherwise, and where
// something is written in between, all of it is read first.
// PIECES: ldmatrix
// PIECES: mma.sync
// PIECES: mma.sync
// PIECES: ldmatrix
// PIECES: mma.sync
// WHOLE-COUNT-2: ldmatrix
// WHOLE-COUNT-4: mma.sync
// Two products that use one load: it stays before the first of them.
// TWICE-COUNT-2: ldmatrix
// TWICE-NOT: ldmatrix
// TWICE-COUNT-8: mma.sync
#a = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#b = #tw.layout<register = [32, 256, 8, 16], lane = [64, 128, 1, 2, 4], warp = [], block = []>
#c = #tw.layout<register = [1, 256, 8, 16], lane = [2, 4, 32, 64, 128], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>
module attributes {tw.num_warps = 1 : i32, tw.shared_bytes = 1024 : i32} {
func.func @pieces(%p: !tw.ptr<f32>, %q: !tw.ptr<f16>) {
  %w = tw.range 0 to 512 : tensor<512xi32, #b>
  %i = tw.reshape %w : tensor<512xi32, #b> -> tensor<16x32xi32, #b>
  %qs = tw.splat %q : !tw.ptr<f16> -> tensor<16x32x!tw.ptr<f16>, #b>
  %qp = tw.addptr %qs, %i : tensor<16x32x!tw.ptr<f16>, #b>, tensor<16x32xi32, #b>
  %v = tw.load %qp : tensor<16x32x!tw.ptr<f16>, #b> -> tensor<16x32xf16, #b>
  %m = tw.alloc_shared %v : tensor<16x32xf16, #b> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<16x32xf16, #s>
  tw.barrier
  %one = arith.constant dense<1.0> : tensor<16x16xf16, #a>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32, #c>
  %r = tw.shared_load %m {inPieces} : !tw.buffer<16x32xf16, #s> -> tensor<16x32xf16, #b>
  // WRITE HERE
  %d = tw.dot %one, %r, %zero {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
      : tensor<16x16xf16, #a>, tensor<16x32xf16, #b>, tensor<16x32xf32, #c>
  %u = tw.range 0 to 512 : tensor<512xi32, #c>
  %j = tw.reshape %u : tensor<512xi32, #c> -> tensor<16x32xi32, #c>
  %ps = tw.splat %p : !tw.ptr<f32> -> tensor<16x32x!tw.ptr<f32>, #c>
  %pp = tw.addptr %ps, %j : tensor<16x32x!tw.ptr<f32>, #c>, tensor<16x32xi32, #c>
  tw.store %pp, %d : tensor<16x32x!tw.ptr<f32>, #c>, tensor<16x32xf32, #c>
  func.return
}
}

//--- turns.mlir
// Eight lanes have columns that are eight apart, which are at one bank: each takes its
// eight columns in an order of its own, and what it has read goes back by the same selects.
// TURNS-COUNT-24: selp.{{[bf]}}32
// TURNS-NOT: selp
// TURNS-COUNT-8: st.shared.{{[bu]}}32
// TURNS: bar
// TURNS-NOT: selp
// TURNS-COUNT-8: ld.shared.{{[bu]}}32
// TURNS-COUNT-24: selp.{{[bf]}}32
// TURNS-NOT: selp
#p = #tw.layout<register = [1, 2, 4], lane = [64, 128, 8, 16, 32], warp = [], block = []>
#s = #tw.shared<offset = [64, 128, 1, 2, 4, 8, 16, 32]>
module attributes {tw.num_warps = 1 : i32} {
func.func @turns(%x: !tw.ptr<f32>) {
  %r = tw.range 0 to 256 : tensor<256xi32, #p>
  %r2 = tw.reshape %r : tensor<256xi32, #p> -> tensor<4x64xi32, #p>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<4x64x!tw.ptr<f32>, #p>
  %p = tw.addptr %xs, %r2 : tensor<4x64x!tw.ptr<f32>, #p>, tensor<4x64xi32, #p>
  %a = tw.load %p {tw.vector_elements = 4 : i32} : tensor<4x64x!tw.ptr<f32>, #p> -> tensor<4x64xf32, #p>
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<4x64xf32, #s>
  tw.shared_store %a, %b : tensor<4x64xf32, #p>, !tw.buffer<4x64xf32, #s>
  tw.barrier
  %c = tw.shared_load %b {isOwn} : !tw.buffer<4x64xf32, #s> -> tensor<4x64xf32, #p>
  tw.store %p, %c {tw.vector_elements = 4 : i32} : tensor<4x64x!tw.ptr<f32>, #p>, tensor<4x64xf32, #p>
  func.return
}
}
