// RUN: tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared --tw-pipeline-loops --split-input-file %s | FileCheck %s
// Variables that become what others were: sums that change places, the counter of the
// iteration before, and an argument of the function. They are pipelined like others, and no op is left of the exchange.

// CHECK-LABEL: @exchange
// CHECK: tw.alloc_shared {tw.ring = {{.*}}} : <64x64xf16, {{.*}}, 3>
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} iter_args(%[[X:[a-z0-9]+]] = {{[^,]*}}, %[[Y:[a-z0-9]+]] =
// CHECK: tw.async_wait 1
// CHECK: %[[D:.*]] = tw.wgmma %{{.*}}, %{{.*}}, %[[X]] warps
// CHECK-NOT: unrealized_conversion_cast
// CHECK: arith.addi %[[I]]
// CHECK-NOT: unrealized_conversion_cast
// CHECK: scf.yield %[[Y]], %[[D]], %{{[0-9]+}}, %arg1

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32} {
  func.func @exchange(%a: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %n: i32) -> (tensor<64x64xf32>, tensor<64x64xf32>, i32, i32) {
    %r = tw.range 0 to 64 : tensor<64xi32>
    %rows = tw.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %columns = tw.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %stride = arith.constant dense<1024> : tensor<64x1xi32>
    %row = arith.muli %rows, %stride : tensor<64x1xi32>
    %x = tw.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
    %y = tw.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
    %offsets = arith.addi %x, %y : tensor<64x64xi32>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %out:4 = scf.for %k = %c0 to %n step %c1 iter_args(%one = %zero, %other = %zero, %last = %c0, %bound = %c0) -> (tensor<64x64xf32>, tensor<64x64xf32>, i32, i32) : i32 {
      %first = arith.muli %k, %c64 : i32
      %tile = tw.splat %first : i32 -> tensor<64x64xi32>
      %as = tw.splat %a : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>>
      %ao = tw.addptr %as, %offsets : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %ap = tw.addptr %ao, %tile : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %av = tw.load %ap : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
      %d = tw.dot %av, %av, %one : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %other, %d, %k, %n : tensor<64x64xf32>, tensor<64x64xf32>, i32, i32
    }
    return %out#0, %out#1, %out#2, %out#3 : tensor<64x64xf32>, tensor<64x64xf32>, i32, i32
  }
}

// -----

// A variable that becomes a value from before the loop, which is no argument: the first
// iteration loads with the tile of the caller, the others with one that was computed.

// CHECK-LABEL: @outer
// CHECK: %[[FRESH:.*]] = arith.addi
// CHECK: tw.async_copy
// CHECK: scf.for
// CHECK: tw.async_copy
// CHECK-NOT: unrealized_conversion_cast
// CHECK: scf.yield

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32} {
  func.func @outer(%a: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %first: !tw.ptr<i32>, %n: i32) -> tensor<64x64xf32> {
    %r = tw.range 0 to 64 : tensor<64xi32>
    %fs = tw.splat %first : !tw.ptr<i32> -> tensor<64x!tw.ptr<i32>>
    %fp = tw.addptr %fs, %r : tensor<64x!tw.ptr<i32>>, tensor<64xi32>
    %given = tw.load %fp : tensor<64x!tw.ptr<i32>> -> tensor<64xi32>
    %fresh = arith.addi %r, %r : tensor<64xi32>
    %columns = tw.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %y = tw.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
    %stride = arith.constant dense<1024> : tensor<64x1xi32>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out:2 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %rows = %given) -> (tensor<64x64xf32>, tensor<64xi32>) : i32 {
      %column = tw.expand_dims %rows, 1 : tensor<64xi32> -> tensor<64x1xi32>
      %row = arith.muli %column, %stride : tensor<64x1xi32>
      %x = tw.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
      %offsets = arith.addi %x, %y : tensor<64x64xi32>
      %as = tw.splat %a : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>>
      %ap = tw.addptr %as, %offsets : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %av = tw.load %ap : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
      %d = tw.dot %av, %av, %sum : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d, %fresh : tensor<64x64xf32>, tensor<64xi32>
    }
    return %out#0 : tensor<64x64xf32>
  }
}
