// What lowering refuses, with a location instead of a crash.
// RUN: tilewright-opt %s --tw-lower-to-llvm -split-input-file -verify-diagnostics

module {
  // expected-error @below {{is a kernel and cannot return values}}
  func.func @returns() -> i32 {
    %c = arith.constant 1 : i32
    func.return %c : i32
  }
}

// -----

module attributes {tw.num_ctas = 32 : i32} {
  // expected-error @below {{spans 32 blocks, sm_90a has clusters of 16}}
  func.func @cluster() {
    func.return
  }
}

// -----

module {
  func.func @tileLevel() {
    // expected-error @below {{result has no layout}}
    %r = tw.range 0 to 32 : tensor<32xi32>
    func.return
  }
}

// -----

#b = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module {
  func.func @dense() {
    // expected-error @below {{has neither a scalar nor one value for all elements}}
    %r = arith.constant dense<[0, 1]> : tensor<2xi32, #b>
    func.return
  }
}

// -----

module {
  func.func @atomic(%p: !tw.ptr<i16>, %v: i16) {
    // expected-error @below {{has no instruction for 'i16'}}
    %o = tw.atomic_rmw <add>, <relaxed>, <gpu>, %p, %v : !tw.ptr<i16>, i16
    func.return
  }
}

// -----

module {
  func.func @scratch(%p: !tw.ptr<i32>, %v: i32) {
    // expected-error @below {{has no scratch in shared memory for its result}}
    %o = tw.atomic_rmw <add>, <relaxed>, <gpu>, %p, %v : !tw.ptr<i32>, i32
    tw.store %p, %o : !tw.ptr<i32>, i32
    func.return
  }
}

// -----

module {
  func.func @unknown(%x: f32, %c: i32) {
    // expected-error @below {{has no lowering to machine code}}
    %y = math.fpowi %x, %c : f32, i32
    func.return
  }
}

// -----

module {
  // expected-error @below {{has unstructured control flow}}
  func.func @branches() {
    func.return
  ^next:
    func.return
  }
}

// -----

module {
  // expected-error @below {{has no body}}
  func.func private @elsewhere()
}

// -----

module {
  // expected-error @below {{argument type has no place in a launch: 'f8E5M2'}}
  func.func @float8(%x: f8E5M2) {
    func.return
  }
}

// -----

// expected-error @below {{has no kernel: no function is public}}
module {
  func.func private @helper() {
    func.return
  }
}
