// Two bf16 of one word become f32 by a shift and by a mask: nothing is taken out of the word,
// and nothing is computed on single halves of it.
// RUN: tilewright-opt %s --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s

// CHECK: ld.global.{{[bu]}}32 [[WORD:%r[0-9]+]]
// CHECK-NOT: {{bf16|%rs}}
// CHECK: shl.b32 [[LOWER:%r[0-9]+]], [[WORD]], 16;
// CHECK-NOT: {{bf16|%rs}}
// CHECK: and.b32 %r{{[0-9]+}}, [[WORD]], 2147418112;
// CHECK-NOT: {{bf16|%rs}}
// CHECK: max{{.*}}.f32
#row = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @largest(%x: !tw.ptr<bf16> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
  %r = tw.range 0 to 64 : tensor<64xi32, #row>
  %xs = tw.splat %x : !tw.ptr<bf16> -> tensor<64x!tw.ptr<bf16>, #row>
  %px = tw.addptr %xs, %r : tensor<64x!tw.ptr<bf16>, #row>, tensor<64xi32, #row>
  %v = tw.load %px {tw.vector_elements = 2 : i32} : tensor<64x!tw.ptr<bf16>, #row> -> tensor<64xbf16, #row>
  %w = arith.extf %v : tensor<64xbf16, #row> to tensor<64xf32, #row>
  %a = math.absf %w : tensor<64xf32, #row>
  %ys = tw.splat %y : !tw.ptr<f32> -> tensor<64x!tw.ptr<f32>, #row>
  %py = tw.addptr %ys, %r : tensor<64x!tw.ptr<f32>, #row>, tensor<64xi32, #row>
  %old = tw.load %py {tw.vector_elements = 2 : i32} : tensor<64x!tw.ptr<f32>, #row> -> tensor<64xf32, #row>
  %m = arith.maximumf %a, %old : tensor<64xf32, #row>
  tw.store %py, %m {tw.vector_elements = 2 : i32} : tensor<64x!tw.ptr<f32>, #row>, tensor<64xf32, #row>
  func.return
}
}
