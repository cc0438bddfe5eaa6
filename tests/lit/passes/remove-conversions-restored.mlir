// Operands that are computed from converted values are had without the conversion in the layout it came from.
// RUN: tilewright-opt %s --split-input-file --tw-remove-conversions --tw-verify-layouts | FileCheck %s

#lanes = #tw.layout<register = [128], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#pairs = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128], block = []>

// An aligned load among shifted ones: two accesses cost less than to take its index there and its result back.
// CHECK-LABEL: @restored
// CHECK-NOT: tw.convert_layout
// CHECK: tw.load {{.*}} -> tensor<256xf32, #tw.layout<register = [128]
// CHECK-NOT: tw.convert_layout
// CHECK: return

// The index is known as pairs only: the load stays.
// CHECK-LABEL: @from_elsewhere
// CHECK: tw.load {{.*}} -> tensor<256xf32, #tw.layout<register = [1],
// CHECK: tw.convert_layout

// The sum wants pairs, which the first load has already, and that load would have been retyped for the sum's layout.
// CHECK-LABEL: @larger_first
// CHECK-NOT: tw.convert_layout
// CHECK-COUNT-2: tw.load {{.*}} -> tensor<256xf16, #tw.layout<register = [1],
// CHECK-NOT: tw.convert_layout
// CHECK: arith.addf {{.*}} : tensor<256xf32, #tw.layout<register = [1],
// CHECK-NEXT: return
module attributes {tw.num_warps = 4 : i32} {
  func.func @restored(%x: !tw.ptr<f32>, %i: tensor<256xi32, #lanes>) -> tensor<256xf32, #lanes> {
    %r = tw.range 0 to 256 : tensor<256xi32, #pairs>
    %c = tw.convert_layout %i : tensor<256xi32, #lanes> -> tensor<256xi32, #pairs>
    %j = arith.addi %c, %r : tensor<256xi32, #pairs>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #pairs>
    %xp = tw.addptr %xs, %j : tensor<256x!tw.ptr<f32>, #pairs>, tensor<256xi32, #pairs>
    %u = tw.load %xp : tensor<256x!tw.ptr<f32>, #pairs> -> tensor<256xf32, #pairs>
    %0 = tw.convert_layout %u : tensor<256xf32, #pairs> -> tensor<256xf32, #lanes>
    return %0 : tensor<256xf32, #lanes>
  }
  func.func @from_elsewhere(%x: !tw.ptr<f32>, %i: tensor<256xi32, #pairs>) -> tensor<256xf32, #lanes> {
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #pairs>
    %xp = tw.addptr %xs, %i : tensor<256x!tw.ptr<f32>, #pairs>, tensor<256xi32, #pairs>
    %u = tw.load %xp : tensor<256x!tw.ptr<f32>, #pairs> -> tensor<256xf32, #pairs>
    %0 = tw.convert_layout %u : tensor<256xf32, #pairs> -> tensor<256xf32, #lanes>
    return %0 : tensor<256xf32, #lanes>
  }
  func.func @larger_first(%x: !tw.ptr<f16>, %y: !tw.ptr<f16>) -> tensor<256xf32, #pairs> {
    %p = tw.range 0 to 256 : tensor<256xi32, #pairs>
    %l = tw.range 0 to 256 : tensor<256xi32, #lanes>
    %xs = tw.splat %x : !tw.ptr<f16> -> tensor<256x!tw.ptr<f16>, #pairs>
    %xp = tw.addptr %xs, %p : tensor<256x!tw.ptr<f16>, #pairs>, tensor<256xi32, #pairs>
    %u = tw.load %xp : tensor<256x!tw.ptr<f16>, #pairs> -> tensor<256xf16, #pairs>
    %c = tw.convert_layout %u : tensor<256xf16, #pairs> -> tensor<256xf16, #lanes>
    %e = arith.extf %c : tensor<256xf16, #lanes> to tensor<256xf32, #lanes>
    %ys = tw.splat %y : !tw.ptr<f16> -> tensor<256x!tw.ptr<f16>, #lanes>
    %yp = tw.addptr %ys, %l : tensor<256x!tw.ptr<f16>, #lanes>, tensor<256xi32, #lanes>
    %v = tw.load %yp : tensor<256x!tw.ptr<f16>, #lanes> -> tensor<256xf16, #lanes>
    %f = arith.extf %v : tensor<256xf16, #lanes> to tensor<256xf32, #lanes>
    %s = arith.addf %e, %f : tensor<256xf32, #lanes>
    %0 = tw.convert_layout %s : tensor<256xf32, #lanes> -> tensor<256xf32, #pairs>
    return %0 : tensor<256xf32, #pairs>
  }
}
