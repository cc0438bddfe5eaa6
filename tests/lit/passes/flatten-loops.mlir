// RUN: tilewright-opt --tw-flatten-loops %s | FileCheck %s
// One loop over all steps of all tiles: what is before the inner loop runs at
// its first step, what is after it at its last. The inner loop runs here.

module {
  // CHECK-LABEL: @tiles
  // CHECK: scf.for
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: %[[LAST:.*]] = arith.cmpi eq
  // CHECK: scf.if %[[FIRST]] -> (i32)
  // CHECK: arith.muli
  // CHECK: arith.select %[[FIRST]]
  // CHECK: scf.if %[[LAST]] {
  // CHECK: tw.store
  // CHECK-NOT: scf.for
  func.func @tiles(%p: !tw.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    scf.for %tile = %c0 to %n step %c1 : i32 {
      %first = arith.muli %tile, %c8 : i32
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) : i32 {
        %index = arith.addi %first, %k : i32
        %at = tw.addptr %p, %index : !tw.ptr<f32>, i32
        %x = tw.load %at : !tw.ptr<f32> -> f32
        %next = arith.addf %s, %x : f32
        scf.yield %next : f32
      }
      %out = tw.addptr %p, %tile : !tw.ptr<f32>, i32
      tw.store %out, %sum : !tw.ptr<f32>, f32
    } {tw.loop_flatten}
    return
  }

  // Rows of the block that is loaded are kept: the branch of the first step makes them, and
  // the number that comes from a tile. What costs next to nothing (the splat) and tiles of
  // more than one axis are made again.
  // The variable for the rows starts with numbers in a row, too: equal ones would hide from
  // later passes that rows follow one another.
  // CHECK-LABEL: @rows
  // CHECK-COUNT-2: tw.range 0 to 64
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (i32, i32, tensor<64x1xf32>, tensor<64xi32>, i32) : i32 {
  // CHECK: %[[KEPT:.*]]:2 = scf.if %{{.*}} -> (tensor<64xi32>, i32) {
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: tw.splat
  // CHECK-NEXT: arith.addi
  // CHECK-NEXT: tw.extract_scalar
  // CHECK-NEXT: scf.yield
  // CHECK: tw.expand_dims %[[KEPT]]#0, 1
  // CHECK-NEXT: tw.splat
  // CHECK-NOT: tw.extract_scalar
  // CHECK: tw.load
  // CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[KEPT]]#0, %[[KEPT]]#1
  func.func @rows(%p: tensor<64x1x!tw.ptr<f32>>, %out: !tw.ptr<f32>, %t: tensor<1xi32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %range = tw.range 0 to 64 : tensor<64xi32>
    %zero = arith.constant dense<0.0> : tensor<64x1xf32>
    scf.for %tile = %c0 to %n step %c1 : i32 {
      %first = arith.muli %tile, %c8 : i32
      %firsts = tw.splat %first : i32 -> tensor<64xi32>
      %row = arith.addi %firsts, %range : tensor<64xi32>
      %rows = tw.expand_dims %row, 1 : tensor<64xi32> -> tensor<64x1xi32>
      %number = tw.extract_scalar %t : tensor<1xi32> -> i32
      %numbers = tw.splat %number : i32 -> tensor<64x1xi32>
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (tensor<64x1xf32>) : i32 {
        %index = arith.addi %rows, %numbers : tensor<64x1xi32>
        %at = tw.addptr %p, %index : tensor<64x1x!tw.ptr<f32>>, tensor<64x1xi32>
        %x = tw.load %at : tensor<64x1x!tw.ptr<f32>> -> tensor<64x1xf32>
        %next = arith.addf %s, %x : tensor<64x1xf32>
        scf.yield %next : tensor<64x1xf32>
      }
      tw.store %p, %sum : tensor<64x1x!tw.ptr<f32>>, tensor<64x1xf32>
    } {tw.loop_flatten}
    return
  }

  // What two loads need may have to be in two layouts, and what only the ops after the inner
  // loop need takes no registers in it: both are made again.
  // CHECK-LABEL: @shared_rows
  // CHECK: scf.for {{.*}} -> (i32, i32, tensor<64xf32>, i32) : i32 {
  // CHECK: scf.if %{{.*}} -> (i32) {
  // CHECK-NEXT: arith.muli
  // CHECK-NEXT: scf.yield
  // CHECK: arith.addi
  // CHECK-COUNT-2: tw.load
  func.func @shared_rows(%p: tensor<64x!tw.ptr<f32>>, %q: tensor<64x!tw.ptr<f32>>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %range = tw.range 0 to 64 : tensor<64xi32>
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    scf.for %tile = %c0 to %n step %c1 : i32 {
      %first = arith.muli %tile, %c8 : i32
      %firsts = tw.splat %first : i32 -> tensor<64xi32>
      %row = arith.addi %firsts, %range : tensor<64xi32>
      %later = arith.muli %row, %range : tensor<64xi32>
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (tensor<64xf32>) : i32 {
        %at = tw.addptr %p, %row : tensor<64x!tw.ptr<f32>>, tensor<64xi32>
        %x = tw.load %at : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
        %other = tw.addptr %q, %row : tensor<64x!tw.ptr<f32>>, tensor<64xi32>
        %y = tw.load %other : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
        %z = arith.addf %x, %y : tensor<64xf32>
        %next = arith.addf %s, %z : tensor<64xf32>
        scf.yield %next : tensor<64xf32>
      }
      %out = tw.addptr %p, %later : tensor<64x!tw.ptr<f32>>, tensor<64xi32>
      tw.store %out, %sum : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
    } {tw.loop_flatten}
    return
  }

  // A variable that advances by the same amount each time is computed from the step within the
  // tile, in 64 bits where it is an address; only the sum is carried. Rows that lead to one load
  // through such a variable are kept.
  // CHECK-LABEL: @advancing
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (i32, i32, tensor<64xf32>, tensor<64xi32>) : i32 {
  // CHECK: %[[ROWS:.*]] = scf.if
  // CHECK: %[[BASE:.*]] = tw.addptr %{{.*}}, %[[ROWS]]
  // CHECK: %[[STEP:.*]] = arith.extsi %{{.*}} : i32 to i64
  // CHECK: %[[K:.*]] = arith.extsi %{{.*}} : i32 to i64
  // CHECK: %[[WAY:.*]] = arith.muli %[[STEP]], %[[K]] : i64
  // CHECK: %[[WAYS:.*]] = tw.splat %[[WAY]] : i64 -> tensor<64xi64>
  // CHECK: %[[AT:.*]] = tw.addptr %[[BASE]], %[[WAYS]]
  // CHECK: arith.muli %{{.*}}, %{{.*}} : i32
  // CHECK: tw.load %[[AT]]
  func.func @advancing(%p: tensor<64x!tw.ptr<f32>>, %n: i32, %stride: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %c64 = arith.constant 64 : i32
    %strides = tw.splat %stride : i32 -> tensor<64xi32>
    %range = tw.range 0 to 64 : tensor<64xi32>
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    scf.for %tile = %c0 to %n step %c1 : i32 {
      %first = arith.muli %tile, %c64 : i32
      %firsts = tw.splat %first : i32 -> tensor<64xi32>
      %row = arith.addi %firsts, %range : tensor<64xi32>
      %start = tw.addptr %p, %row : tensor<64x!tw.ptr<f32>>, tensor<64xi32>
      %sum:3 = scf.for %k = %c0 to %c8 step %c1 iter_args(%s = %zero, %at = %start, %left = %n) -> (tensor<64xf32>, tensor<64x!tw.ptr<f32>>, i32) : i32 {
        %lefts = tw.splat %left : i32 -> tensor<64xi32>
        %mask = arith.cmpi slt, %range, %lefts : tensor<64xi32>
        %x = tw.load %at mask %mask : tensor<64xi1> : tensor<64x!tw.ptr<f32>> -> tensor<64xf32>
        %next = arith.addf %s, %x : tensor<64xf32>
        %further = tw.addptr %at, %strides : tensor<64x!tw.ptr<f32>>, tensor<64xi32>
        %less = arith.addi %c64, %left : i32
        scf.yield %next, %further, %less : tensor<64xf32>, tensor<64x!tw.ptr<f32>>, i32
      }
      tw.store %sum#1, %sum#0 : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
    } {tw.loop_flatten}
    return
  }
}
