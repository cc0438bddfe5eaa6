// RUN: tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared --tw-pipeline-loops %s | FileCheck %s
// RUN: sed 's/tw.divisibility = 16/tw.divisibility = 2/g' %s | tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared --tw-pipeline-loops | FileCheck %s --check-prefix=LOADED
// wgmma takes bytes with K fastest. The right operand has N fastest in memory: it is copied ahead as
// it is, and threads transpose blocks of 4 x 4 on the way to the buffer of the product.

// CHECK: scf.for
// CHECK: %[[SLOT:.*]] = tw.buffer_slot
// CHECK: %[[BLOCKS:.*]] = tw.shared_load %{{.*}} : {{.*}} -> tensor<64x64xi8, #tw.layout<register = [1, 2, 64, 128, {{.*}}], lane = [4, 8, 256, 512, 1024]
// CHECK: %[[TURNED:.*]] = tw.convert_layout %[[BLOCKS]] : {{.*}} -> tensor<64x64xi8, #tw.layout<register = [64, 128, 1, 2,
// CHECK: %[[WANTED:.*]] = tw.alloc_shared %[[TURNED]]
// CHECK: tw.wgmma {{.*}}%[[WANTED]]
// CHECK-NOT: tw.load

// Bytes that cannot be loaded four at a time are not copied: they are stored where they are wanted.
// LOADED: scf.for
// LOADED: %[[TILE:.*]] = tw.load
// LOADED: tw.alloc_shared %[[TILE]]
// LOADED-NOT: tw.shared_load

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32} {
  func.func @product(%a: !tw.ptr<i8> {tw.divisibility = 16 : i64}, %b: !tw.ptr<i8> {tw.divisibility = 16 : i64}, %n: i32) -> tensor<64x64xi32> {
    %r = tw.range 0 to 64 : tensor<64xi32>
    %rows = tw.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %columns = tw.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %stride = arith.constant dense<1024> : tensor<64x1xi32>
    %row = arith.muli %rows, %stride : tensor<64x1xi32>
    %x = tw.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
    %y = tw.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
    %offsets = arith.addi %x, %y : tensor<64x64xi32>
    %zero = arith.constant dense<0> : tensor<64x64xi32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xi32>) : i32 {
      %first = arith.muli %k, %c64 : i32
      %tile = tw.splat %first : i32 -> tensor<64x64xi32>
      %as = tw.splat %a : !tw.ptr<i8> -> tensor<64x64x!tw.ptr<i8>>
      %ao = tw.addptr %as, %offsets : tensor<64x64x!tw.ptr<i8>>, tensor<64x64xi32>
      %ap = tw.addptr %ao, %tile : tensor<64x64x!tw.ptr<i8>>, tensor<64x64xi32>
      %bs = tw.splat %b : !tw.ptr<i8> -> tensor<64x64x!tw.ptr<i8>>
      %bo = tw.addptr %bs, %offsets : tensor<64x64x!tw.ptr<i8>>, tensor<64x64xi32>
      %bp = tw.addptr %bo, %tile : tensor<64x64x!tw.ptr<i8>>, tensor<64x64xi32>
      %av = tw.load %ap : tensor<64x64x!tw.ptr<i8>> -> tensor<64x64xi8>
      %bv = tw.load %bp : tensor<64x64x!tw.ptr<i8>> -> tensor<64x64xi8>
      %d = tw.dot %av, %bv, %sum : tensor<64x64xi8>, tensor<64x64xi8>, tensor<64x64xi32>
      scf.yield %d : tensor<64x64xi32>
    }
    return %acc : tensor<64x64xi32>
  }
}
