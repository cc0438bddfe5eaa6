// Four bytes become a word by moves and permutations, not by shifts and masks.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/pairs.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=PAIRS
// RUN: tilewright-opt %t/bytes.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=BYTES

//--- pairs.mlir
// Two conversions of pairs give the four bytes of a word in their order, which is no more than
// a move: the assembler joins the conversions.
// PAIRS: cvt.rn.satfinite.e4m3x2.f32 [[LOW:%rs[0-9]+]]
// PAIRS: cvt.rn.satfinite.e4m3x2.f32 [[HIGH:%rs[0-9]+]]
// PAIRS-NOT: or.b32
// PAIRS-NOT: prmt
// PAIRS: mov.b32 [[WORD:%r[0-9]+]], {[[LOW]], [[HIGH]]};
// PAIRS-NOT: prmt
// PAIRS: st.global.{{[bu]}}32 [%rd{{[0-9]+}}], [[WORD]];
#row = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @pairs(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f8E4M3FN> {tw.divisibility = 16 : i64}) {
  %r = tw.range 0 to 128 : tensor<128xi32, #row>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #row>
  %px = tw.addptr %xs, %r : tensor<128x!tw.ptr<f32>, #row>, tensor<128xi32, #row>
  %v = tw.load %px {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<f32>, #row> -> tensor<128xf32, #row>
  %h = tw.float_cast %v : tensor<128xf32, #row> -> tensor<128xf8E4M3FN, #row>
  %ys = tw.splat %y : !tw.ptr<f8E4M3FN> -> tensor<128x!tw.ptr<f8E4M3FN>, #row>
  %py = tw.addptr %ys, %r : tensor<128x!tw.ptr<f8E4M3FN>, #row>, tensor<128xi32, #row>
  tw.store %py, %h {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<f8E4M3FN>, #row>, tensor<128xf8E4M3FN, #row>
  func.return
}
}

//--- bytes.mlir
// Each byte is the lowest of a word: two pairs, then both of them.
// BYTES: mov.b32 [[TWO:%r[0-9]+]], 64;
// BYTES-COUNT-2: prmt.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, [[TWO]];
// BYTES: mov.b32 [[FOUR:%r[0-9]+]], 21520;
// BYTES: prmt.b32 [[WORD:%r[0-9]+]], %r{{[0-9]+}}, %r{{[0-9]+}}, [[FOUR]];
// BYTES-NOT: prmt
// BYTES: st.global.{{[bu]}}32 [%rd{{[0-9]+}}], [[WORD]];
#row = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @bytes(%x: !tw.ptr<i32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<i8> {tw.divisibility = 16 : i64}) {
  %r = tw.range 0 to 128 : tensor<128xi32, #row>
  %xs = tw.splat %x : !tw.ptr<i32> -> tensor<128x!tw.ptr<i32>, #row>
  %px = tw.addptr %xs, %r : tensor<128x!tw.ptr<i32>, #row>, tensor<128xi32, #row>
  %v = tw.load %px {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<i32>, #row> -> tensor<128xi32, #row>
  %h = arith.trunci %v : tensor<128xi32, #row> to tensor<128xi8, #row>
  %ys = tw.splat %y : !tw.ptr<i8> -> tensor<128x!tw.ptr<i8>, #row>
  %py = tw.addptr %ys, %r : tensor<128x!tw.ptr<i8>, #row>, tensor<128xi32, #row>
  tw.store %py, %h {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<i8>, #row>, tensor<128xi8, #row>
  func.return
}
}
