// Simplifications at tile level.
// RUN: tilewright-opt %s --tw-combine-ops | FileCheck %s

// Arithmetic on splats is arithmetic on scalars.
// CHECK-LABEL: @splats
// CHECK: %[[S:.*]] = arith.addi %arg0, %arg1 : i32
// CHECK: tw.splat %[[S]]
func.func @splats(%a: i32, %b: i32) -> tensor<64xi32> {
  %0 = tw.splat %a : i32 -> tensor<64xi32>
  %1 = tw.splat %b : i32 -> tensor<64xi32>
  %2 = arith.addi %0, %1 : tensor<64xi32>
  return %2 : tensor<64xi32>
}

// A splat and a tile stay as they are.
// CHECK-LABEL: @splat_and_tile
// CHECK: arith.addi %{{.*}}, %arg1 : tensor<64xi32>
func.func @splat_and_tile(%a: i32, %b: tensor<64xi32>) -> tensor<64xi32> {
  %0 = tw.splat %a : i32 -> tensor<64xi32>
  %1 = arith.addi %0, %b : tensor<64xi32>
  return %1 : tensor<64xi32>
}

// Work before the broadcast: 64 products, not 4096.
// CHECK-LABEL: @broadcast
// CHECK: %[[M:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<64xf32>
// CHECK: %[[X:.*]] = tw.expand_dims %[[M]], 1
// CHECK: %[[B:.*]] = tw.broadcast %[[X]]
// CHECK: return %[[B]]
func.func @broadcast(%a: tensor<64xf32>, %b: f32) -> tensor<64x64xf32> {
  %0 = tw.expand_dims %a, 1 : tensor<64xf32> -> tensor<64x1xf32>
  %1 = tw.broadcast %0 : tensor<64x1xf32> -> tensor<64x64xf32>
  %2 = tw.splat %b : f32 -> tensor<64x64xf32>
  %3 = arith.mulf %1, %2 : tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// Broadcasts of different shapes must meet on the full tile.
// CHECK-LABEL: @outer_product
// CHECK: arith.mulf %{{.*}}, %{{.*}} : tensor<64x64xf32>
func.func @outer_product(%a: tensor<64x1xf32>, %b: tensor<1x64xf32>) -> tensor<64x64xf32> {
  %0 = tw.broadcast %a : tensor<64x1xf32> -> tensor<64x64xf32>
  %1 = tw.broadcast %b : tensor<1x64xf32> -> tensor<64x64xf32>
  %2 = arith.mulf %0, %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// A compare keeps its predicate on the way.
// CHECK-LABEL: @mask
// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<64xi32>
// CHECK: tw.broadcast
func.func @mask(%a: tensor<64xi32>, %n: i32) -> tensor<64x64xi1> {
  %0 = tw.expand_dims %a, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %1 = tw.broadcast %0 : tensor<64x1xi32> -> tensor<64x64xi32>
  %2 = tw.splat %n : i32 -> tensor<64x64xi32>
  %3 = arith.cmpi slt, %1, %2 : tensor<64x64xi32>
  return %3 : tensor<64x64xi1>
}

// Offsets of 64 bits add up.
// CHECK-LABEL: @pointer_chain
// CHECK: %[[S:.*]] = arith.addi %arg1, %arg2 : i64
// CHECK: tw.addptr %arg0, %[[S]]
func.func @pointer_chain(%p: !tw.ptr<f32>, %i: i64, %j: i64) -> !tw.ptr<f32> {
  %0 = tw.addptr %p, %i : !tw.ptr<f32>, i64
  %1 = tw.addptr %0, %j : !tw.ptr<f32>, i64
  return %1 : !tw.ptr<f32>
}

// Offsets of 32 bits may wrap when added before they are widened: refused.
// CHECK-LABEL: @pointer_chain_may_wrap
// CHECK-COUNT-2: tw.addptr
func.func @pointer_chain_may_wrap(%p: !tw.ptr<f32>, %i: i32, %j: i32) -> !tw.ptr<f32> {
  %0 = tw.addptr %p, %i : !tw.ptr<f32>, i32
  %1 = tw.addptr %0, %j : !tw.ptr<f32>, i32
  return %1 : !tw.ptr<f32>
}

// A mask that is always true disappears with its `other`.
// CHECK-LABEL: @true_mask
// CHECK: tw.load %arg0 : tensor<64x!tw.ptr<f32>>
func.func @true_mask(%p: tensor<64x!tw.ptr<f32>>, %x: tensor<64xf32>) -> tensor<64xf32> {
  %m = arith.constant dense<true> : tensor<64xi1>
  %0 = tw.load %p mask %m : tensor<64xi1> other %x : tensor<64xf32> : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// A false mask loads nothing and stores nothing.
// CHECK-LABEL: @false_mask
// CHECK-NOT: tw.load
// CHECK-NOT: tw.store
// CHECK: return %arg1
func.func @false_mask(%p: tensor<64x!tw.ptr<f32>>, %x: tensor<64xf32>) -> tensor<64xf32> {
  %m = arith.constant dense<false> : tensor<64xi1>
  %0 = tw.load %p mask %m : tensor<64xi1> other %x : tensor<64xf32> : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
  tw.store %p, %0 mask %m : tensor<64xi1> : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
  return %0 : tensor<64xf32>
}

// A volatile load happens even so.
// CHECK-LABEL: @volatile
// CHECK: tw.load {{.*}} mask
func.func @volatile(%p: tensor<64x!tw.ptr<f32>>) -> tensor<64xf32> {
  %m = arith.constant dense<true> : tensor<64xi1>
  %0 = tw.load %p mask %m : tensor<64xi1> {isVolatile} : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// where(mask, load(p, mask), y) is the load's `other`.
// CHECK-LABEL: @select_into_load
// CHECK: %[[L:.*]] = tw.load %arg0 mask %arg1 : tensor<64xi1> other %arg2
// CHECK: return %[[L]]
func.func @select_into_load(%p: tensor<64x!tw.ptr<f32>>, %m: tensor<64xi1>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %0 = tw.load %p mask %m : tensor<64xi1> : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
  %1 = arith.select %m, %0, %y : tensor<64xi1>, tensor<64xf32>
  return %1 : tensor<64xf32>
}

// Not where the masks differ.
// CHECK-LABEL: @select_other_mask
// CHECK: arith.select
func.func @select_other_mask(%p: tensor<64x!tw.ptr<f32>>, %m: tensor<64xi1>, %k: tensor<64xi1>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %0 = tw.load %p mask %m : tensor<64xi1> : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
  %1 = arith.select %k, %0, %y : tensor<64xi1>, tensor<64xf32>
  return %1 : tensor<64xf32>
}

// A product that is added to something starts from it; integers as well.
// CHECK-LABEL: @accumulate
// CHECK: %[[D:.*]] = tw.dot %arg0, %arg1, %arg2 {precision = #tw.precision<ieee>} : tensor<16x16xf32>
// CHECK: %[[E:.*]] = tw.dot %arg3, %arg4, %arg5 : tensor<16x32xi8>
// CHECK-NOT: arith.add
// CHECK: return %[[D]], %[[E]]
func.func @accumulate(%a: tensor<16x16xf32>, %b: tensor<16x16xf32>, %c: tensor<16x16xf32>,
                      %i: tensor<16x32xi8>, %j: tensor<32x16xi8>, %k: tensor<16x16xi32>)
    -> (tensor<16x16xf32>, tensor<16x16xi32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = tw.splat %zero : f32 -> tensor<16x16xf32>
  %d = tw.dot %a, %b, %zeros {precision = #tw.precision<ieee>} : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %sum = arith.addf %c, %d : tensor<16x16xf32>
  %izero = arith.constant dense<0> : tensor<16x16xi32>
  %e = tw.dot %i, %j, %izero : tensor<16x32xi8>, tensor<32x16xi8>, tensor<16x16xi32>
  %isum = arith.addi %e, %k : tensor<16x16xi32>
  return %sum, %isum : tensor<16x16xf32>, tensor<16x16xi32>
}

// Not when the product has another user, starts from something else, or stands
// outside of the loop that adds it.
// CHECK-LABEL: @accumulate_not
// CHECK: %[[D:.*]] = tw.dot
// CHECK: arith.addf %arg1, %[[D]]
// CHECK: %[[E:.*]] = tw.dot
// CHECK: arith.addf %arg1, %[[E]]
// CHECK: scf.for
// CHECK: arith.addf
func.func @accumulate_not(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>, %n: i32)
    -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = tw.splat %zero : f32 -> tensor<16x16xf32>
  %d = tw.dot %a, %a, %zeros : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  %sum = arith.addf %c, %d : tensor<16x16xf32>
  %e = tw.dot %a, %a, %c : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  %more = arith.addf %c, %e : tensor<16x16xf32>
  %b = arith.addf %a, %a : tensor<16x16xf16>
  %f = tw.dot %a, %b, %zeros : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %c) -> (tensor<16x16xf32>) : i32 {
    %next = arith.addf %acc, %f : tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  return %sum, %d, %more, %r : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}

// A block without its dimensions of extent 1 is loaded and stored as what the program
// works on.
// CHECK-LABEL: @units
// CHECK: %[[X:.*]] = tw.descriptor_load %arg0[%{{.*}}] : <1x64x1x32xf16> -> tensor<64x32xf16>
// CHECK-NEXT: %[[Y:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: tw.descriptor_store %arg0[%{{.*}}], %[[Y]] : <1x64x1x32xf16>, tensor<64x32xf16>
// CHECK-NEXT: tw.descriptor_store %arg0[%{{.*}}], %[[X]] : <1x64x1x32xf16>, tensor<64x32xf16>
func.func @units(%d: !tw.descriptor<1x64x1x32xf16>, %i: i32) {
  %block = tw.descriptor_load %d[%i, %i, %i, %i] : !tw.descriptor<1x64x1x32xf16> -> tensor<1x64x1x32xf16>
  %x = tw.reshape %block : tensor<1x64x1x32xf16> -> tensor<64x32xf16>
  %y = arith.addf %x, %x : tensor<64x32xf16>
  %stored = tw.reshape %y : tensor<64x32xf16> -> tensor<1x64x1x32xf16>
  tw.descriptor_store %d[%i, %i, %i, %i], %stored : !tw.descriptor<1x64x1x32xf16>, tensor<1x64x1x32xf16>
  %x3 = tw.expand_dims %x, 1 : tensor<64x32xf16> -> tensor<64x1x32xf16>
  %x4 = tw.expand_dims %x3, 0 : tensor<64x1x32xf16> -> tensor<1x64x1x32xf16>
  tw.descriptor_store %d[%i, %i, %i, %i], %x4 : !tw.descriptor<1x64x1x32xf16>, tensor<1x64x1x32xf16>
  return
}

// Not where rows become shorter, nor where the block is also used in its own shape.
// CHECK-LABEL: @units_not
// CHECK: tw.reshape %{{.*}} : tensor<1x64x32xf16> -> tensor<32x64xf16>
// CHECK: tw.reshape %{{.*}} : tensor<1x64x32xf16> -> tensor<64x32xf16>
func.func @units_not(%d: !tw.descriptor<1x64x32xf16>, %i: i32)
    -> (tensor<32x64xf16>, tensor<64x32xf16>, tensor<1x64x32xf16>) {
  %block = tw.descriptor_load %d[%i, %i, %i] : !tw.descriptor<1x64x32xf16> -> tensor<1x64x32xf16>
  %x = tw.reshape %block : tensor<1x64x32xf16> -> tensor<32x64xf16>
  %other = tw.descriptor_load %d[%i, %i, %i] : !tw.descriptor<1x64x32xf16> -> tensor<1x64x32xf16>
  %y = tw.reshape %other : tensor<1x64x32xf16> -> tensor<64x32xf16>
  return %x, %y, %other : tensor<32x64xf16>, tensor<64x32xf16>, tensor<1x64x32xf16>
}
