// Loads of which several elements have one address.
// RUN: tilewright-opt %s --tw-assign-layouts --tw-remove-conversions | FileCheck %s

// One scale for each 8 elements: a thread that has 8 neighbours reads it once, so it is
// loaded in their layout and not exchanged.
// CHECK-LABEL: @scales
// CHECK-NOT: tw.convert_layout
// CHECK: tw.store
module attributes {tw.num_warps = 4 : i32} {
  func.func @scales(%x: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %s: !tw.ptr<f16> {tw.divisibility = 16 : i64},
                    %y: !tw.ptr<f16> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %c8 = arith.constant dense<8> : tensor<1024xi32>
    %g = arith.divsi %r, %c8 : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f16> -> tensor<1024x!tw.ptr<f16>>
    %xp = tw.addptr %xs, %r : tensor<1024x!tw.ptr<f16>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f16>> -> tensor<1024xf16>
    %ss = tw.splat %s : !tw.ptr<f16> -> tensor<1024x!tw.ptr<f16>>
    %sp = tw.addptr %ss, %g : tensor<1024x!tw.ptr<f16>>, tensor<1024xi32>
    %w = tw.load %sp : tensor<1024x!tw.ptr<f16>> -> tensor<1024xf16>
    %m = arith.mulf %v, %w : tensor<1024xf16>
    %ys = tw.splat %y : !tw.ptr<f16> -> tensor<1024x!tw.ptr<f16>>
    %yp = tw.addptr %ys, %r : tensor<1024x!tw.ptr<f16>>, tensor<1024xi32>
    tw.store %yp, %m : tensor<1024x!tw.ptr<f16>>, tensor<1024xf16>
    return
  }
}
