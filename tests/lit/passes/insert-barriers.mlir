// Where threads could overtake each other, and where they cannot.
// RUN: tilewright-opt %s --split-input-file --tw-insert-barriers | FileCheck %s
// RUN: tilewright-opt %s --split-input-file --tw-insert-barriers --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: barrier: applied (other threads still read the shared memory of reduction of tile<512xf32>)

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// Same bytes: the second would overwrite what the first still reads.
// CHECK-LABEL: @same_scratch
// CHECK: tw.reduce
// CHECK: tw.barrier
// CHECK-NEXT: tw.reduce
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @same_scratch(%x: tensor<512xf32, #a>) -> (f32, f32) {
    %0 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } {tw.scratch_offset = 0 : i32} : (tensor<512xf32, #a>) -> f32
    %1 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.maxnumf %l, %r : f32
      tw.yield %c : f32
    } {tw.scratch_offset = 0 : i32} : (tensor<512xf32, #a>) -> f32
    return %0, %1 : f32, f32
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// Disjoint bytes: the barrier inside the second orders the first and the third.
// CHECK-LABEL: @alternating
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @alternating(%x: tensor<512xf32, #a>) -> (f32, f32, f32) {
    %0 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } {tw.scratch_offset = 0 : i32} : (tensor<512xf32, #a>) -> f32
    %1 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.maxnumf %l, %r : f32
      tw.yield %c : f32
    } {tw.scratch_offset = 16 : i32} : (tensor<512xf32, #a>) -> f32
    %2 = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.minnumf %l, %r : f32
      tw.yield %c : f32
    } {tw.scratch_offset = 0 : i32} : (tensor<512xf32, #a>) -> f32
    return %0, %1, %2 : f32, f32, f32
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// Round the loop: one iteration's write meets the last one's read.
// CHECK-LABEL: @loop
// CHECK: scf.for
// CHECK: tw.barrier
// CHECK-NEXT: tw.reduce
module attributes {tw.num_warps = 4 : i32} {
  func.func @loop(%x: tensor<512xf32, #a>, %n: i32, %z: f32) -> f32 {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (f32) : i32 {
      %0 = tw.reduce %x axis 0 {
      ^bb0(%l: f32, %r: f32):
        %c = arith.addf %l, %r : f32
        tw.yield %c : f32
      } {tw.scratch_offset = 0 : i32} : (tensor<512xf32, #a>) -> f32
      %1 = arith.addf %acc, %0 : f32
      scf.yield %1 : f32
    }
    return %s : f32
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// Global memory, stored in one layout and loaded in another: other threads' data.
// CHECK-LABEL: @store_load
// CHECK: tw.store
// CHECK: tw.barrier
// CHECK-NEXT: tw.load
module attributes {tw.num_warps = 4 : i32} {
  func.func @store_load(%p: !tw.ptr<f32>, %x: tensor<512xf32, #a>) -> tensor<512xf32, #b> {
    %ra = tw.range 0 to 512 : tensor<512xi32, #a>
    %sa = tw.splat %p : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #a>
    %pa = tw.addptr %sa, %ra : tensor<512x!tw.ptr<f32>, #a>, tensor<512xi32, #a>
    tw.store %pa, %x : tensor<512x!tw.ptr<f32>, #a>, tensor<512xf32, #a>
    %rb = tw.range 0 to 512 : tensor<512xi32, #b>
    %sb = tw.splat %p : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #b>
    %pb = tw.addptr %sb, %rb : tensor<512x!tw.ptr<f32>, #b>, tensor<512xi32, #b>
    %0 = tw.load %pb : tensor<512x!tw.ptr<f32>, #b> -> tensor<512xf32, #b>
    return %0 : tensor<512xf32, #b>
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// The same pointers in the same layout are the same thread's.
// CHECK-LABEL: @in_place
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @in_place(%p: !tw.ptr<f32>) {
    %r = tw.range 0 to 512 : tensor<512xi32, #a>
    %s = tw.splat %p : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #a>
    %q = tw.addptr %s, %r : tensor<512x!tw.ptr<f32>, #a>, tensor<512xi32, #a>
    %0 = tw.load %q : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
    tw.store %q, %0 : tensor<512x!tw.ptr<f32>, #a>, tensor<512xf32, #a>
    %1 = tw.load %q : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
    tw.store %q, %1 : tensor<512x!tw.ptr<f32>, #a>, tensor<512xf32, #a>
    return
  }
}

// -----
#c = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [0, 0], block = []>

// With copies one thread stores for others, which may then load too early.
// CHECK-LABEL: @copies
// CHECK: tw.store
// CHECK: tw.barrier
// CHECK-NEXT: tw.load
module attributes {tw.num_warps = 4 : i32} {
  func.func @copies(%q: tensor<32x!tw.ptr<f32>, #c>, %x: tensor<32xf32, #c>) -> tensor<32xf32, #c> {
    tw.store %q, %x : tensor<32x!tw.ptr<f32>, #c>, tensor<32xf32, #c>
    %0 = tw.load %q : tensor<32x!tw.ptr<f32>, #c> -> tensor<32xf32, #c>
    return %0 : tensor<32xf32, #c>
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>

// Different arguments, and two loads: nothing to order.
// CHECK-LABEL: @different_buffers
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @different_buffers(%p: !tw.ptr<f32>, %q: !tw.ptr<f32>, %x: tensor<512xf32, #a>) -> tensor<512xf32, #b> {
    %sa = tw.splat %p : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #a>
    tw.store %sa, %x : tensor<512x!tw.ptr<f32>, #a>, tensor<512xf32, #a>
    %sb = tw.splat %q : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #b>
    %0 = tw.load %sb : tensor<512x!tw.ptr<f32>, #b> -> tensor<512xf32, #b>
    return %0 : tensor<512xf32, #b>
  }
}

// -----
// Even and odd elements of one row, also where each branch computes its own offset.
// CHECK-LABEL: @interleaved
// CHECK-NOT: tw.barrier
// Steps of 3 and 2 meet.
// CHECK-LABEL: @steps_that_meet
// CHECK: tw.barrier
#e = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128], block = []>
#f = #tw.layout<register = [128], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @interleaved(%p: !tw.ptr<f32>, %x: tensor<256xf32, #e>, %i: i32, %n: i32, %c: i1) {
    scf.if %c {
      %off = arith.muli %i, %n : i32
      %q = tw.addptr %p, %off : !tw.ptr<f32>, i32
      %two = arith.constant dense<2> : tensor<256xi32, #e>
      %range = tw.range 0 to 256 : tensor<256xi32, #e>
      %even = arith.muli %range, %two : tensor<256xi32, #e>
      %s = tw.splat %q : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #e>
      %qs = tw.addptr %s, %even : tensor<256x!tw.ptr<f32>, #e>, tensor<256xi32, #e>
      tw.store %qs, %x : tensor<256x!tw.ptr<f32>, #e>, tensor<256xf32, #e>
    }
    scf.if %c {
      %off = arith.muli %i, %n : i32
      %q = tw.addptr %p, %off : !tw.ptr<f32>, i32
      %one = arith.constant dense<1> : tensor<256xi32, #f>
      %two = arith.constant dense<2> : tensor<256xi32, #f>
      %range = tw.range 0 to 256 : tensor<256xi32, #f>
      %even = arith.muli %range, %two : tensor<256xi32, #f>
      %odd = arith.addi %even, %one : tensor<256xi32, #f>
      %s = tw.splat %q : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #f>
      %qs = tw.addptr %s, %odd : tensor<256x!tw.ptr<f32>, #f>, tensor<256xi32, #f>
      %0 = tw.load %qs : tensor<256x!tw.ptr<f32>, #f> -> tensor<256xf32, #f>
      tw.store %qs, %0 : tensor<256x!tw.ptr<f32>, #f>, tensor<256xf32, #f>
    }
    return
  }
  func.func @steps_that_meet(%p: !tw.ptr<f32>, %x: tensor<256xf32, #e>) -> tensor<256xf32, #f> {
    %three = arith.constant dense<3> : tensor<256xi32, #e>
    %range = tw.range 0 to 256 : tensor<256xi32, #e>
    %third = arith.muli %range, %three : tensor<256xi32, #e>
    %s = tw.splat %p : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #e>
    %qs = tw.addptr %s, %third : tensor<256x!tw.ptr<f32>, #e>, tensor<256xi32, #e>
    tw.store %qs, %x : tensor<256x!tw.ptr<f32>, #e>, tensor<256xf32, #e>
    %one = arith.constant dense<1> : tensor<256xi32, #f>
    %two = arith.constant dense<2> : tensor<256xi32, #f>
    %ranges = tw.range 0 to 256 : tensor<256xi32, #f>
    %even = arith.muli %ranges, %two : tensor<256xi32, #f>
    %odd = arith.addi %even, %one : tensor<256xi32, #f>
    %t = tw.splat %p : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #f>
    %ts = tw.addptr %t, %odd : tensor<256x!tw.ptr<f32>, #f>, tensor<256xi32, #f>
    %0 = tw.load %ts : tensor<256x!tw.ptr<f32>, #f> -> tensor<256xf32, #f>
    return %0 : tensor<256xf32, #f>
  }
}

// -----
#c = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [0, 0], block = []>

// What only the thread that stores needs may differ in the others; a sum is needed by all.
// CHECK-LABEL: @only_for_stores
// CHECK-NOT: tw.barrier
// CHECK-LABEL: @for_a_sum
// CHECK: tw.barrier
// CHECK-NEXT: tw.store
module attributes {tw.num_warps = 4 : i32} {
  func.func @only_for_stores(%q: tensor<32x!tw.ptr<f32>, #c>, %p: !tw.ptr<f32>) {
    %0 = tw.load %q : tensor<32x!tw.ptr<f32>, #c> -> tensor<32xf32, #c>
    %1 = arith.mulf %0, %0 : tensor<32xf32, #c>
    tw.store %q, %1 : tensor<32x!tw.ptr<f32>, #c>, tensor<32xf32, #c>
    %2 = tw.load %p : !tw.ptr<f32> -> f32
    %3 = arith.addf %2, %2 : f32
    tw.store %p, %3 : !tw.ptr<f32>, f32
    return
  }
  func.func @for_a_sum(%q: tensor<32x!tw.ptr<f32>, #c>) -> f32 {
    %0 = tw.load %q : tensor<32x!tw.ptr<f32>, #c> -> tensor<32xf32, #c>
    tw.store %q, %0 : tensor<32x!tw.ptr<f32>, #c>, tensor<32xf32, #c>
    %1 = tw.reduce %0 axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<32xf32, #c>) -> f32
    return %1 : f32
  }
}

// -----
// A scalar is stored by one thread; all threads load it.
// CHECK-LABEL: @scalar
// CHECK: tw.store
// CHECK: tw.barrier
// CHECK-NEXT: tw.load
module attributes {tw.num_warps = 4 : i32} {
  func.func @scalar(%p: !tw.ptr<f32>, %x: f32) -> f32 {
    tw.store %p, %x : !tw.ptr<f32>, f32
    %0 = tw.load %p : !tw.ptr<f32> -> f32
    return %0 : f32
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// A releasing scalar atomic waits for everyone's stores, whatever their buffer; a
// relaxed one does not.
// CHECK-LABEL: @release
// CHECK: tw.store
// CHECK-NEXT: tw.atomic_rmw <exchange>, <relaxed>
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.atomic_rmw <exchange>, <release>
module attributes {tw.num_warps = 4 : i32} {
  func.func @release(%q: tensor<512x!tw.ptr<f32>, #a>, %x: tensor<512xf32, #a>, %lock: !tw.ptr<i32>, %zero: i32) {
    tw.store %q, %x : tensor<512x!tw.ptr<f32>, #a>, tensor<512xf32, #a>
    %0 = tw.atomic_rmw <exchange>, <relaxed>, <gpu>, %lock, %zero : !tw.ptr<i32>, i32
    %1 = tw.atomic_rmw <exchange>, <release>, <gpu>, %lock, %zero : !tw.ptr<i32>, i32
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// Along a row in place: iterations are 512 elements apart and touch 512 each.
// CHECK-LABEL: @in_place_loop
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @in_place_loop(%p: !tw.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %step = arith.constant 512 : i32
    %r = tw.range 0 to 512 : tensor<512xi32, #a>
    %s = tw.splat %p : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #a>
    scf.for %i = %c0 to %n step %step : i32 {
      %is = tw.splat %i : i32 -> tensor<512xi32, #a>
      %o = arith.addi %is, %r : tensor<512xi32, #a>
      %q = tw.addptr %s, %o : tensor<512x!tw.ptr<f32>, #a>, tensor<512xi32, #a>
      %0 = tw.load %q : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
      tw.store %q, %0 : tensor<512x!tw.ptr<f32>, #a>, tensor<512xf32, #a>
    }
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// Windows that overlap: the next iteration loads what other threads have stored.
// CHECK-LABEL: @overlapping_loop
// CHECK: scf.for
// CHECK: tw.barrier
// CHECK-NEXT: tw.load
module attributes {tw.num_warps = 4 : i32} {
  func.func @overlapping_loop(%p: !tw.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %step = arith.constant 256 : i32
    %r = tw.range 0 to 512 : tensor<512xi32, #a>
    %s = tw.splat %p : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #a>
    scf.for %i = %c0 to %n step %step : i32 {
      %is = tw.splat %i : i32 -> tensor<512xi32, #a>
      %o = arith.addi %is, %r : tensor<512xi32, #a>
      %q = tw.addptr %s, %o : tensor<512x!tw.ptr<f32>, #a>, tensor<512xi32, #a>
      %0 = tw.load %q : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
      tw.store %q, %0 : tensor<512x!tw.ptr<f32>, #a>, tensor<512xf32, #a>
    }
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// The same with a pointer that is carried and advanced.
// CHECK-LABEL: @carried_pointer
// CHECK-NOT: tw.barrier
module attributes {tw.num_warps = 4 : i32} {
  func.func @carried_pointer(%p: !tw.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %step = arith.constant dense<512> : tensor<512xi32, #a>
    %r = tw.range 0 to 512 : tensor<512xi32, #a>
    %s = tw.splat %p : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>, #a>
    %first = tw.addptr %s, %r : tensor<512x!tw.ptr<f32>, #a>, tensor<512xi32, #a>
    %end = scf.for %i = %c0 to %n step %c1 iter_args(%q = %first) -> (tensor<512x!tw.ptr<f32>, #a>) : i32 {
      %0 = tw.load %q : tensor<512x!tw.ptr<f32>, #a> -> tensor<512xf32, #a>
      tw.store %q, %0 : tensor<512x!tw.ptr<f32>, #a>, tensor<512xf32, #a>
      %next = tw.addptr %q, %step : tensor<512x!tw.ptr<f32>, #a>, tensor<512xi32, #a>
      scf.yield %next : tensor<512x!tw.ptr<f32>, #a>
    }
    return
  }
}
