// What the verifier of the layout level refuses, and what it takes.
// RUN: tilewright-opt %s --split-input-file --tw-verify-layouts --verify-diagnostics

#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @agrees(%x: tensor<64xf32, #a>) {
    %0 = arith.addf %x, %x : tensor<64xf32, #a>
    return
  }
}

// -----
module attributes {tw.num_warps = 1 : i32} {
  func.func @without() {
    // expected-error @below {{tile without a layout: 'tensor<64xi32>'}}
    %0 = tw.range 0 to 64 : tensor<64xi32>
    return
  }
}

// -----
#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#b = #tw.layout<register = [32], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @disagrees(%p: tensor<64x!tw.ptr<f32>, #a>, %x: tensor<64xf32, #b>) {
    // expected-error @below {{operands and results must have one layout, found #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []> and #tw.layout<register = [32]}}
    tw.store %p, %x : tensor<64x!tw.ptr<f32>, #a>, tensor<64xf32, #b>
    return
  }
}

// -----
#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @warps() {
    // expected-error @below {{layout has 5 lane and 0 warp bits, the program has 5 and 2}}
    %0 = tw.range 0 to 64 : tensor<64xi32, #a>
    return
  }
}

// -----
#a = #tw.layout<register = [], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @holes() {
    // expected-error @below {{layout does not hold every element}}
    %0 = tw.range 0 to 64 : tensor<64xi32, #a>
    return
  }
}

// -----
// The operand of a broadcast is the result's layout without the new elements.
#wide = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
#good = #tw.layout<register = [], lane = [0, 0, 1, 2, 4], warp = [], block = []>
#bad = #tw.layout<register = [], lane = [1, 2, 4, 0, 0], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @broadcast(%x: tensor<8x1xf32, #good>, %y: tensor<8x1xf32, #bad>) {
    %0 = tw.broadcast %x : tensor<8x1xf32, #good> -> tensor<8x16xf32, #wide>
    // expected-error @below {{operand must have the layout #tw.layout<register = [], lane = [0, 0, 1, 2, 4], warp = [], block = []>, found #tw.layout<register = [], lane = [1, 2, 4, 0, 0], warp = [], block = []>}}
    %1 = tw.broadcast %y : tensor<8x1xf32, #bad> -> tensor<8x16xf32, #wide>
    return
  }
}

// -----
#wide = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
#bad = #tw.layout<register = [], lane = [1, 2, 4, 0, 0], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @reduce(%x: tensor<8x16xf32, #wide>) {
    // expected-error @below {{result must have the layout #tw.layout<register = [], lane = [0, 0, 1, 2, 4], warp = [], block = []>, found}}
    %0 = tw.reduce %x axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<8x16xf32, #wide>) -> tensor<8xf32, #bad>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @unfinished(%x: tensor<512xf32, #a>) {
    // expected-error @+1 {{results must have the types of the operands}}
    %0 = tw.wgmma_wait 0 %x : tensor<512xf32, #a> -> tensor<512xf32, #b>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [128, 256], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256]>
// Shared memory takes any layout; the operands of a copy agree.
module attributes {tw.num_warps = 4 : i32} {
  func.func @shared(%x: tensor<512xf32, #a>, %p: tensor<512x!tw.ptr<f32>, #a>, %m: tensor<512xi1, #b>) {
    %s = tw.alloc_shared %x : tensor<512xf32, #a> -> : !tw.buffer<512xf32, #s>
    %0 = tw.shared_load %s : !tw.buffer<512xf32, #s> -> tensor<512xf32, #b>
    tw.shared_store %0, %s : tensor<512xf32, #b>, !tw.buffer<512xf32, #s>
    // expected-error @+1 {{operands and results must have one layout, found}}
    tw.async_copy %p, %s mask %m : tensor<512xi1, #b> : tensor<512x!tw.ptr<f32>, #a>, !tw.buffer<512xf32, #s>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>
#b = #tw.layout<register = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
// Copies in blocks are said by a column of zero, or by no tile of the kernel at all.
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  // expected-error @+1 {{layout has 1 block bits, the program has 1 and other tiles 0}}
  func.func @blocks(%x: tensor<1024xf32, #a>) {
    %0 = tw.convert_layout %x : tensor<1024xf32, #a> -> tensor<1024xf32, #b>
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>
// Totals of a scan do not cross blocks.
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @scan(%x: tensor<1024xf32, #a>) {
    // expected-error @+1 {{cannot take this layout}}
    %0 = tw.scan %x axis 0 {
    ^bb0(%l: f32, %r: f32):
      %c = arith.addf %l, %r : f32
      tw.yield %c : f32
    } : (tensor<1024xf32, #a>) -> tensor<1024xf32, #a>
    return
  }
}

// -----
#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#b = #tw.layout<register = [32], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @twoSources(%x: tensor<64xf32, #a>, %y: tensor<64xf32, #b>) {
    // expected-error @below {{operands must have one layout, found #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []> and #tw.layout<register = [32]}}
    %0, %1 = tw.reduce %x, %y axis 0 {
    ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
      tw.yield %a, %b : f32, f32
    } : (tensor<64xf32, #a>, tensor<64xf32, #b>) -> (f32, f32)
    return
  }
}

// -----
// Of a column that lies along both dimensions no reduction knows the axis.
#wide = #tw.layout<register = [33], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#row = #tw.layout<register = [], lane = [0, 0, 0, 0, 1], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @swizzled(%x: tensor<2x32xf32, #wide>) {
    // expected-error @below {{cannot take this operand layout: #tw.layout<register = [33]}}
    %0 = tw.reduce %x axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<2x32xf32, #wide>) -> tensor<2xf32, #row>
    return
  }
}

// -----
#c = #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#a = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#b = #tw.layout<register = [8, 64], lane = [16, 32, 1, 2, 4], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @unitless(%a: tensor<16x16xf16, #a>, %b: tensor<16x8xf16, #b>, %c: tensor<16x8xf32, #c>) {
    // expected-error @below {{no unit was selected}}
    %0 = tw.dot %a, %b, %c : tensor<16x16xf16, #a>, tensor<16x8xf16, #b>, tensor<16x8xf32, #c>
    return
  }
}

// -----
// The rows and columns of the accumulator's registers are exchanged.
#c = #tw.layout<register = [64, 1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
#a = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#b = #tw.layout<register = [8, 64], lane = [16, 32, 1, 2, 4], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @accumulator(%a: tensor<16x16xf16, #a>, %b: tensor<16x8xf16, #b>, %c: tensor<16x8xf32, #c>) {
    // expected-error @below {{the unit needs the layout #tw.layout<register = [1, 64], lane = [2, 4, 8, 16, 32], warp = [], block = []>, found #tw.layout<register = [64, 1]}}
    %0 = tw.dot %a, %b, %c {unit = #tw.unit<mma>, warps = array<i32: 0, 0>} : tensor<16x16xf16, #a>, tensor<16x8xf16, #b>, tensor<16x8xf32, #c>
    return
  }
}

// -----
#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @unknown(%x: tensor<64xf32, #a>) {
    // expected-error @below {{no layout rule for this operation on tiles}}
    %0 = builtin.unrealized_conversion_cast %x : tensor<64xf32, #a> to tensor<64xf32, #a>
    return
  }
}
