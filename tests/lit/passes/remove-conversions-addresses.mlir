// Loads of which several elements have one address.
// RUN: tilewright-opt %s --split-input-file --tw-assign-layouts --tw-remove-conversions | FileCheck %s

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

// -----

// A tile of a page that a table names, in two branches of which the first has a mask: the result
// has the layout of the other, which reads 8 elements at once, and the branch with the mask
// changes it. Of the addresses, what the table says is exchanged.
// CHECK-LABEL: @pages
// CHECK-NOT: tw.convert_layout {{.*}} tensor<32x64x
// CHECK: tw.convert_layout {{.*}} tensor<32x1xi64
// CHECK-NOT: tw.convert_layout
// CHECK: scf.if %{{.*}} -> (tensor<32x64xf16, #tw.layout<register = [64, 128, 256,
// CHECK-NEXT: tw.load {{.*}} mask
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: scf.yield
// CHECK: tw.load
// CHECK-NEXT: scf.yield
module attributes {tw.num_warps = 4 : i32} {
  func.func @pages(%x: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %table: !tw.ptr<i32> {tw.divisibility = 16 : i64},
                   %stride: i64 {tw.divisibility = 16 : i64}, %tail: i1, %n: i32,
                   %y: !tw.ptr<f16> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 32 : tensor<32xi32>
    %c32 = arith.constant dense<32> : tensor<32xi32>
    %page = arith.divsi %r, %c32 : tensor<32xi32>
    %ts = tw.splat %table : !tw.ptr<i32> -> tensor<32x!tw.ptr<i32>>
    %tp = tw.addptr %ts, %page : tensor<32x!tw.ptr<i32>>, tensor<32xi32>
    %place = tw.load %tp : tensor<32x!tw.ptr<i32>> -> tensor<32xi32>
    %0 = tw.expand_dims %place, 1 : tensor<32xi32> -> tensor<32x1xi32>
    %1 = arith.extsi %0 : tensor<32x1xi32> to tensor<32x1xi64>
    %s1 = tw.splat %stride : i64 -> tensor<32x1xi64>
    %2 = arith.muli %1, %s1 : tensor<32x1xi64>
    %3 = tw.expand_dims %r, 1 : tensor<32xi32> -> tensor<32x1xi32>
    %4 = arith.extsi %3 : tensor<32x1xi32> to tensor<32x1xi64>
    %5 = arith.addi %2, %4 : tensor<32x1xi64>
    %c = tw.range 0 to 64 : tensor<64xi32>
    %6 = tw.expand_dims %c, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %7 = arith.extsi %6 : tensor<1x64xi32> to tensor<1x64xi64>
    %s2 = tw.splat %stride : i64 -> tensor<1x64xi64>
    %8 = arith.muli %7, %s2 : tensor<1x64xi64>
    %9 = tw.broadcast %5 : tensor<32x1xi64> -> tensor<32x64xi64>
    %10 = tw.broadcast %8 : tensor<1x64xi64> -> tensor<32x64xi64>
    %11 = arith.addi %9, %10 : tensor<32x64xi64>
    %xs = tw.splat %x : !tw.ptr<f16> -> tensor<32x64x!tw.ptr<f16>>
    %xp = tw.addptr %xs, %11 : tensor<32x64x!tw.ptr<f16>>, tensor<32x64xi64>
    %ns = tw.splat %n : i32 -> tensor<32xi32>
    %in = arith.cmpi slt, %r, %ns : tensor<32xi32>
    %in1 = tw.expand_dims %in, 1 : tensor<32xi1> -> tensor<32x1xi1>
    %mask = tw.broadcast %in1 : tensor<32x1xi1> -> tensor<32x64xi1>
    %v = scf.if %tail -> (tensor<32x64xf16>) {
      %a = tw.load %xp mask %mask : tensor<32x64xi1> : tensor<32x64x!tw.ptr<f16>> -> tensor<32x64xf16>
      scf.yield %a : tensor<32x64xf16>
    } else {
      %b = tw.load %xp : tensor<32x64x!tw.ptr<f16>> -> tensor<32x64xf16>
      scf.yield %b : tensor<32x64xf16>
    }
    %double = arith.addf %v, %v : tensor<32x64xf16>
    %ys = tw.splat %y : !tw.ptr<f16> -> tensor<32x64x!tw.ptr<f16>>
    %yp = tw.addptr %ys, %11 : tensor<32x64x!tw.ptr<f16>>, tensor<32x64xi64>
    tw.store %yp, %double : tensor<32x64x!tw.ptr<f16>>, tensor<32x64xf16>
    return
  }
}

// -----

// Addresses of rows that were loaded are computed again, from the rows alone.
// CHECK-LABEL: @rows
// CHECK: tw.convert_layout {{.*}} tensor<64x1xi32, {{.*}} -> tensor<64x1xi32
// CHECK-NOT: tw.convert_layout
// CHECK: return
#a = #tw.layout<register = [1, 2, 4, 512, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256], block = []>
#b = #tw.layout<register = [64, 128, 256, 8, 16, 32], lane = [512, 1024, 2048, 1, 2], warp = [4], block = []>
#column = #tw.layout<register = [8, 16, 32], lane = [0, 0, 0, 1, 2], warp = [4], block = []>
#row = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 0, 0], warp = [0], block = []>
module attributes {tw.num_warps = 2 : i32} {
  func.func @rows(%rows: tensor<64x1xi32, #column>, %x: !tw.ptr<f16>) -> tensor<64x64x!tw.ptr<f16>, #b> {
    %c = arith.constant dense<4096> : tensor<64x1xi32, #column>
    %0 = arith.muli %rows, %c : tensor<64x1xi32, #column>
    %1 = tw.broadcast %0 : tensor<64x1xi32, #column> -> tensor<64x64xi32, #a>
    %r = tw.range 0 to 64 : tensor<64xi32, #row>
    %2 = tw.expand_dims %r, 0 : tensor<64xi32, #row> -> tensor<1x64xi32, #row>
    %3 = tw.broadcast %2 : tensor<1x64xi32, #row> -> tensor<64x64xi32, #a>
    %4 = arith.addi %1, %3 : tensor<64x64xi32, #a>
    %xs = tw.splat %x : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>, #a>
    %5 = tw.addptr %xs, %4 : tensor<64x64x!tw.ptr<f16>, #a>, tensor<64x64xi32, #a>
    %6 = tw.convert_layout %5 : tensor<64x64x!tw.ptr<f16>, #a> -> tensor<64x64x!tw.ptr<f16>, #b>
    return %6 : tensor<64x64x!tw.ptr<f16>, #b>
  }
}
