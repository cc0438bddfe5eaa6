// The number of warps from the largest tile that is loaded, stored or reduced.
// RUN: tilewright-opt %s --split-input-file --tw-choose-num-warps | FileCheck %s
// RUN: tilewright-opt %s --split-input-file --tw-choose-num-warps --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: (default: no tile is loaded, stored or reduced)
// REMARK: (from the largest result of a product)

// Nothing is reduced: one access of 16 bytes per thread.
// CHECK: tw.num_warps = 8
module {
  func.func @vector_add(%p: tensor<1024x!tw.ptr<f32>>, %x: tensor<1024xf32>) {
    tw.store %p, %x : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// Much arithmetic: fewer threads share what is computed once for each. Seven operations,
// and a mask that does not count.
// CHECK: tw.num_warps = 4
module {
  func.func @arithmetic(%p: tensor<1024x!tw.ptr<f32>>, %x: tensor<1024xf32>) {
    %0 = arith.mulf %x, %x : tensor<1024xf32>
    %1 = arith.mulf %0, %x : tensor<1024xf32>
    %2 = arith.addf %1, %x : tensor<1024xf32>
    %3 = math.exp %2 : tensor<1024xf32>
    %4 = arith.addf %3, %0 : tensor<1024xf32>
    %5 = arith.divf %x, %4 : tensor<1024xf32>
    %6 = arith.mulf %5, %1 : tensor<1024xf32>
    %m = arith.cmpf olt, %6, %x : tensor<1024xf32>
    tw.store %p, %6 mask %m : tensor<1024xi1> : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// Six of them.
// CHECK: tw.num_warps = 8
module {
  func.func @less_arithmetic(%p: tensor<1024x!tw.ptr<f32>>, %x: tensor<1024xf32>) {
    %0 = arith.mulf %x, %x : tensor<1024xf32>
    %1 = arith.mulf %0, %x : tensor<1024xf32>
    %2 = arith.addf %1, %x : tensor<1024xf32>
    %3 = math.exp %2 : tensor<1024xf32>
    %4 = arith.addf %3, %0 : tensor<1024xf32>
    %5 = arith.divf %x, %4 : tensor<1024xf32>
    %m = arith.cmpf olt, %5, %x : tensor<1024xf32>
    tw.store %p, %5 mask %m : tensor<1024xi1> : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// More than one access per thread rather than more than 8 warps; 64 bytes at most.
// CHECK: tw.num_warps = 8
module {
  func.func @copy_row(%p: tensor<4096x!tw.ptr<f16>>, %x: tensor<4096xf16>) {
    tw.store %p, %x : tensor<4096x!tw.ptr<f16>>, tensor<4096xf16>
    return
  }
}

// -----
// CHECK: tw.num_warps = 16
module {
  func.func @copy_long_row(%p: tensor<16384x!tw.ptr<f16>>, %x: tensor<16384xf16>) {
    tw.store %p, %x : tensor<16384x!tw.ptr<f16>>, tensor<16384xf16>
    return
  }
}

// -----
// CHECK: tw.num_warps = 16
module {
  func.func @long_row(%x: tensor<16384xf32>) -> f32 {
    %0 = tw.reduce %x axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<16384xf32>) -> f32
    return %0 : f32
  }
}

// -----
// A tile that is only computed on says nothing.
// CHECK: tw.num_warps = 4
module {
  func.func @scalar(%x: tensor<65536xf32>) -> tensor<65536xf32> {
    %0 = arith.addf %x, %x : tensor<65536xf32>
    return %0 : tensor<65536xf32>
  }
}

// -----
// The user's number stays.
// CHECK: tw.num_warps = 1
module attributes {tw.num_warps = 1 : i32} {
  func.func @given(%p: tensor<1024x!tw.ptr<f32>>, %x: tensor<1024xf32>) {
    tw.store %p, %x : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// One warp at least.
// CHECK: tw.num_warps = 1
module {
  func.func @small(%p: tensor<16x!tw.ptr<f32>>, %x: tensor<16xf32>) {
    tw.store %p, %x : tensor<16x!tw.ptr<f32>>, tensor<16xf32>
    return
  }
}

// -----
// Each of four blocks holds a quarter of the row: eight wide elements per thread.
// CHECK: tw.num_warps = 16
module attributes {tw.num_ctas = 4 : i32} {
  func.func @split_row(%x: tensor<16384xf32>) -> f32 {
    %0 = tw.reduce %x axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<16384xf32>) -> f32
    return %0 : f32
  }
}

// -----
// 128 bytes of a row per thread are kept as they were loaded.
// CHECK: tw.num_warps = 16
module {
  func.func @long_half_row(%p: tensor<32768x!tw.ptr<f16>>) -> f16 {
    %x = tw.load %p : tensor<32768x!tw.ptr<f16>> -> tensor<32768xf16>
    %0 = tw.reduce %x axis 0 {
    ^bb0(%a: f16, %b: f16):
      %c = arith.addf %a, %b : f16
      tw.yield %c : f16
    } : (tensor<32768xf16>) -> f16
    return %0 : f16
  }
}

// -----
// CHECK: tw.num_warps = 32
module {
  func.func @long_wide_row(%x: tensor<32768xf32>) -> f32 {
    %0 = tw.reduce %x axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<32768xf32>) -> f32
    return %0 : f32
  }
}

// -----
// A product: four warps, however large its operands are.
// CHECK: tw.num_warps = 4
module {
  func.func @product(%p: tensor<64x128x!tw.ptr<f16>>, %b: tensor<128x32xf16>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
    %a = tw.load %p : tensor<64x128x!tw.ptr<f16>> -> tensor<64x128xf16>
    %0 = tw.dot %a, %b, %c : tensor<64x128xf16>, tensor<128x32xf16>, tensor<64x32xf32>
    return %0 : tensor<64x32xf32>
  }
}

// -----
// 256 registers of each thread for the result would be too many.
// CHECK: tw.num_warps = 8
module {
  func.func @large_product(%a: tensor<128x64xf16>, %b: tensor<64x256xf16>, %c: tensor<128x256xf32>) -> tensor<128x256xf32> {
    %0 = tw.dot %a, %b, %c : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
    return %0 : tensor<128x256xf32>
  }
}
