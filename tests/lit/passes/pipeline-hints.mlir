// Hints of tl.range that change nothing: each is told, at its loop.
// RUN: tilewright-opt --split-input-file --tw-pipeline-loops --tw-remarks --verify-diagnostics %s -o /dev/null

module attributes {tw.num_warps = 4 : i32} {
  func.func @loop(%p: !tw.ptr<f32>, %x: f32, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-remark @+3 {{hint: refused (loop_unroll_factor has no effect: LLVM chooses which loops it unrolls)}}
    // expected-remark @+2 {{hint: refused (warp_specialize has no effect: the warps that compute start the copies, too)}}
    // expected-remark @+1 {{hint: refused (disallow_acc_multi_buffer has no effect: an accumulator has one copy in any case)}}
    scf.for %k = %c0 to %n step %c1 : i32 {
      tw.store %p, %x : !tw.ptr<f32>, f32
    } {tw.loop_single_accumulator, tw.loop_unroll = 2 : i32, tw.loop_warp_specialize}
    return
  }
}

// -----

module attributes {tw.num_warps = 4 : i32} {
  // A loop without such hints, and no remark.
  func.func @plain(%p: !tw.ptr<f32>, %x: f32, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %k = %c0 to %n step %c1 : i32 {
      tw.store %p, %x : !tw.ptr<f32>, f32
    } {tw.loop_no_licm}
    return
  }
}
