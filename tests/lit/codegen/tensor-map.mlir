// A tensor map that a program makes: the first warp puts it together in shared memory,
// copies it to global memory and acquires it.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/make.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=MAKE
// RUN: tilewright-opt %t/ring.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=RING
// RUN: not tilewright-opt %t/unplaced.mlir --tw-lower-to-llvm 2>&1 | FileCheck %s --check-prefix=UNPLACED
// RUN: not tilewright-opt %t/extents.mlir 2>&1 | FileCheck %s --check-prefix=EXTENTS
// RUN: not tilewright-opt %t/strides.mlir 2>&1 | FileCheck %s --check-prefix=STRIDES

//--- make.mlir
// Dimensions stand innermost first, strides in bytes. A block of 128 columns of two
// bytes is copied in boxes of 64. The copy uses the address without its flag, and does
// nothing where the array is empty. The map of an empty array is one of its own memory.
// MAKE: ld.param.u64 [[OWN:%rd[0-9]+]], [make_param_4];
// MAKE: setp.lt.s64 [[NONE:%p[0-9]+]], %rd{{[0-9]+}}, 1;
// MAKE: selp.b64 [[BASE:%rd[0-9]+]], [[OWN]], %rd{{[0-9]+}}, [[NONE]];
// MAKE: selp.b64 [[STRIDE:%rd[0-9]+]], 128, %rd{{[0-9]+}}, [[NONE]];
// MAKE: mov.u32 lane, %laneid;
// MAKE-NEXT: setp.eq.u32 mine, %r{{[0-9]+}}, 0;
// MAKE-NEXT: setp.eq.and.u32 first, lane, 0, mine;
// MAKE: bar.warp.sync -1;
// MAKE-NEXT: @mine st.shared.b32 [place], 0;
// MAKE-NEXT: bar.warp.sync -1;
// MAKE-NEXT: @first tensormap.replace.tile.rank.shared::cta.b1024.b32 [[[MAP:%r[0-9]+]]], 1;
// MAKE-NEXT: @first tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [[[MAP]]], 0, %r{{[0-9]+}};
// MAKE-NEXT: @first tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [[[MAP]]], 0, 64;
// MAKE-NEXT: @first tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [[[MAP]]], 0, 1;
// MAKE-NEXT: @first tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [[[MAP]]], 1, %r{{[0-9]+}};
// MAKE-NEXT: @first tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [[[MAP]]], 1, 16;
// MAKE-NEXT: @first tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [[[MAP]]], 1, 1;
// MAKE-NEXT: @first tensormap.replace.tile.global_address.shared::cta.b1024.b64 [[[MAP]]], [[BASE]];
// MAKE-NEXT: @first tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [[[MAP]]], 0, [[STRIDE]];
// MAKE-NEXT: @first tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [[[MAP]]], 10;
// MAKE-NEXT: @first tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [[[MAP]]], 0;
// MAKE-NEXT: @first tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [[[MAP]]], 3;
// MAKE-NEXT: @first tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [[[MAP]]], 1;
// MAKE-NEXT: bar.warp.sync -1;
// MAKE-NEXT: @mine tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [[[SLOT:%rd[0-9]+]]], [[[MAP]]], 128;
// MAKE-NEXT: @mine fence.proxy.tensormap::generic.acquire.gpu [[[SLOT]]], 128;
// MAKE: and.b64 %[[FLAG:rd[0-9]+]], %rd{{[0-9]+}}, 1;
// MAKE: setp.eq.b64 %[[EMPTY:p[0-9]+]], %[[FLAG]], 1;
// MAKE: or.pred %[[NOTHING:p[0-9]+]], [[NONE]], %[[EMPTY]];
// MAKE: not.pred %[[FULL:p[0-9]+]], %[[NOTHING]];
// MAKE: and.pred %[[STORES:p[0-9]+]], %p{{[0-9]+}}, %[[FULL]];
// MAKE: @%[[STORES]] cp.async.bulk.tensor.2d.global.shared::cta
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 136, 272, 544, 1024, 64]>
#m = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>
!buffer = !tw.buffer<16x128xbf16, #s>
!staging = !tw.buffer<128xi8, #m>
module attributes {tw.num_warps = 4 : i32} {
func.func @make(%x: !tw.ptr<bf16>, %m: i64, %n: i64, %i: i32, %scratch: !tw.ptr<i8>) {
  %zero = arith.constant 0 : i32
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !buffer
  %t = tw.alloc_shared {tw.scratch_offset = 4096 : i32} : !staging
  %d = tw.make_descriptor %x shape[%m, %n] strides[%n] scratch %scratch : !tw.ptr<i8> staging %t : !staging {padsWithNan} : !tw.ptr<bf16> -> !tw.descriptor<16x128xbf16>
  tw.tma_store %d[%i, %zero], %b : !tw.descriptor<16x128xbf16>, !buffer
  func.return
}
}

//--- ring.mlir
// Slots in turn, counted in a register; stores are waited for before one is written
// again.
// RING-NOT: .local
// RING: and.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 3;
// RING: cp.async.bulk.wait_group.read 0;
// RING-NEXT: mov.u32 lane, %laneid;
// RING: tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [{{.*}}], 2;
#s = #tw.shared<offset = [1, 2, 4, 8, 16]>
#m = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64]>
!buffer = !tw.buffer<32xi32, #s>
!staging = !tw.buffer<128xi8, #m>
module attributes {tw.num_warps = 1 : i32} {
func.func @ring(%x: !tw.ptr<i32>, %n: i64, %trips: i32, %scratch: !tw.ptr<i8>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !buffer
  %t = tw.alloc_shared {tw.scratch_offset = 1024 : i32} : !staging
  scf.for %i = %zero to %trips step %one : i32 {
    %p = tw.addptr %x, %i : !tw.ptr<i32>, i32
    %d = tw.make_descriptor %p shape[%n] strides[] scratch %scratch : !tw.ptr<i8> staging %t : !staging {isUnsigned, followsStores, slots = 4 : i32} : !tw.ptr<i32> -> !tw.descriptor<32xi32>
    tw.tma_store %d[%i], %b {reduction = #tw.atomic<umax>} : !tw.descriptor<32xi32>, !buffer
  }
  func.return
}
}

//--- unplaced.mlir
// UNPLACED: 'tw.make_descriptor' op has no place for its tensor map
module attributes {tw.num_warps = 1 : i32} {
func.func @unplaced(%x: !tw.ptr<i32>, %n: i64) {
  %d = tw.make_descriptor %x shape[%n] strides[] : !tw.ptr<i32> -> !tw.descriptor<32xi32>
  func.return
}
}

//--- extents.mlir
// EXTENTS: 'tw.make_descriptor' op has 1 extents for blocks of rank 2
func.func @extents(%x: !tw.ptr<i32>, %n: i64) {
  %d = tw.make_descriptor %x shape[%n] strides[%n] : !tw.ptr<i32> -> !tw.descriptor<4x32xi32>
  func.return
}

//--- strides.mlir
// STRIDES: 'tw.make_descriptor' op has 2 strides for blocks of rank 2; the last one is 1
func.func @strides(%x: !tw.ptr<i32>, %n: i64) {
  %d = tw.make_descriptor %x shape[%n, %n] strides[%n, %n] : !tw.ptr<i32> -> !tw.descriptor<4x32xi32>
  func.return
}
