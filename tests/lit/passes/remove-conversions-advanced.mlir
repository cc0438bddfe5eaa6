// A pointer that a loop advances for one load takes the layout in which the load's users want it.
// RUN: tilewright-opt %s --split-input-file --tw-remove-conversions --tw-verify-layouts | FileCheck %s

#l = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#u = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 0], warp = [0, 0], block = []>

// What reads the pointer after the loop has it as before.
// CHECK-LABEL: @advanced
// CHECK: %[[FOR:.*]]:2 = scf.for {{.*}}, %[[P:.*]] = %{{.*}}) -> {{.*}} tensor<128x!tw.ptr<f32>, #tw.layout<register = [1, 2, 4],
// CHECK-NEXT: tw.load %[[P]] {tw.vector_elements = 4 : i32}
// CHECK-NEXT: arith.addf
// CHECK-NEXT: %[[Q:.*]] = tw.addptr %[[P]]
// CHECK-NEXT: scf.yield %{{.*}}, %[[Q]]
// CHECK: tw.convert_layout %[[FOR]]#1 : tensor<128x!tw.ptr<f32>, #tw.layout<register = [1, 2, 4],
module attributes {tw.num_warps = 4 : i32} {
  func.func @advanced(%x0: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %init: tensor<128xf32, #u>, %n: i32)
      -> (tensor<128xf32, #u>, tensor<128x!tw.ptr<f32>, #l>) {
    %i = tw.range 0 to 128 : tensor<128xi32, #l>
    %s0 = tw.splat %x0 : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #l>
    %p = tw.addptr %s0, %i : tensor<128x!tw.ptr<f32>, #l>, tensor<128xi32, #l>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %step = arith.constant dense<128> : tensor<128xi32, #l>
    %r, %last = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %init, %q = %p)
        -> (tensor<128xf32, #u>, tensor<128x!tw.ptr<f32>, #l>) : i32 {
      %x = tw.load %q : tensor<128x!tw.ptr<f32>, #l> -> tensor<128xf32, #l>
      %c = tw.convert_layout %x : tensor<128xf32, #l> -> tensor<128xf32, #u>
      %s = arith.addf %sum, %c : tensor<128xf32, #u>
      %next = tw.addptr %q, %step : tensor<128x!tw.ptr<f32>, #l>, tensor<128xi32, #l>
      scf.yield %s, %next : tensor<128xf32, #u>, tensor<128x!tw.ptr<f32>, #l>
    }
    return %r, %last : tensor<128xf32, #u>, tensor<128x!tw.ptr<f32>, #l>
  }
}

// -----
#l = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#u = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 0], warp = [0, 0], block = []>

// Who else uses the pointer would need it converted in each iteration.
// CHECK-LABEL: @shared
// CHECK: scf.for
// CHECK-NEXT: %[[X:.*]] = tw.load
// CHECK-NEXT: tw.store
// CHECK-NEXT: tw.convert_layout %[[X]]
// CHECK-NEXT: arith.addf
module attributes {tw.num_warps = 4 : i32} {
  func.func @shared(%x0: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %init: tensor<128xf32, #u>,
                    %y: tensor<128xf32, #l>, %n: i32) -> tensor<128xf32, #u> {
    %i = tw.range 0 to 128 : tensor<128xi32, #l>
    %s0 = tw.splat %x0 : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #l>
    %p = tw.addptr %s0, %i : tensor<128x!tw.ptr<f32>, #l>, tensor<128xi32, #l>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %step = arith.constant dense<128> : tensor<128xi32, #l>
    %r, %last = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %init, %q = %p)
        -> (tensor<128xf32, #u>, tensor<128x!tw.ptr<f32>, #l>) : i32 {
      %x = tw.load %q : tensor<128x!tw.ptr<f32>, #l> -> tensor<128xf32, #l>
      tw.store %q, %y : tensor<128x!tw.ptr<f32>, #l>, tensor<128xf32, #l>
      %c = tw.convert_layout %x : tensor<128xf32, #l> -> tensor<128xf32, #u>
      %s = arith.addf %sum, %c : tensor<128xf32, #u>
      %next = tw.addptr %q, %step : tensor<128x!tw.ptr<f32>, #l>, tensor<128xi32, #l>
      scf.yield %s, %next : tensor<128xf32, #u>, tensor<128x!tw.ptr<f32>, #l>
    }
    return %r : tensor<128xf32, #u>
  }
}
