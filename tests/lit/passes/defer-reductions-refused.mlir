// RUN: tilewright-opt --tw-defer-reductions --tw-remarks --split-input-file --verify-diagnostics %s
// Each reason for which a reduction stays in its loop.

#tile = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#row = #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [1, 2], block = []>
// What is there at first would be scaled once per thread.
func.func @scaled_from_anything(%x: tensor<4x128xf32, #tile>, %s: tensor<4xf32, #row>, %init: tensor<4xf32, #row>, %n: i32) -> tensor<4xf32, #row> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %init) -> (tensor<4xf32, #row>) : i32 {
    // expected-remark-re @below {{{{.*}}the sum is scaled, and does not begin at zero}}
    %sum = tw.reduce %x axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<4x128xf32, #tile>) -> tensor<4xf32, #row>
    %scaled = arith.mulf %t, %s : tensor<4xf32, #row>
    %next = arith.addf %scaled, %sum : tensor<4xf32, #row>
    scf.yield %next : tensor<4xf32, #row>
  }
  return %r : tensor<4xf32, #row>
}

// -----
#tile = #tw.layout<register = [1, 2, 4, 8, 16, 32, 64], lane = [128, 256, 512, 1024, 2048], warp = [4096, 8192], block = []>
#row = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
// Threads have nothing to tell each other.
func.func @whole_rows(%x: tensor<128x128xf32, #tile>, %init: tensor<128xf32, #row>, %n: i32) -> tensor<128xf32, #row> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %init) -> (tensor<128xf32, #row>) : i32 {
    // expected-remark-re @below {{{{.*}}its threads hold whole rows, or elements twice}}
    %sum = tw.reduce %x axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<128x128xf32, #tile>) -> tensor<128xf32, #row>
    %next = arith.addf %t, %sum : tensor<128xf32, #row>
    scf.yield %next : tensor<128xf32, #row>
  }
  return %r : tensor<128xf32, #row>
}
