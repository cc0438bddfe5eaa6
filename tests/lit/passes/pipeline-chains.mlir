// RUN: tilewright-opt --split-input-file --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared --tw-pipeline-loops %s | FileCheck %s
// Two products of which the second reads what becomes of the first.

// One warpgroup of 64 rows: with rings of one slot four blocks fit a multiprocessor,
// with rings of two slots two. So the products are computed in turn; a slot is filled
// again after the product that has read it, that of the second one beside the next
// first one, which it need not wait for.

// CHECK-LABEL: @attend
// CHECK: [[K:%.*]] = tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : <64x128xf16, {{[^:]*}}>
// CHECK: [[V:%.*]] = tw.alloc_shared {tw.ring = {{.*}}} : <64x128xf16, {{[^:]*}}>
// CHECK: [[KFULL:%.*]] = tw.mbarrier_alloc 1 : <1>
// CHECK: [[KFREE:%.*]] = tw.mbarrier_alloc 4 : <1>
// CHECK: [[VFULL:%.*]] = tw.mbarrier_alloc 1 : <1>
// CHECK: [[VFREE:%.*]] = tw.mbarrier_alloc 4 : <1>
// CHECK: scf.if
// CHECK: tw.tma_load %arg1
// CHECK-NOT: tw.tma_load
// CHECK: scf.for
// CHECK-NOT: tw.barrier
// CHECK: tw.mbarrier_wait [[KFULL]]
// CHECK: tw.wgmma
// CHECK: scf.if
// CHECK-NEXT: tw.mbarrier_wait [[VFREE]]
// CHECK-NEXT: tw.mbarrier_expect [[VFULL]]
// CHECK-NEXT: tw.tma_load %arg2
// CHECK: tw.wgmma_wait 0
// CHECK-NEXT: tw.mbarrier_arrive [[KFREE]]
// CHECK: scf.if
// CHECK-NEXT: tw.mbarrier_wait [[KFREE]]
// CHECK-NEXT: tw.mbarrier_expect [[KFULL]]
// CHECK-NEXT: tw.tma_load %arg1
// CHECK: math.exp2
// CHECK: tw.mbarrier_wait [[VFULL]]
// CHECK-NEXT: tw.wgmma
// CHECK: tw.wgmma_wait 0
// CHECK-NEXT: tw.mbarrier_arrive [[VFREE]]
// CHECK-NOT: tw.barrier
// CHECK: scf.yield

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 2 : i32} {
  func.func @attend(%q: tensor<64x128xf16>, %ks: !tw.descriptor<64x128xf16>, %vs: !tw.descriptor<64x128xf16>, %n: i32) -> tensor<64x128xf32> {
    %none = arith.constant dense<0.0> : tensor<64x128xf32>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<64x128xf32>) : i32 {
      %k = tw.descriptor_load %ks[%i, %c0] : !tw.descriptor<64x128xf16> -> tensor<64x128xf16>
      %v = tw.descriptor_load %vs[%i, %c0] : !tw.descriptor<64x128xf16> -> tensor<64x128xf16>
      %kt = tw.permute %k [1, 0] : tensor<64x128xf16> -> tensor<128x64xf16>
      %s = tw.dot %q, %kt, %zero : tensor<64x128xf16>, tensor<128x64xf16>, tensor<64x64xf32>
      %p = math.exp2 %s : tensor<64x64xf32>
      %w = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
      %o = tw.dot %w, %v, %sum : tensor<64x64xf16>, tensor<64x128xf16>, tensor<64x128xf32>
      scf.yield %o : tensor<64x128xf32>
    }
    return %out : tensor<64x128xf32>
  }
}

// -----

// Two warpgroups, and one block either way: the first product of an iteration runs
// beside the second one of the iteration before, and the arithmetic beside that.

// CHECK-LABEL: @attend
// CHECK: tw.alloc_shared {tw.ring = {fill = "tma", release = "arrivals"}} : <128x128xf16, {{[^:]*}}, 3>
// CHECK: scf.for
// CHECK-NOT: tw.barrier
// CHECK: [[S:%.*]] = tw.wgmma {{.*}} async
// CHECK: [[O:%.*]] = tw.wgmma {{.*}} async
// CHECK: tw.tma_load
// CHECK: tw.tma_load
// CHECK: [[DONE:%.*]] = tw.wgmma_wait 1 [[S]]
// CHECK: tw.mbarrier_arrive
// CHECK: [[P:%.*]] = math.exp2 [[DONE]]
// CHECK: [[LATER:%.*]]:3 = tw.wgmma_wait 0 settled 1 [[O]], {{.*}}, [[P]]
// CHECK: arith.truncf [[LATER]]#2
// CHECK: tw.mbarrier_arrive
// CHECK-NOT: tw.barrier
// CHECK: scf.yield
// The last iteration's second product.
// CHECK: scf.if
// CHECK: tw.wgmma
// CHECK: tw.wgmma_wait 0

module attributes {tw.num_warps = 8 : i32, tw.num_stages = 2 : i32} {
  func.func @attend(%q: tensor<128x128xf16>, %ks: !tw.descriptor<128x128xf16>, %vs: !tw.descriptor<128x128xf16>, %n: i32) -> tensor<128x128xf32> {
    %none = arith.constant dense<0.0> : tensor<128x128xf32>
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 128 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<128x128xf32>) : i32 {
      %k = tw.descriptor_load %ks[%i, %c0] : !tw.descriptor<128x128xf16> -> tensor<128x128xf16>
      %v = tw.descriptor_load %vs[%i, %c0] : !tw.descriptor<128x128xf16> -> tensor<128x128xf16>
      %kt = tw.permute %k [1, 0] : tensor<128x128xf16> -> tensor<128x128xf16>
      %s = tw.dot %q, %kt, %zero : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      %p = math.exp2 %s : tensor<128x128xf32>
      %w = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xf16>
      %o = tw.dot %w, %v, %sum : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      scf.yield %o : tensor<128x128xf32>
    }
    return %out : tensor<128x128xf32>
  }
}

// -----

// The same with cp.async, where threads meet instead: after each wait for tiles, and
// where the first product has read its tile.

// CHECK-LABEL: @attend
// CHECK: scf.for
// CHECK: tw.async_wait 0
// CHECK-NEXT: tw.fence_async
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.wgmma
// CHECK: tw.async_copy
// CHECK-NEXT: tw.async_commit
// CHECK: tw.wgmma_wait 0
// CHECK-NEXT: tw.barrier
// CHECK: tw.async_copy
// CHECK: tw.async_commit
// CHECK: math.exp2
// CHECK: tw.async_wait 1
// CHECK-NEXT: tw.fence_async
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.wgmma
// CHECK: tw.wgmma_wait 0
// CHECK-NOT: tw.barrier
// CHECK: scf.yield

module attributes {tw.num_warps = 4 : i32, tw.num_stages = 2 : i32} {
  func.func @attend(%q: tensor<64x128xf16>, %ks: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %vs: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %n: i32) -> tensor<64x128xf32> {
    %none = arith.constant dense<0.0> : tensor<64x128xf32>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = tw.range 0 to 64 : tensor<64xi32>
    %c = tw.range 0 to 128 : tensor<128xi32>
    %rows = tw.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %columns = tw.expand_dims %c, 0 : tensor<128xi32> -> tensor<1x128xi32>
    %stride = arith.constant dense<128> : tensor<64x1xi32>
    %row = arith.muli %rows, %stride : tensor<64x1xi32>
    %x = tw.broadcast %row : tensor<64x1xi32> -> tensor<64x128xi32>
    %y = tw.broadcast %columns : tensor<1x128xi32> -> tensor<64x128xi32>
    %offsets = arith.addi %x, %y : tensor<64x128xi32>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %width = arith.constant 128 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<64x128xf32>) : i32 {
      %first = arith.muli %i, %width : i32
      %tile = tw.splat %first : i32 -> tensor<64x128xi32>
      %k0 = tw.splat %ks : !tw.ptr<f16> -> tensor<64x128x!tw.ptr<f16>>
      %k1 = tw.addptr %k0, %offsets : tensor<64x128x!tw.ptr<f16>>, tensor<64x128xi32>
      %k2 = tw.addptr %k1, %tile : tensor<64x128x!tw.ptr<f16>>, tensor<64x128xi32>
      %v0 = tw.splat %vs : !tw.ptr<f16> -> tensor<64x128x!tw.ptr<f16>>
      %v1 = tw.addptr %v0, %offsets : tensor<64x128x!tw.ptr<f16>>, tensor<64x128xi32>
      %v2 = tw.addptr %v1, %tile : tensor<64x128x!tw.ptr<f16>>, tensor<64x128xi32>
      %k = tw.load %k2 : tensor<64x128x!tw.ptr<f16>> -> tensor<64x128xf16>
      %v = tw.load %v2 : tensor<64x128x!tw.ptr<f16>> -> tensor<64x128xf16>
      %kt = tw.permute %k [1, 0] : tensor<64x128xf16> -> tensor<128x64xf16>
      %s = tw.dot %q, %kt, %zero : tensor<64x128xf16>, tensor<128x64xf16>, tensor<64x64xf32>
      %p = math.exp2 %s : tensor<64x64xf32>
      %w = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
      %o = tw.dot %w, %v, %sum : tensor<64x64xf16>, tensor<64x128xf16>, tensor<64x128xf32>
      scf.yield %o : tensor<64x128xf32>
    }
    return %out : tensor<64x128xf32>
  }
}

// -----

// A transposed tile of the second product: its view belongs to the later iteration too.

// CHECK-LABEL: @attend_transposed
// CHECK: scf.for
// CHECK: [[S:%.*]] = tw.wgmma {{.*}} async
// CHECK: [[V:%.*]] = tw.buffer_permute
// CHECK: tw.wgmma {{.*}}, [[V]], {{.*}} async
// CHECK: tw.wgmma_wait 1 [[S]]
// CHECK: scf.yield

module attributes {tw.num_warps = 8 : i32, tw.num_stages = 2 : i32} {
  func.func @attend_transposed(%q: tensor<128x128xf16>, %ks: !tw.descriptor<128x128xf16>, %vs: !tw.descriptor<128x128xf16>, %n: i32) -> tensor<128x128xf32> {
    %none = arith.constant dense<0.0> : tensor<128x128xf32>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 128 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<128x128xf32>) : i32 {
      %k = tw.descriptor_load %ks[%i, %c0] : !tw.descriptor<128x128xf16> -> tensor<128x128xf16>
      %v = tw.descriptor_load %vs[%c0, %i] : !tw.descriptor<128x128xf16> -> tensor<128x128xf16>
      %vt = tw.permute %v [1, 0] : tensor<128x128xf16> -> tensor<128x128xf16>
      %s = tw.dot %q, %k, %none : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      %w = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xf16>
      %o = tw.dot %w, %vt, %sum : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      scf.yield %o : tensor<128x128xf32>
    }
    return %out : tensor<128x128xf32>
  }
}

// -----

// A tile that no copy brings has one place, which the next iteration overwrites: the
// second product must not read it an iteration later.

// CHECK-LABEL: @attend_computed
// CHECK: scf.for
// CHECK: [[V:%.*]] = tw.alloc_shared %
// CHECK: [[O:%.*]] = tw.wgmma {{.*}}, [[V]],
// CHECK-NOT: async
// CHECK: scf.yield

module attributes {tw.num_warps = 8 : i32, tw.num_stages = 2 : i32} {
  func.func @attend_computed(%q: tensor<128x128xf16>, %ks: !tw.descriptor<128x128xf16>, %vs: !tw.descriptor<128x128xf16>, %n: i32) -> tensor<128x128xf32> {
    %none = arith.constant dense<0.0> : tensor<128x128xf32>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 128 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<128x128xf32>) : i32 {
      %k = tw.descriptor_load %ks[%i, %c0] : !tw.descriptor<128x128xf16> -> tensor<128x128xf16>
      %v = tw.descriptor_load %vs[%i, %c0] : !tw.descriptor<128x128xf16> -> tensor<128x128xf16>
      %twice = arith.addf %v, %v : tensor<128x128xf16>
      %s = tw.dot %q, %k, %none : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      %w = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xf16>
      %o = tw.dot %w, %twice, %sum : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      scf.yield %o : tensor<128x128xf32>
    }
    return %out : tensor<128x128xf32>
  }
}

// -----

// What is computed from the second product's sum is read by the next iteration's first
// part: nothing of an iteration may be left for the next one.

// CHECK-LABEL: @feedback
// CHECK: scf.for
// CHECK: tw.wgmma
// CHECK: tw.wgmma
// CHECK: scf.yield
// CHECK-NOT: tw.wgmma {{.*}}
// CHECK: return

module attributes {tw.num_warps = 8 : i32, tw.num_stages = 2 : i32} {
  func.func @feedback(%q: tensor<128x128xf16>, %ks: !tw.descriptor<128x128xf16>, %vs: !tw.descriptor<128x128xf16>, %n: i32) -> tensor<128x128xf32> {
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 128 : i32
    %out:2 = scf.for %i = %c0 to %n step %step iter_args(%sum = %zero, %before = %zero) -> (tensor<128x128xf32>, tensor<128x128xf32>) : i32 {
      %k = tw.descriptor_load %ks[%i, %c0] : !tw.descriptor<128x128xf16> -> tensor<128x128xf16>
      %v = tw.descriptor_load %vs[%i, %c0] : !tw.descriptor<128x128xf16> -> tensor<128x128xf16>
      %kt = tw.permute %k [1, 0] : tensor<128x128xf16> -> tensor<128x128xf16>
      %s = tw.dot %q, %kt, %zero : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      %p = arith.addf %s, %before : tensor<128x128xf32>
      %w = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xf16>
      %next = math.absf %sum : tensor<128x128xf32>
      %o = tw.dot %w, %v, %sum : tensor<128x128xf16>, tensor<128x128xf16>, tensor<128x128xf32>
      scf.yield %o, %next : tensor<128x128xf32>, tensor<128x128xf32>
    }
    return %out#0 : tensor<128x128xf32>
  }
}
