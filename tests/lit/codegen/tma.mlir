// TMA copies, their barriers, and tensor maps as kernel parameters.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/panels.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=PANELS
// RUN: tilewright-opt %t/cut.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=CUT
// RUN: tilewright-opt %t/store.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=STORE
// RUN: tilewright-opt %t/barriers.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=BARRIERS
// RUN: not tilewright-opt %t/layout.mlir --tw-lower-to-llvm 2>&1 | FileCheck %s --check-prefix=LAYOUT
// RUN: not tilewright-opt %t/exchange.mlir --tw-lower-to-llvm 2>&1 | FileCheck %s --check-prefix=EXCHANGE
// RUN: not tilewright-opt %t/unplaced.mlir --tw-lower-to-llvm 2>&1 | FileCheck %s --check-prefix=UNPLACED

//--- panels.mlir
// 256 bytes per row: two panels of 128 bytes, 64 rows each, the second 8192 bytes
// and 64 columns further. Coordinates stand innermost first.
// PANELS: .param .align 64 .b8 panels_param_0[128]
// PANELS: cvta.param.u64 [[MAP:%rd[0-9]+]],
// PANELS: @[[FIRST:%p[0-9]+]] prefetch.tensormap [[[MAP]]];
// PANELS: @[[FIRST]] mbarrier.arrive.expect_tx.shared::cta.b64 _, [[[BARRIER:%r[0-9]+]]], 16384;
// PANELS: @[[FIRST]] cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [[[BUFFER:%r[0-9]+]]], [[[MAP]], {[[COLUMN:%r[0-9]+]], [[ROW:%r[0-9]+]]}], [[[BARRIER]]], %rd
// PANELS-DAG: add.s32 [[BUFFER2:%r[0-9]+]], [[BUFFER]], 8192;
// PANELS-DAG: add.s32 [[COLUMN2:%r[0-9]+]], [[COLUMN]], 64;
// PANELS: @[[FIRST]] cp.async.bulk.tensor.2d{{.*}} [[[BUFFER2]]], [[[MAP]], {[[COLUMN2]], [[ROW]]}], [[[BARRIER]]], %rd
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 2048, 4096, 64]>
!buffer = !tw.buffer<64x128xf16, #s>
module attributes {tw.num_warps = 4 : i32} {
func.func @panels(%in: !tw.descriptor<64x128xf16>, %i: i32, %j: i32) {
  %zero = arith.constant 0 : i32
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !buffer
  %m = tw.mbarrier_alloc 1 {tw.scratch_offset = 16384 : i32} : !tw.mbarrier<1>
  tw.barrier
  tw.mbarrier_expect %m[%zero], 16384 : !tw.mbarrier<1>
  tw.tma_load %in[%i, %j], %b, %m[%zero] {eviction = #tw.eviction<evict_first>} : !tw.descriptor<64x128xf16>, !buffer, !tw.mbarrier<1>
  func.return
}
}

//--- cut.mlir
// 512 rows pass the hardware's 256: two boxes for each of the two outer indices.
// CUT-COUNT-4: cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [
// CUT-NOT: cp.async.bulk.tensor
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]>
!buffer = !tw.buffer<2x512x16xi8, #s>
module attributes {tw.num_warps = 4 : i32} {
func.func @cut(%in: !tw.descriptor<2x512x16xi8>, %i: i32) {
  %zero = arith.constant 0 : i32
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !buffer
  %m = tw.mbarrier_alloc 1 {tw.scratch_offset = 16384 : i32} : !tw.mbarrier<1>
  tw.tma_load %in[%i, %i, %i], %b, %m[%zero] : !tw.descriptor<2x512x16xi8>, !buffer, !tw.mbarrier<1>
  func.return
}
}

//--- store.mlir
// Each store is one group, whatever the number of its boxes.
// STORE: fence.proxy.async.shared::cta;
// STORE: cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd{{[0-9]+}}, {%r{{[0-9]+}}}], [%r{{[0-9]+}}];
// STORE: cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group
// STORE: cp.async.bulk.commit_group;
// STORE: cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group
// STORE: cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group
// STORE: cp.async.bulk.commit_group;
// STORE: cp.async.bulk.wait_group.read 1;
// STORE: cp.async.bulk.wait_group 0;
// STORE: fence.proxy.async;
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 36]>
!buffer = !tw.buffer<64xf32, #s>
module attributes {tw.num_warps = 1 : i32} {
func.func @store(%out: !tw.descriptor<64xf32>, %i: i32) {
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !buffer
  tw.fence_async
  tw.tma_store %out[%i], %b : !tw.descriptor<64xf32>, !buffer
  tw.tma_store %out[%i], %b {reduction = #tw.atomic<fadd>} : !tw.descriptor<64xf32>, !buffer
  tw.tma_store_wait 1
  tw.tma_store_wait 0 complete %b : !buffer
  tw.fence_async global
  func.return
}
}

//--- barriers.mlir
// Slot 1 of a ring; one lane arrives for its warp; waiting is a loop.
// BARRIERS: mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 3;
// BARRIERS: mbarrier.init.shared::cta.b64 [[[SLOT1:%r[0-9]+]]], 3;
// BARRIERS: fence.mbarrier_init.release.cluster;
// BARRIERS: mbarrier.test_wait.parity.shared::cta.b64 done, [[[SLOT1]]], 0;
// BARRIERS-NEXT: selp.b32 [[PHASE:%r[0-9]+]], 1, 0, done;
// BARRIERS: bar.warp.sync
// BARRIERS: mbarrier.arrive.shared::cta.b64 _, [[[SLOT1]]];
// BARRIERS: again:
// BARRIERS-NEXT: mbarrier.try_wait.parity.shared::cta.b64 done, [[[SLOT1]]], [[PHASE]];
// BARRIERS-NEXT: @!done bra again;
// BARRIERS: shfl.sync.idx.b32
module attributes {tw.num_warps = 4 : i32} {
func.func @barriers(%x: !tw.ptr<i1>) {
  %one = arith.constant 1 : i32
  %m = tw.mbarrier_alloc 3 {tw.scratch_offset = 64 : i32} : !tw.mbarrier<2>
  tw.barrier
  %phase = tw.mbarrier_phase %m[%one] : !tw.mbarrier<2>
  tw.mbarrier_arrive %m[%one] : !tw.mbarrier<2>
  tw.mbarrier_wait %m[%one], %phase : !tw.mbarrier<2>
  %first = tw.is_first_warp
  tw.store %x, %first : !tw.ptr<i1>, i1
  func.return
}
}

//--- layout.mlir
// LAYOUT: error: 'tw.tma_store' op needs a '!tw.buffer<{{.*}}36]>>', got
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32]>
module attributes {tw.num_warps = 1 : i32} {
func.func @layout(%out: !tw.descriptor<64xf32>, %i: i32) {
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64xf32, #s>
  tw.tma_store %out[%i], %b : !tw.descriptor<64xf32>, !tw.buffer<64xf32, #s>
  func.return
}
}

//--- exchange.mlir
// EXCHANGE: error: 'tw.tma_store' op TMA has no reduction exchange
#s = #tw.shared<offset = [1, 2, 4, 8, 16]>
module attributes {tw.num_warps = 1 : i32} {
func.func @exchange(%out: !tw.descriptor<32xi32>, %i: i32) {
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<32xi32, #s>
  tw.tma_store %out[%i], %b {reduction = #tw.atomic<exchange>} : !tw.descriptor<32xi32>, !tw.buffer<32xi32, #s>
  func.return
}
}

//--- unplaced.mlir
// UNPLACED: error: 'tw.mbarrier_alloc' op has no place in shared memory
func.func @unplaced() {
  %m = tw.mbarrier_alloc 1 : !tw.mbarrier<1>
  func.return
}
