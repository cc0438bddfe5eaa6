// RUN: tilewright-opt --tw-flatten-loops --tw-remarks --split-input-file --verify-diagnostics %s
// Each reason for which two loops stay two.

func.func @two_loops(%n: i32, %p: !tw.ptr<f32>, %x: f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-remark-re @below {{{{.*}}it contains more than one loop, or not a plain one}}
  scf.for %tile = %c0 to %n step %c1 : i32 {
    scf.for %k = %c0 to %n step %c1 : i32 {
      tw.store %p, %x : !tw.ptr<f32>, f32
    }
    scf.for %k = %c0 to %n step %c1 : i32 {
      tw.store %p, %x : !tw.ptr<f32>, f32
    }
  } {tw.loop_flatten}
  return
}

// -----
func.func @no_loop(%n: i32, %p: !tw.ptr<f32>, %x: f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-remark-re @below {{{{.*}}it contains no loop}}
  scf.for %tile = %c0 to %n step %c1 : i32 {
    tw.store %p, %x : !tw.ptr<f32>, f32
  } {tw.loop_flatten}
  return
}

// -----
func.func @three_deep(%n: i32, %p: !tw.ptr<f32>, %x: f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-remark-re @below {{{{.*}}its inner loop contains another one}}
  scf.for %tile = %c0 to %n step %c1 : i32 {
    scf.for %k = %c0 to %n step %c1 : i32 {
      scf.for %l = %c0 to %n step %c1 : i32 {
        tw.store %p, %x : !tw.ptr<f32>, f32
      }
    }
  } {tw.loop_flatten}
  return
}

// -----
func.func @triangle(%n: i32, %p: !tw.ptr<f32>, %x: f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-remark-re @below {{{{.*}}the bounds of its inner loop change with it}}
  scf.for %tile = %c0 to %n step %c1 : i32 {
    scf.for %k = %c0 to %tile step %c1 : i32 {
      tw.store %p, %x : !tw.ptr<f32>, f32
    }
  } {tw.loop_flatten}
  return
}

// -----
func.func @two_types(%n: i32, %m: i64, %p: !tw.ptr<f32>, %x: f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  // expected-remark-re @below {{{{.*}}the two loops count in different types}}
  scf.for %tile = %c0 to %n step %c1 : i32 {
    scf.for %k = %l0 to %m step %l1 : i64 {
      tw.store %p, %x : !tw.ptr<f32>, f32
    }
  } {tw.loop_flatten}
  return
}

// -----
func.func @load_before(%n: i32, %p: !tw.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-remark-re @below {{{{.*}}it accesses memory before its inner loop}}
  scf.for %tile = %c0 to %n step %c1 : i32 {
    %x = tw.load %p : !tw.ptr<f32> -> f32
    scf.for %k = %c0 to %n step %c1 : i32 {
      tw.store %p, %x : !tw.ptr<f32>, f32
    }
  } {tw.loop_flatten}
  return
}
