// The pass that fails for tests: by an error at each kernel's first store, or by wrong IR.
// RUN: tilewright-opt %s --split-input-file --tw-test-fault --verify-diagnostics
// RUN: not tilewright-opt %s --split-input-file --tw-test-fault=kind=break 2>&1 | FileCheck %s
// RUN: not --crash tilewright-opt %s --tw-test-fault=kind=abort

// CHECK: unregistered dialect
module attributes {tw.num_warps = 1 : i32} {
  func.func @stores(%p: !tw.ptr<f32>, %x: f32) {
    // expected-error @below {{this pass always fails}}
    tw.store %p, %x : !tw.ptr<f32>, f32
    return
  }
}

// -----
// What stores nothing is left alone, so that reduction keeps a store.
module attributes {tw.num_warps = 1 : i32} {
  func.func @stores_nothing() {
    return
  }
}
