// Atomics: who does them, and how their results reach the others.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/tile.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=TILE
// RUN: tilewright-opt %t/several.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=SEVERAL
// RUN: tilewright-opt %t/scalar.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=SCALAR
// RUN: tilewright-opt %t/lanes.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=LANES
// RUN: tilewright-opt %t/bf16.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=NATIVE
// RUN: tilewright-opt %t/bf16.mlir --tw-emit-ptx=target=sm_86 -o /dev/null | FileCheck %s --check-prefix=RETRY
// RUN: tilewright-opt %t/vectors.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=VECTORS
// RUN: tilewright-opt %t/extremum.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=EXTREMUM

//--- tile.mlir
// Nobody reads the result: red, and acq_rel needs only its release half.
// TILE: @%p{{[0-9]+}} red.release.gpu.global.add.f32 [
// TILE: atom.relaxed.sys.global.max.s32 %r{{[0-9]+}}, [
#b = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @tile(%x: !tw.ptr<f32>, %y: !tw.ptr<i32>, %n: i32) {
  %r = tw.range 0 to 32 : tensor<32xi32, #b>
  %ns = tw.splat %n : i32 -> tensor<32xi32, #b>
  %m = arith.cmpi slt, %r, %ns : tensor<32xi32, #b>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #b>
  %one = arith.constant dense<1.0> : tensor<32xf32, #b>
  %o = tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %xs, %one mask %m : tensor<32xi1, #b> : tensor<32x!tw.ptr<f32>, #b>, tensor<32xf32, #b>
  %ys = tw.splat %y : !tw.ptr<i32> -> tensor<32x!tw.ptr<i32>, #b>
  %q = tw.atomic_rmw <smax>, <relaxed>, <sys>, %ys, %r : tensor<32x!tw.ptr<i32>, #b>, tensor<32xi32, #b>
  tw.store %ys, %q : tensor<32x!tw.ptr<i32>, #b>, tensor<32xi32, #b>
  func.return
}
}

//--- several.mlir
// Four elements per thread are ordered by one fence; after them only where something
// is acquired. Warp 1 has copies and takes no part.
// SEVERAL: @%p{{[0-9]+}} fence.acq_rel.gpu;
// SEVERAL-NOT: fence
// SEVERAL-COUNT-4: red.relaxed.gpu.global.add.f32 [
// SEVERAL-NOT: fence
// SEVERAL: @%p{{[0-9]+}} fence.acq_rel.sys;
// SEVERAL-NOT: fence
// SEVERAL-COUNT-4: atom.relaxed.sys.global.max.s32
// SEVERAL: @%p{{[0-9]+}} fence.acq_rel.sys;
// SEVERAL-NOT: fence
// SEVERAL: ret;
#f = #tw.layout<register = [32, 64], lane = [1, 2, 4, 8, 16], warp = [0], block = []>
module attributes {tw.num_warps = 2 : i32} {
func.func @several(%x: !tw.ptr<f32>, %y: !tw.ptr<i32>) {
  %r = tw.range 0 to 128 : tensor<128xi32, #f>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #f>
  %one = arith.constant dense<1.0> : tensor<128xf32, #f>
  %o = tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %xs, %one : tensor<128x!tw.ptr<f32>, #f>, tensor<128xf32, #f>
  %ys = tw.splat %y : !tw.ptr<i32> -> tensor<128x!tw.ptr<i32>, #f>
  %q = tw.atomic_rmw <smax>, <acq_rel>, <sys>, %ys, %r {tw.scratch_offset = 0 : i32} : tensor<128x!tw.ptr<i32>, #f>, tensor<128xi32, #f>
  tw.store %ys, %q : tensor<128x!tw.ptr<i32>, #f>, tensor<128xi32, #f>
  func.return
}
}

//--- scalar.mlir
// Thread 0 does it once and tells all through shared memory.
// SCALAR: setp.eq.s32 [[FIRST:%p[0-9]+]], %r{{[0-9]+}}, 0
// SCALAR: @[[FIRST]] atom.global.acq_rel.gpu.cas.b32
// SCALAR: @[[FIRST]] st.shared.b32
// SCALAR: bar.sync
// SCALAR: ld.shared.{{[buf]}}32 {{.*}}[__tw_shared+64]
module attributes {tw.num_warps = 4 : i32} {
func.func @scalar(%y: !tw.ptr<i32>, %a: i32, %b: i32) {
  %c = tw.atomic_cas <acq_rel>, <gpu>, %y, %a, %b {tw.scratch_offset = 64 : i32} : !tw.ptr<i32>, i32
  tw.store %y, %c : !tw.ptr<i32>, i32
  func.return
}
}

//--- lanes.mlir
// Lanes 16 to 31 hold copies: they get the value by a shuffle.
// LANES: @%p{{[0-9]+}} atom.relaxed.gpu.global.exch.b64
// LANES-COUNT-2: shfl.sync.idx.b32
#d = #tw.layout<register = [], lane = [1, 2, 4, 8, 0], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @lanes(%y: !tw.ptr<i64>, %z: !tw.ptr<i64>, %v: i64) {
  %r = tw.range 0 to 16 : tensor<16xi32, #d>
  %ys = tw.splat %y : !tw.ptr<i64> -> tensor<16x!tw.ptr<i64>, #d>
  %p = tw.addptr %ys, %r : tensor<16x!tw.ptr<i64>, #d>, tensor<16xi32, #d>
  %vs = tw.splat %v : i64 -> tensor<16xi64, #d>
  %q = tw.atomic_rmw <exchange>, <relaxed>, <gpu>, %p, %vs : tensor<16x!tw.ptr<i64>, #d>, tensor<16xi64, #d>
  tw.store %p, %q : tensor<16x!tw.ptr<i64>, #d>, tensor<16xi64, #d>
  func.return
}
}

//--- bf16.mlir
// NATIVE: red.relaxed.gpu.global.add.noftz.bf16
// RETRY: fma.rn.bf16 next, expected, next
// RETRY: atom.relaxed.gpu.global.cas.b16
// RETRY: @again bra retry;
module attributes {tw.num_warps = 1 : i32} {
func.func @bf16(%y: !tw.ptr<bf16>, %v: bf16) {
  %q = tw.atomic_rmw <fadd>, <relaxed>, <gpu>, %y, %v : !tw.ptr<bf16>, bf16
  func.return
}
}

//--- vectors.mlir
// A thread's neighbours by one instruction: ordered by itself where it is the only one, by a
// fence where there are two. The mask of the first holds for all.
// VECTORS: @%p{{[0-9]+}} red.release.gpu.global.add.noftz.v2.bf16x2 [%rd{{[0-9]+}}], {%r{{[0-9]+}}, %r{{[0-9]+}}};
// VECTORS: red.relaxed.gpu.global.add.noftz.f16x2 [%rd{{[0-9]+}}], %r{{[0-9]+}};
// VECTORS: fence.acq_rel.gpu;
// VECTORS-COUNT-2: atom.relaxed.gpu.global.add.v2.f32 {%r{{[0-9]+}}, %r{{[0-9]+}}}, [%rd{{[0-9]+}}], {%r{{[0-9]+}}, %r{{[0-9]+}}};
// VECTORS: fence.acq_rel.gpu;
#v = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @vectors(%x: !tw.ptr<bf16>, %y: !tw.ptr<f16>, %z: !tw.ptr<f32>, %n: i32) {
  %r = tw.range 0 to 128 : tensor<128xi32, #v>
  %ns = tw.splat %n : i32 -> tensor<128xi32, #v>
  %m = arith.cmpi slt, %r, %ns : tensor<128xi32, #v>
  %xs = tw.splat %x : !tw.ptr<bf16> -> tensor<128x!tw.ptr<bf16>, #v>
  %px = tw.addptr %xs, %r : tensor<128x!tw.ptr<bf16>, #v>, tensor<128xi32, #v>
  %a = arith.sitofp %r : tensor<128xi32, #v> to tensor<128xbf16, #v>
  %o = tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %px, %a mask %m : tensor<128xi1, #v> {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<bf16>, #v>, tensor<128xbf16, #v>
  %ys = tw.splat %y : !tw.ptr<f16> -> tensor<128x!tw.ptr<f16>, #v>
  %py = tw.addptr %ys, %r : tensor<128x!tw.ptr<f16>, #v>, tensor<128xi32, #v>
  %b = arith.sitofp %r : tensor<128xi32, #v> to tensor<128xf16, #v>
  %p = tw.atomic_rmw <fadd>, <relaxed>, <gpu>, %py, %b {tw.vector_elements = 2 : i32} : tensor<128x!tw.ptr<f16>, #v>, tensor<128xf16, #v>
  %zs = tw.splat %z : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #v>
  %pz = tw.addptr %zs, %r : tensor<128x!tw.ptr<f32>, #v>, tensor<128xi32, #v>
  %c = arith.sitofp %r : tensor<128xi32, #v> to tensor<128xf32, #v>
  %q = tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %pz, %c {tw.vector_elements = 2 : i32} : tensor<128x!tw.ptr<f32>, #v>, tensor<128xf32, #v>
  tw.store %pz, %q : tensor<128x!tw.ptr<f32>, #v>, tensor<128xf32, #v>
  func.return
}
}

//--- extremum.mlir
// No target has them for single halves.
// EXTREMUM: min.f16 next, expected, %rs
// EXTREMUM: atom.acq_rel.gpu.global.cas.b16
// EXTREMUM: @again bra retry;
module attributes {tw.num_warps = 1 : i32} {
func.func @extremum(%y: !tw.ptr<f16>, %v: f16) {
  %q = tw.atomic_rmw <fmin>, <acq_rel>, <gpu>, %y, %v : !tw.ptr<f16>, f16
  func.return
}
}
