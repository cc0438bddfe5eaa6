// Layout changes through shared memory: matrix instructions, pieces.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/epilogue.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=SM80
// RUN: tilewright-opt %t/epilogue.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=SM90
// RUN: tilewright-opt %t/operand.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=OPERAND
// RUN: tilewright-opt %t/turns.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=TURNS
// RUN: tilewright-opt %t/one-warp.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=ONE

//--- epilogue.mlir
// The f16 accumulator of one warpgroup, 64x32, to rows of 16 bytes. With stmatrix:
// matrices are written and vectors read. Without: words are written.
// SM90-NOT: st.shared
// SM90-COUNT-2: stmatrix.sync.aligned.m8n8.x4.shared.b16
// SM90-NOT: stmatrix
// SM90: bar.sync
// SM90-COUNT-2: ld.shared.v4
// SM90-NOT: ld.shared
// SM80-NOT: stmatrix
// SM80-COUNT-8: st.shared.{{[bu]}}32
// SM80-NOT: st.shared
// SM80: bar.sync
// SM80-COUNT-2: ld.shared.v4
// SM80-NOT: ld{{matrix|.shared}}
#acc = #tw.layout<register = [1, 256, 8, 16], lane = [2, 4, 32, 64, 128], warp = [512, 1024], block = []>
#rows = #tw.layout<register = [1, 2, 4, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
module attributes {tw.num_warps = 4 : i32} {
func.func @epilogue(%x: !tw.ptr<f16>) {
  %r = tw.range 0 to 2048 : tensor<2048xi32, #rows>
  %r2 = tw.reshape %r : tensor<2048xi32, #rows> -> tensor<64x32xi32, #rows>
  %xs = tw.splat %x : !tw.ptr<f16> -> tensor<64x32x!tw.ptr<f16>, #rows>
  %p = tw.addptr %xs, %r2 : tensor<64x32x!tw.ptr<f16>, #rows>, tensor<64x32xi32, #rows>
  %i = tw.range 0 to 2048 : tensor<2048xi32, #acc>
  %f = arith.sitofp %i : tensor<2048xi32, #acc> to tensor<2048xf16, #acc>
  %f2 = tw.reshape %f : tensor<2048xf16, #acc> -> tensor<64x32xf16, #acc>
  %c = tw.convert_layout %f2 {tw.scratch_offset = 0 : i32} : tensor<64x32xf16, #acc> -> tensor<64x32xf16, #rows>
  tw.store %p, %c {tw.vector_elements = 8 : i32} : tensor<64x32x!tw.ptr<f16>, #rows>, tensor<64x32xf16, #rows>
  func.return
}
}

//--- operand.mlir
// Rows of 16 bytes to the B operand of an mma, which wants columns: vector writes
// and transposed matrix reads.
// OPERAND-COUNT-2: st.shared.v4
// OPERAND-NOT: st.shared
// OPERAND: bar.sync
// OPERAND-COUNT-2: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// OPERAND-NOT: ldmatrix
#rows = #tw.layout<register = [1, 2, 4, 1024], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#b = #tw.layout<register = [32, 256, 512, 1024], lane = [64, 128, 1, 2, 4], warp = [8, 16], block = []>
module attributes {tw.num_warps = 4 : i32} {
func.func @operand(%x: !tw.ptr<f16>) {
  %r = tw.range 0 to 2048 : tensor<2048xi32, #rows>
  %r2 = tw.reshape %r : tensor<2048xi32, #rows> -> tensor<64x32xi32, #rows>
  %xs = tw.splat %x : !tw.ptr<f16> -> tensor<64x32x!tw.ptr<f16>, #rows>
  %p = tw.addptr %xs, %r2 : tensor<64x32x!tw.ptr<f16>, #rows>, tensor<64x32xi32, #rows>
  %v = tw.load %p {tw.vector_elements = 8 : i32} : tensor<64x32x!tw.ptr<f16>, #rows> -> tensor<64x32xf16, #rows>
  %c = tw.convert_layout %v {tw.scratch_offset = 0 : i32} : tensor<64x32xf16, #rows> -> tensor<64x32xf16, #b>
  %j = tw.range 0 to 2048 : tensor<2048xi32, #b>
  %j2 = tw.reshape %j : tensor<2048xi32, #b> -> tensor<64x32xi32, #b>
  %ys = tw.splat %x : !tw.ptr<f16> -> tensor<64x32x!tw.ptr<f16>, #b>
  %q = tw.addptr %ys, %j2 : tensor<64x32x!tw.ptr<f16>, #b>, tensor<64x32xi32, #b>
  tw.store %q, %c : tensor<64x32x!tw.ptr<f16>, #b>, tensor<64x32xf16, #b>
  func.return
}
}

//--- turns.mlir
// In pieces of 1024 bytes where only warps tell them apart: half of them write, a
// barrier, and half read, for each piece.
// TURNS: setp
// TURNS: bra
// TURNS: st.shared
// TURNS: bar.sync
// TURNS: ld.shared
// TURNS: bar.sync
// TURNS: st.shared
// TURNS: bar.sync
// TURNS: ld.shared
#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128, 256], block = []>
#b = #tw.layout<register = [2], lane = [1, 4, 8, 16, 64], warp = [32, 256, 128], block = []>
module attributes {tw.num_warps = 8 : i32} {
func.func @turns(%x: !tw.ptr<f32>) {
  %i = tw.range 0 to 512 : tensor<512xi32, #a>
  %f = arith.sitofp %i : tensor<512xi32, #a> to tensor<512xf32, #a>
  %c = tw.convert_layout %f {tw.scratch_offset = 0 : i32, tw.scratch_limit = 1024 : i32} : tensor<512xf32, #a> -> tensor<512xf32, #b>
  %j = tw.range 0 to 512 : tensor<512xi32, #b>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #b>
  %p = tw.addptr %xs, %j : tensor<512x!tw.ptr<f32>, #b>, tensor<512xi32, #b>
  tw.store %p, %c : tensor<512x!tw.ptr<f32>, #b>, tensor<512xf32, #b>
  func.return
}
}

//--- one-warp.mlir
// The threads of one warp need no barrier of the block: neither for an exchange, nor
// where the program asks for one.
// ONE-NOT: bar.sync
// ONE: stmatrix
// ONE: bar.warp.sync
// ONE: ld.shared
// ONE: bar.warp.sync
// ONE-NOT: bar.sync
#a = #tw.layout<register = [1, 2, 4, 8], lane = [16, 32, 64, 128, 256], warp = [], block = []>
#b = #tw.layout<register = [16, 32, 64, 128], lane = [1, 2, 4, 8, 256], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @one(%x: !tw.ptr<f32>) {
  %i = tw.range 0 to 512 : tensor<512xi32, #a>
  %f = arith.sitofp %i : tensor<512xi32, #a> to tensor<512xf32, #a>
  %c = tw.convert_layout %f {tw.scratch_offset = 0 : i32} : tensor<512xf32, #a> -> tensor<512xf32, #b>
  tw.barrier
  %j = tw.range 0 to 512 : tensor<512xi32, #b>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #b>
  %p = tw.addptr %xs, %j : tensor<512x!tw.ptr<f32>, #b>, tensor<512xi32, #b>
  tw.store %p, %c : tensor<512x!tw.ptr<f32>, #b>, tensor<512xf32, #b>
  func.return
}
}
