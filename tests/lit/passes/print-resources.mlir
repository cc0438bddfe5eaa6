// The registers of a thread at products, reductions, loops and stores, and the forecast for each kernel.
// RUN: tilewright-opt %s --tw-print-resources -o /dev/null --verify-diagnostics

// 8 elements in each of 32 threads.
#row = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  // 8 f32 and one index: the elements that follow each other are reached from the first one, and the pointers lie in
  // constant memory.
  // expected-remark @below {{registers: forecast 19}}
  func.func @contiguous(%p: !tw.ptr<f32>, %out: !tw.ptr<f32>) {
    %i = tw.range 0 to 256 : tensor<256xi32, #row>
    %base = tw.splat %p : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #row>
    %from = tw.addptr %base, %i : tensor<256x!tw.ptr<f32>, #row>, tensor<256xi32, #row>
    %x = tw.load %from : tensor<256x!tw.ptr<f32>, #row> -> tensor<256xf32, #row>
    %y = arith.addf %x, %x : tensor<256xf32, #row>
    %there = tw.splat %out : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #row>
    %to = tw.addptr %there, %i : tensor<256x!tw.ptr<f32>, #row>, tensor<256xi32, #row>
    // expected-remark @below {{registers: data 8, addresses 1, scalars 0}}
    tw.store %to, %y : tensor<256x!tw.ptr<f32>, #row>, tensor<256xf32, #row>
    return
  }

  // Nothing is known of loaded indices: 8 addresses of 64 bits, used twice, beside 8 packed elements of 16 bits.
  // expected-remark @below {{registers: forecast 38}}
  func.func @scattered(%p: !tw.ptr<i32>, %out: !tw.ptr<f16>) {
    %i = tw.range 0 to 256 : tensor<256xi32, #row>
    %base = tw.splat %p : !tw.ptr<i32> -> tensor<256x!tw.ptr<i32>, #row>
    %from = tw.addptr %base, %i : tensor<256x!tw.ptr<i32>, #row>, tensor<256xi32, #row>
    %j = tw.load %from : tensor<256x!tw.ptr<i32>, #row> -> tensor<256xi32, #row>
    %there = tw.splat %out : !tw.ptr<f16> -> tensor<256x!tw.ptr<f16>, #row>
    %at = tw.addptr %there, %j : tensor<256x!tw.ptr<f16>, #row>, tensor<256xi32, #row>
    %x = tw.load %at : tensor<256x!tw.ptr<f16>, #row> -> tensor<256xf16, #row>
    // expected-remark @below {{registers: data 4, addresses 16, scalars 0}}
    tw.store %at, %x : tensor<256x!tw.ptr<f16>, #row>, tensor<256xf16, #row>
    return
  }

  // The wide tile is made element by element where it is added up; the narrow one is kept, and the sum.
  // expected-remark @below {{registers: forecast 15}}
  func.func @deferred(%i: i32) -> (f32, tensor<256xf16, #row>) {
    %r = tw.range 0 to 256 : tensor<256xi32, #row>
    %base = tw.splat %i : i32 -> tensor<256xi32, #row>
    %sum = arith.muli %r, %base : tensor<256xi32, #row>
    %x = arith.sitofp %sum : tensor<256xi32, #row> to tensor<256xf16, #row>
    %wide = arith.extf %x : tensor<256xf16, #row> to tensor<256xf32, #row>
    // expected-remark @below {{registers: data 4, addresses 0, scalars 1}}
    %s = tw.reduce %wide axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<256xf32, #row>) -> f32
    return %s, %x : f32, tensor<256xf16, #row>
  }

  // A loop that carries a splat carries one register; the sum takes eight. The number of iterations is an argument.
  // expected-remark @below {{registers: forecast 21}}
  func.func @carried(%n: i32, %x: tensor<256xf32, #row>) -> tensor<256xf32, #row> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<256xf32, #row>
    // expected-remark @below {{registers: data 8}}
    %out:2 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %scale = %zero) -> (tensor<256xf32, #row>, tensor<256xf32, #row>) : i32 {
      %f = arith.sitofp %k : i32 to f32
      %next = tw.splat %f : f32 -> tensor<256xf32, #row>
      %more = arith.addf %sum, %scale : tensor<256xf32, #row>
      scf.yield %more, %next : tensor<256xf32, #row>, tensor<256xf32, #row>
    }
    return %out#0 : tensor<256xf32, #row>
  }
}
