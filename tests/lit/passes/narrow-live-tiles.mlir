// Rows of f16 are kept as they were loaded while threads wait for a reduction.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/softmax.mlir --tw-narrow-live-tiles --tw-verify-layouts | FileCheck %s
// RUN: tilewright-opt %t/softmax.mlir --tw-narrow-live-tiles --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sed 's/num_warps = 16/num_warps = 4/; s/, 4096, 8192\]/]/; s/256, 512, 1024, 2048/256, 512/; s/16384x/1024x/g' %t/softmax.mlir | tilewright-opt --tw-narrow-live-tiles --tw-remarks 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: tilewright-opt %t/kept.mlir --tw-narrow-live-tiles --tw-remarks 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: tilewright-opt %t/stored.mlir --tw-narrow-live-tiles --tw-verify-layouts --tw-remarks 2>&1 | FileCheck %s --check-prefix=STORED
// RUN: tilewright-opt %t/full.mlir --tw-narrow-live-tiles --tw-verify-layouts | FileCheck %s --check-prefix=FULL
// RUN: tilewright-opt %t/loop.mlir --tw-narrow-live-tiles --tw-verify-layouts --tw-remarks 2>&1 | FileCheck %s --check-prefix=LOOP

// REMARK-COUNT-2: remark: narrow-live-tile: applied, words={{[0-9]+}}, instructions={{[0-9]+}} (made again after the reduction from a narrower tile)

// Three blocks of 16 warps instead of two.
// CHECK: tw.wanted_threads = 1536
// CHECK: %[[X:.*]] = tw.load
// CHECK: %[[W:.*]] = arith.extf %[[X]]
// CHECK: %[[MAX:.*]] = tw.reduce %[[W]]
// CHECK: %[[Y:.*]] = tw.opaque %[[X]]
// CHECK: %[[W1:.*]] = arith.extf %[[Y]]
// CHECK: %[[D1:.*]] = arith.subf %[[W1]]
// CHECK: %[[E1:.*]] = math.exp %[[D1]]
// CHECK: tw.reduce %[[E1]]
// CHECK: %[[Z:.*]] = tw.opaque %[[Y]]
// CHECK: %[[W2:.*]] = arith.extf %[[Z]]
// CHECK: %[[D2:.*]] = arith.subf %[[W2]]
// CHECK: %[[E2:.*]] = math.exp %[[D2]]
// CHECK: arith.divf %[[E2]]

// Many blocks fit in any case.
// SMALL: remark: narrow-live-tile: refused, words={{[0-9]+}}, blocks={{[0-9]+}}, blocksThen={{[0-9]+}} (a multiprocessor holds many blocks already)
// SMALL-NOT: tw.wanted_threads
// SMALL-NOT: tw.opaque

// KEPT: remark: narrow-live-tile: refused, words=32, blocks=2, blocksThen=2 (a multiprocessor would hold no more blocks)
// KEPT-NOT: tw.opaque
// KEPT: return

//--- softmax.mlir
#row = #tw.layout<register = [1, 2, 4, 4096, 8192], lane = [8, 16, 32, 64, 128], warp = [256, 512, 1024, 2048], block = []>
module attributes {tw.num_warps = 16 : i32} {
  func.func @softmax(%p: tensor<16384x!tw.ptr<f16>, #row>) -> tensor<16384xf32, #row> {
    %x = tw.load %p : tensor<16384x!tw.ptr<f16>, #row> -> tensor<16384xf16, #row>
    %w = arith.extf %x : tensor<16384xf16, #row> to tensor<16384xf32, #row>
    %max = tw.reduce %w axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<16384xf32, #row>) -> f32
    %most = tw.splat %max : f32 -> tensor<16384xf32, #row>
    %d = arith.subf %w, %most : tensor<16384xf32, #row>
    %e = math.exp %d : tensor<16384xf32, #row>
    %sum = tw.reduce %e axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<16384xf32, #row>) -> f32
    %all = tw.splat %sum : f32 -> tensor<16384xf32, #row>
    %r = arith.divf %e, %all : tensor<16384xf32, #row>
    return %r : tensor<16384xf32, #row>
  }
}

//--- kept.mlir
#row = #tw.layout<register = [1, 2, 4, 4096, 8192], lane = [8, 16, 32, 64, 128], warp = [256, 512, 1024, 2048], block = []>
module attributes {tw.num_warps = 16 : i32} {
  // Loaded wide; from a function of a library, which costs more than it saves; from two
  // narrow tiles, which take as much.
  func.func @kept(%p: tensor<16384x!tw.ptr<f32>, #row>, %q: tensor<16384x!tw.ptr<f16>, #row>)
      -> (tensor<16384xf32, #row>, tensor<16384xf32, #row>, tensor<16384xf32, #row>) {
    %x = tw.load %p : tensor<16384x!tw.ptr<f32>, #row> -> tensor<16384xf32, #row>
    %y = tw.load %q : tensor<16384x!tw.ptr<f16>, #row> -> tensor<16384xf16, #row>
    %z = tw.load %q : tensor<16384x!tw.ptr<f16>, #row> -> tensor<16384xf16, #row>
    %v = arith.extf %y : tensor<16384xf16, #row> to tensor<16384xf32, #row>
    %u = arith.extf %z : tensor<16384xf16, #row> to tensor<16384xf32, #row>
    %s = math.erf %v : tensor<16384xf32, #row>
    %t = arith.addf %v, %u : tensor<16384xf32, #row>
    %sum = tw.reduce %x axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<16384xf32, #row>) -> f32
    %all = tw.splat %sum : f32 -> tensor<16384xf32, #row>
    %0 = arith.divf %x, %all : tensor<16384xf32, #row>
    %1 = arith.divf %s, %all : tensor<16384xf32, #row>
    %2 = arith.divf %t, %all : tensor<16384xf32, #row>
    return %0, %1, %2 : tensor<16384xf32, #row>, tensor<16384xf32, #row>, tensor<16384xf32, #row>
  }
}

//--- stored.mlir
// A tile of 256 registers is made again after a store, one of 64 is not.
// STORED: remark: narrow-live-tile: applied, words=256, instructions={{[0-9]+}} (made again after the store from a narrower tile)
// STORED-LABEL: @stored
// STORED: %[[X:.*]] = tw.load
// STORED: %[[W:.*]] = arith.extf %[[X]]
// STORED: arith.mulf %[[W]]
// STORED: tw.store
// STORED: %[[Y:.*]] = tw.opaque %[[X]]
// STORED: %[[W1:.*]] = arith.extf %[[Y]]
// STORED: math.absf %[[W1]]
// STORED-LABEL: @small
// STORED-NOT: tw.opaque
// STORED: return
#row = #tw.layout<register = [1, 2, 4, 256, 512, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [], block = []>
#less = #tw.layout<register = [1, 2, 4, 256, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @stored(%p: tensor<8192x!tw.ptr<f16>, #row>, %scale: f32) -> f32 {
    %x = tw.load %p : tensor<8192x!tw.ptr<f16>, #row> -> tensor<8192xf16, #row>
    %w = arith.extf %x : tensor<8192xf16, #row> to tensor<8192xf32, #row>
    %scales = tw.splat %scale : f32 -> tensor<8192xf32, #row>
    %m = arith.mulf %w, %scales : tensor<8192xf32, #row>
    %h = arith.truncf %m : tensor<8192xf32, #row> to tensor<8192xf16, #row>
    tw.store %p, %h : tensor<8192x!tw.ptr<f16>, #row>, tensor<8192xf16, #row>
    %a = math.absf %w : tensor<8192xf32, #row>
    %max = tw.reduce %a axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.maxnumf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<8192xf32, #row>) -> f32
    return %max : f32
  }
  func.func @small(%p: tensor<2048x!tw.ptr<f16>, #less>, %scale: f32) -> f32 {
    %x = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %w = arith.extf %x : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %scales = tw.splat %scale : f32 -> tensor<2048xf32, #less>
    %m = arith.mulf %w, %scales : tensor<2048xf32, #less>
    %h = arith.truncf %m : tensor<2048xf32, #less> to tensor<2048xf16, #less>
    tw.store %p, %h : tensor<2048x!tw.ptr<f16>, #less>, tensor<2048xf16, #less>
    %a = math.absf %w : tensor<2048xf32, #less>
    %max = tw.reduce %a axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.maxnumf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<2048xf32, #less>) -> f32
    return %max : f32
  }
}

//--- full.mlir
// Five tiles of 64 registers do not fit a thread's until three are narrow; three wide ones do.
// FULL-NOT: tw.wanted_threads
// FULL-LABEL: @full
// FULL: tw.reduce
// FULL-COUNT-3: tw.opaque
// FULL-NOT: tw.opaque
// FULL-LABEL: @fits
// FULL-NOT: tw.opaque
// FULL: return
#less = #tw.layout<register = [1, 2, 4, 256, 512, 1024], lane = [8, 16, 32, 64, 128], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @full(%p: tensor<2048x!tw.ptr<f16>, #less>) -> tensor<2048xf32, #less> {
    %x0 = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %x1 = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %x2 = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %x3 = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %x4 = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %w0 = arith.extf %x0 : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %w1 = arith.extf %x1 : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %w2 = arith.extf %x2 : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %w3 = arith.extf %x3 : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %w4 = arith.extf %x4 : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %max = tw.reduce %w0 axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.maxnumf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<2048xf32, #less>) -> f32
    %s0 = tw.splat %max : f32 -> tensor<2048xf32, #less>
    %s1 = arith.addf %s0, %w0 : tensor<2048xf32, #less>
    %s2 = arith.addf %s1, %w1 : tensor<2048xf32, #less>
    %s3 = arith.addf %s2, %w2 : tensor<2048xf32, #less>
    %s4 = arith.addf %s3, %w3 : tensor<2048xf32, #less>
    %s5 = arith.addf %s4, %w4 : tensor<2048xf32, #less>
    return %s5 : tensor<2048xf32, #less>
  }
  func.func @fits(%p: tensor<2048x!tw.ptr<f16>, #less>) -> tensor<2048xf32, #less> {
    %x0 = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %x1 = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %x2 = tw.load %p : tensor<2048x!tw.ptr<f16>, #less> -> tensor<2048xf16, #less>
    %w0 = arith.extf %x0 : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %w1 = arith.extf %x1 : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %w2 = arith.extf %x2 : tensor<2048xf16, #less> to tensor<2048xf32, #less>
    %max = tw.reduce %w0 axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.maxnumf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<2048xf32, #less>) -> f32
    %s0 = tw.splat %max : f32 -> tensor<2048xf32, #less>
    %s1 = arith.addf %s0, %w0 : tensor<2048xf32, #less>
    %s2 = arith.addf %s1, %w1 : tensor<2048xf32, #less>
    %s3 = arith.addf %s2, %w2 : tensor<2048xf32, #less>
    return %s3 : tensor<2048xf32, #less>
  }
}

//--- loop.mlir
// What a loop alone needs is made again in each iteration, through views. A row of 64 registers is
// added up; two weights of 64 leave room for fewer blocks than narrow ones.
// LOOP: remark: narrow-live-tile: applied, words=64, blocks={{[0-9]+}}, blocksThen={{[0-9]+}} (made again in each iteration from a narrower tile)
// LOOP: remark: narrow-live-tile: applied, words=320, blocks=2, blocksThen=2 (made again in each iteration from a narrower tile)
// LOOP: remark: narrow-live-tile: refused, words=32, blocks={{[0-9]+}}, blocksThen={{[0-9]+}} (a multiprocessor would hold no more blocks)
// LOOP-LABEL: @weights
// LOOP: %[[V:.*]] = tw.load %{{.*}} : tensor<8192x!tw.ptr<f16>
// LOOP: %[[W:.*]] = tw.load %{{.*}} : tensor<8192x!tw.ptr<f16>
// LOOP: scf.for %[[I:.*]] =
// LOOP: %[[X:.*]] = tw.load
// LOOP: %[[SUM:.*]] = tw.reduce
// LOOP: %[[V1:.*]] = tw.opaque %[[V]] for %[[I]]
// LOOP: %[[V2:.*]] = arith.extf %[[V1]]
// LOOP: %[[V3:.*]] = tw.expand_dims %[[V2]]
// LOOP: arith.mulf %[[X]], %[[V3]]
// LOOP: %[[W1:.*]] = tw.opaque %[[W]] for %[[I]]
// LOOP: %[[W2:.*]] = arith.extf %[[W1]]
// LOOP: %[[W3:.*]] = tw.expand_dims %[[W2]]
// LOOP: arith.addf %{{.*}}, %[[W3]]
// Ten of 64 do not fit, whatever else there is.
// LOOP-LABEL: @many
// LOOP: scf.for
// LOOP-COUNT-10: tw.opaque
// Needed after the loop as well, or by itself too little to make room.
// LOOP-LABEL: @kept
// LOOP-NOT: tw.opaque
// LOOP: return
#flat = #tw.layout<register = [1, 2, 4, 1024, 2048, 4096], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @weights(%p: tensor<1x8192x!tw.ptr<f32>, #flat>, %q: tensor<8192x!tw.ptr<f16>, #flat>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %v = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %v1 = arith.extf %v : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %w1 = arith.extf %w : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v2 = tw.expand_dims %v1, 0 : tensor<8192xf32, #flat> -> tensor<1x8192xf32, #flat>
    %w2 = tw.expand_dims %w1, 0 : tensor<8192xf32, #flat> -> tensor<1x8192xf32, #flat>
    scf.for %i = %zero to %n step %one : i32 {
      %x = tw.load %p : tensor<1x8192x!tw.ptr<f32>, #flat> -> tensor<1x8192xf32, #flat>
      %sum = tw.reduce %x axis 1 {
      ^bb0(%l: f32, %r: f32):
        %c = arith.addf %l, %r : f32
        tw.yield %c : f32
      } : (tensor<1x8192xf32, #flat>) -> tensor<1xf32, #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], block = []>>
      %a = tw.expand_dims %sum, 1 : tensor<1xf32, #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], block = []>> -> tensor<1x1xf32, #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], block = []>>
      %b = tw.broadcast %a : tensor<1x1xf32, #tw.layout<register = [], lane = [0, 0, 0, 0, 0], warp = [0, 0], block = []>> -> tensor<1x8192xf32, #flat>
      %y = arith.mulf %x, %v2 : tensor<1x8192xf32, #flat>
      %z = arith.mulf %y, %b : tensor<1x8192xf32, #flat>
      %s = arith.addf %z, %w2 : tensor<1x8192xf32, #flat>
      tw.store %p, %s : tensor<1x8192x!tw.ptr<f32>, #flat>, tensor<1x8192xf32, #flat>
    }
    return
  }
  func.func @many(%p: tensor<8192x!tw.ptr<f32>, #flat>, %q: tensor<8192x!tw.ptr<f16>, #flat>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %v0 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w0 = arith.extf %v0 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v1 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w1 = arith.extf %v1 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v2 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w2 = arith.extf %v2 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v3 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w3 = arith.extf %v3 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v4 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w4 = arith.extf %v4 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v5 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w5 = arith.extf %v5 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v6 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w6 = arith.extf %v6 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v7 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w7 = arith.extf %v7 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v8 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w8 = arith.extf %v8 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %v9 = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w9 = arith.extf %v9 : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    scf.for %i = %zero to %n step %one : i32 {
      %y0 = tw.load %p : tensor<8192x!tw.ptr<f32>, #flat> -> tensor<8192xf32, #flat>
      %y1 = arith.mulf %y0, %w0 : tensor<8192xf32, #flat>
      %y2 = arith.mulf %y1, %w1 : tensor<8192xf32, #flat>
      %y3 = arith.mulf %y2, %w2 : tensor<8192xf32, #flat>
      %y4 = arith.mulf %y3, %w3 : tensor<8192xf32, #flat>
      %y5 = arith.mulf %y4, %w4 : tensor<8192xf32, #flat>
      %y6 = arith.mulf %y5, %w5 : tensor<8192xf32, #flat>
      %y7 = arith.mulf %y6, %w6 : tensor<8192xf32, #flat>
      %y8 = arith.mulf %y7, %w7 : tensor<8192xf32, #flat>
      %y9 = arith.mulf %y8, %w8 : tensor<8192xf32, #flat>
      %y10 = arith.mulf %y9, %w9 : tensor<8192xf32, #flat>
      tw.store %p, %y10 : tensor<8192x!tw.ptr<f32>, #flat>, tensor<8192xf32, #flat>
    }
    return
  }
  func.func @kept(%p: tensor<8192x!tw.ptr<f32>, #flat>, %q: tensor<8192x!tw.ptr<f16>, #flat>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %v = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %w = tw.load %q : tensor<8192x!tw.ptr<f16>, #flat> -> tensor<8192xf16, #flat>
    %v1 = arith.extf %v : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    %w1 = arith.extf %w : tensor<8192xf16, #flat> to tensor<8192xf32, #flat>
    scf.for %i = %zero to %n step %one : i32 {
      %x = tw.load %p : tensor<8192x!tw.ptr<f32>, #flat> -> tensor<8192xf32, #flat>
      %y = arith.mulf %x, %v1 : tensor<8192xf32, #flat>
      tw.store %p, %y : tensor<8192x!tw.ptr<f32>, #flat>, tensor<8192xf32, #flat>
    }
    scf.for %i = %zero to %n step %one : i32 {
      %x = tw.load %p : tensor<8192x!tw.ptr<f32>, #flat> -> tensor<8192xf32, #flat>
      %y = arith.mulf %x, %w1 : tensor<8192xf32, #flat>
      tw.store %p, %y : tensor<8192x!tw.ptr<f32>, #flat>, tensor<8192xf32, #flat>
    }
    tw.store %p, %w1 : tensor<8192x!tw.ptr<f32>, #flat>, tensor<8192xf32, #flat>
    return
  }
}
