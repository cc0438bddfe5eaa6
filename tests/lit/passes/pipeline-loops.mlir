// RUN: tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared --tw-pipeline-loops %s | FileCheck %s
// RUN: sed 's/tw.permute %bv \[1, 0\]/math.absf %bv/; s/\(math.absf .*\) -> .*/\1/' %s | tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared --tw-pipeline-loops | FileCheck %s --check-prefix=COMPUTED
// Three stages: copies start two iterations ahead, each only where there is an
// iteration, and the product stays in flight across the back edge. A fourth slot
// would cost a resident block, so the copies wait for the product before, after a
// second barrier. A loop of no iterations goes around the wait for its product.

// CHECK: tw.alloc_shared {tw.ring = {fill = "cp.async", release = "barrier"}} : <64x64xf16, {{.*}}, 3>
// CHECK: tw.alloc_shared {tw.ring = {fill = "cp.async", release = "barrier"}} : <64x64xf16, {{.*}}, 3>
// CHECK: tw.barrier
// CHECK: scf.if
// CHECK-NEXT: tw.async_copy
// CHECK: tw.async_commit
// CHECK: scf.if
// CHECK-NEXT: tw.async_copy
// CHECK: tw.async_commit
// CHECK: scf.if
// CHECK: scf.for
// CHECK: tw.async_wait 1
// CHECK-NEXT: tw.fence_async
// CHECK-NEXT: tw.barrier
// CHECK: tw.wgmma {{.*}} async
// CHECK-NEXT: tw.wgmma_wait 1
// CHECK-NEXT: tw.barrier
// CHECK-NOT: tw.barrier
// CHECK: tw.async_copy
// CHECK: tw.async_copy
// CHECK: tw.async_commit
// CHECK: scf.yield
// CHECK: tw.wgmma_wait 0
// CHECK-NEXT: scf.yield
// CHECK: tw.async_wait 0
// CHECK-NEXT: tw.barrier

// An operand that is computed from what is loaded: each thread reads its own copies.
// COMPUTED-COUNT-2: tw.alloc_shared {tw.ring = {fill = "{{(own )?}}cp.async", release = "barrier"}} : <64x64xf16, {{.*}}, 3>
// COMPUTED: scf.for
// COMPUTED: tw.async_wait 1
// COMPUTED: tw.barrier
// COMPUTED: %[[V:.*]] = tw.shared_load %{{.*}} {isOwn}
// COMPUTED-NEXT: %[[W:.*]] = math.absf %[[V]]
// COMPUTED-NEXT: %[[B:.*]] = tw.alloc_shared %[[W]]
// COMPUTED-NEXT: tw.wgmma %{{.*}}, %[[B]]

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 3 : i32} {
  func.func @product(%a: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %b: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %n: i32) -> tensor<64x64xf32> {
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
    %acc = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
      %first = arith.muli %k, %c64 : i32
      %tile = tw.splat %first : i32 -> tensor<64x64xi32>
      %as = tw.splat %a : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>>
      %ao = tw.addptr %as, %offsets : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %ap = tw.addptr %ao, %tile : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %bs = tw.splat %b : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>>
      %bo = tw.addptr %bs, %offsets : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %bp = tw.addptr %bo, %tile : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
      %av = tw.load %ap : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
      %bv = tw.load %bp : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
      %bt = tw.permute %bv [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
      %d = tw.dot %av, %bt, %sum : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    return %acc : tensor<64x64xf32>
  }
}
