// The whole way: a row softmax from tile level to what code generation takes.
// RUN: tilewright-opt %s --tw-pipeline | FileCheck %s

// One row of 4096 in 4 warps; each reduction has one exchange, in bytes of its
// own, so that no barrier is added; nothing is converted.
// CHECK: tw.num_warps = 4 : i32, tw.shared_bytes = 32 : i32
// CHECK: tw.load {{.*}}tw.vector_elements = 8
// CHECK: tw.reduce
// CHECK: tw.scratch_offset = 0
// CHECK-NOT: tw.barrier
// CHECK: tw.reduce
// CHECK: tw.scratch_offset = 16
// CHECK-NOT: tw.convert_layout
// CHECK: tw.store {{.*}}tw.vector_elements = 8
module {
func.func public @softmax(%x: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %out: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %stride: i32 {tw.divisibility = 16 : i64}, %n: i32 {tw.divisibility = 16 : i64}) {
  %ninf = arith.constant 0xFC00 : f16
  %pid = tw.program_id 0 : i32
  %row = arith.muli %pid, %stride : i32
  %xr = tw.addptr %x, %row : !tw.ptr<f16>, i32
  %r = tw.range 0 to 4096 : tensor<4096xi32>
  %ns = tw.splat %n : i32 -> tensor<4096xi32>
  %m = arith.cmpi slt, %r, %ns : tensor<4096xi32>
  %xs = tw.splat %xr : !tw.ptr<f16> -> tensor<4096x!tw.ptr<f16>>
  %xp = tw.addptr %xs, %r : tensor<4096x!tw.ptr<f16>>, tensor<4096xi32>
  %other = tw.splat %ninf : f16 -> tensor<4096xf16>
  %xv = tw.load %xp mask %m : tensor<4096xi1> other %other : tensor<4096xf16> : tensor<4096x!tw.ptr<f16>> -> tensor<4096xf16>
  %xf = arith.extf %xv : tensor<4096xf16> to tensor<4096xf32>
  %max = tw.reduce %xf axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tw.yield %c : f32
  } : (tensor<4096xf32>) -> f32
  %maxs = tw.splat %max : f32 -> tensor<4096xf32>
  %d = arith.subf %xf, %maxs : tensor<4096xf32>
  %e = math.exp %d : tensor<4096xf32>
  %sum = tw.reduce %e axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tw.yield %c : f32
  } : (tensor<4096xf32>) -> f32
  %sums = tw.splat %sum : f32 -> tensor<4096xf32>
  %q = arith.divf %e, %sums : tensor<4096xf32>
  %qh = arith.truncf %q : tensor<4096xf32> to tensor<4096xf16>
  %orow = tw.addptr %out, %row : !tw.ptr<f16>, i32
  %os = tw.splat %orow : !tw.ptr<f16> -> tensor<4096x!tw.ptr<f16>>
  %op = tw.addptr %os, %r : tensor<4096x!tw.ptr<f16>>, tensor<4096xi32>
  tw.store %op, %qh mask %m : tensor<4096xi1> : tensor<4096x!tw.ptr<f16>>, tensor<4096xf16>
  func.return
}
}
