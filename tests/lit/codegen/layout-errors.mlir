// Layouts and units that lowering cannot use. Passes never give it these.
// RUN: tilewright-opt %s --tw-lower-to-llvm -split-input-file -verify-diagnostics

// Memory that holds only the first 16 elements of a tile.
#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 0, 0]>
module attributes {tw.num_warps = 1 : i32} {
  func.func @storedWithoutPlaces(%v: f32) {
    %x = tw.splat %v : f32 -> tensor<64xf32, #a>
    %m = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64xf32, #s>
    // expected-error @below {{memory lacks elements of the tile: '!tw.buffer<64xf32}}
    tw.shared_store %x, %m : tensor<64xf32, #a>, !tw.buffer<64xf32, #s>
    func.return
  }
}

// -----

#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 0, 0]>
module attributes {tw.num_warps = 1 : i32} {
  func.func @loadedWithoutPlaces() {
    %m = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64xf32, #s>
    // expected-error @below {{memory lacks elements of the tile: '!tw.buffer<64xf32}}
    %x = tw.shared_load %m : !tw.buffer<64xf32, #s> -> tensor<64xf32, #a>
    func.return
  }
}

// -----

#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 0, 0]>
module attributes {tw.num_warps = 1 : i32} {
  func.func @copiedWithoutPlaces(%p: !tw.ptr<f32>) {
    %ps = tw.splat %p : !tw.ptr<f32> -> tensor<64x!tw.ptr<f32>, #a>
    %m = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64xf32, #s>
    // expected-error @below {{memory lacks elements of the tile: '!tw.buffer<64xf32}}
    tw.async_copy %ps, %m : tensor<64x!tw.ptr<f32>, #a>, !tw.buffer<64xf32, #s>
    func.return
  }
}

// -----

#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 0, 0]>
module attributes {tw.num_warps = 1 : i32} {
  func.func @gatheredWithoutPlaces() {
    %i = tw.range 0 to 64 : tensor<64xi32, #a>
    %m = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<64xf32, #s>
    // expected-error @below {{memory lacks elements of the tile: '!tw.buffer<64xf32}}
    %x = tw.shared_gather %m[%i] axis 0 : !tw.buffer<64xf32, #s>, tensor<64xi32, #a> -> tensor<64xf32, #a>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 0, 0]>
module attributes {tw.num_warps = 1 : i32} {
  func.func @multipliedWithoutPlaces(%v: f32) {
    %c = tw.splat %v : f32 -> tensor<8x8xf32, #c>
    %m = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<8x8xf32, #s>
    // expected-error @below {{memory lacks elements of the tile: '!tw.buffer<8x8xf32}}
    %d = tw.shared_dot %m, %m, %c warps [0, 0] : !tw.buffer<8x8xf32, #s>, !tw.buffer<8x8xf32, #s>, tensor<8x8xf32, #c>
    func.return
  }
}

// -----

#a = #tw.layout<register = [33], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @reduced(%v: f32) {
    %x = tw.splat %v : f32 -> tensor<2x32xf32, #a>
    // expected-error @below {{cannot reduce a swizzled layout; convert it first}}
    %y = tw.reduce %x axis 1 {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      tw.yield %s : f32
    } : (tensor<2x32xf32, #a>) -> tensor<2xf32, #a>
    func.return
  }
}

// -----

#a = #tw.layout<register = [3], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @scanned(%v: f32) {
    %x = tw.splat %v : f32 -> tensor<2x32xf32, #a>
    // expected-error @below {{cannot scan a swizzled layout; convert it first}}
    %y = tw.scan %x axis 1 {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      tw.yield %s : f32
    } : (tensor<2x32xf32, #a>) -> tensor<2x32xf32, #a>
    func.return
  }
}

// -----

#half = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
#whole = #tw.layout<register = [32], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @joinedElsewhere() {
    %x = tw.range 0 to 32 : tensor<32xi32, #half>
    // expected-error @below {{layouts of the whole and of the halves do not agree: 'tensor<32x2xi32}}
    %y = tw.join %x, %x : tensor<32xi32, #half> -> tensor<32x2xi32, #whole>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @productWithoutUnit(%v: f32) {
    %x = tw.splat %v : f32 -> tensor<16x8xf32, #c>
    %a = tw.splat %v : f32 -> tensor<16x16xf32, #c>
    %b = tw.splat %v : f32 -> tensor<16x8xf32, #c>
    // expected-error @below {{has no unit that works on registers}}
    %d = tw.dot %a, %b, %x {unit = #tw.unit<wgmma>, warps = array<i32: 0, 0>} : tensor<16x16xf32, #c>, tensor<16x8xf32, #c>, tensor<16x8xf32, #c>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @productWithoutWarps(%v: f32) {
    %x = tw.splat %v : f32 -> tensor<16x8xf32, #c>
    %a = tw.splat %v : f32 -> tensor<16x16xf32, #c>
    %b = tw.splat %v : f32 -> tensor<16x8xf32, #c>
    // expected-error @below {{has no warps}}
    %d = tw.dot %a, %b, %x {unit = #tw.unit<fma>} : tensor<16x16xf32, #c>, tensor<16x8xf32, #c>, tensor<16x8xf32, #c>
    func.return
  }
}

// -----

#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @operandElsewhere(%v: f32) {
    %x = tw.splat %v : f32 -> tensor<16x8xf32, #c>
    %a = tw.splat %v : f32 -> tensor<16x16xf32, #c>
    %b = tw.splat %v : f32 -> tensor<16x8xf32, #c>
    // expected-error @below {{operand has another layout than its unit's: 'tensor<16x16xf32}}
    %d = tw.dot %a, %b, %x {unit = #tw.unit<fma>, warps = array<i32: 0, 0>} : tensor<16x16xf32, #c>, tensor<16x8xf32, #c>, tensor<16x8xf32, #c>
    func.return
  }
}

// -----

#a = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = [0]>
#b = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = [32]>
module attributes {tw.num_warps = 1 : i32, tw.num_ctas = 2 : i32} {
  func.func @convertedAcrossBlocks() {
    %x = tw.range 0 to 64 : tensor<64xi32, #a>
    // expected-error @below {{has no way between these layouts}}
    %y = tw.convert_layout %x : tensor<64xi32, #a> -> tensor<64xi32, #b>
    func.return
  }
}
