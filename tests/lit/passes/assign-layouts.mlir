// Layouts from memory accesses outwards. 4 warps of 32 lanes.
// RUN: tilewright-opt %s --split-input-file --tw-assign-layouts --tw-verify-layouts | FileCheck %s
// RUN: tilewright-opt %s --split-input-file --tw-assign-layouts --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// 16 bytes per lane, lanes side by side, then warps; the second half is a
// register bit.
// REMARK: remark: vector-width: applied, widthInBits=128, elements=4
// CHECK-LABEL: @aligned
// CHECK: tw.load {{.*}}tw.vector_elements = 4{{.*}} -> tensor<1024xf32, #tw.layout<register = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>>
// CHECK-NOT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @aligned(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %ys = tw.splat %y : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %yp = tw.addptr %ys, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    tw.store %yp, %v : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// Nothing known of the address: one element at a time, lanes side by side.
// REMARK: remark: vector-width: refused, widthInBits=32, elements=1, sectorsPerWarpAccess=4 (limited by addresses divisible by 1 bytes)
// CHECK-LABEL: @unaligned
// CHECK: #tw.layout<register = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
// CHECK-NOT: tw.vector_elements
module attributes {tw.num_warps = 4 : i32} {
  func.func @unaligned(%x: !tw.ptr<f32>) -> () {
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = arith.constant dense<0.0> : tensor<1024xf32>
    tw.store %xp, %v : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// Neighbours that read one element touch its sector together: 32 lanes, 4 addresses.
// REMARK: remark: vector-width: refused, widthInBits=32, elements=1, sectorsPerWarpAccess=4 (limited by addresses contiguous in groups of 1)
// CHECK-LABEL: @groups
module attributes {tw.num_warps = 4 : i32} {
  func.func @groups(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}) -> tensor<128xf32> {
    %r = tw.range 0 to 128 : tensor<128xi32>
    %c8 = arith.constant dense<8> : tensor<128xi32>
    %g = arith.divsi %r, %c8 : tensor<128xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %g : tensor<128x!tw.ptr<f32>>, tensor<128xi32>
    %v = tw.load %xp : tensor<128x!tw.ptr<f32>> -> tensor<128xf32>
    return %v : tensor<128xf32>
  }
}

// -----
// The mask may change every 2 elements, whatever the address allows.
// REMARK: remark: vector-width: applied, widthInBits=64, elements=2, sectorsPerWarpAccess=8 (limited by mask constant in groups of 2)
// CHECK-LABEL: @masked
module attributes {tw.num_warps = 4 : i32} {
  func.func @masked(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %n: i32 {tw.divisibility = 2 : i64}) {
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %ns = tw.splat %n : i32 -> tensor<1024xi32>
    %m = arith.cmpi slt, %r, %ns : tensor<1024xi32>
    %v = arith.constant dense<0.0> : tensor<1024xf32>
    tw.store %xp, %v mask %m : tensor<1024xi1> : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// A small tile: every lane has one element rather than a few lanes four; the
// other warps hold copies.
// CHECK-LABEL: @small
// CHECK: tw.store {{.*}}, tensor<32xf32, #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [0, 0], block = []>>
module attributes {tw.num_warps = 4 : i32} {
  func.func @small(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 32 : tensor<32xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<32x!tw.ptr<f32>>, tensor<32xi32>
    %v = arith.constant dense<0.0> : tensor<32xf32>
    tw.store %xp, %v : tensor<32x!tw.ptr<f32>>, tensor<32xf32>
    return
  }
}

// -----
// Column-major: lanes run along dimension 0, where the addresses are contiguous.
// CHECK-LABEL: @column_major
// CHECK: tw.store {{.*}}tw.vector_dimension = 0 : i32, tw.vector_elements = 4 : i32{{.*}}, tensor<128x32xf32, #tw.layout<register = [32, 64, 4, 8, 16], lane = [128, 256, 512, 1024, 2048], warp = [1, 2], block = []>>
module attributes {tw.num_warps = 4 : i32} {
  func.func @column_major(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %stride: i32 {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 128 : tensor<128xi32>
    %c = tw.range 0 to 32 : tensor<32xi32>
    %r1 = tw.expand_dims %r, 1 : tensor<128xi32> -> tensor<128x1xi32>
    %c1 = tw.expand_dims %c, 0 : tensor<32xi32> -> tensor<1x32xi32>
    %s = tw.splat %stride : i32 -> tensor<1x32xi32>
    %cs = arith.muli %c1, %s : tensor<1x32xi32>
    %rb = tw.broadcast %r1 : tensor<128x1xi32> -> tensor<128x32xi32>
    %cb = tw.broadcast %cs : tensor<1x32xi32> -> tensor<128x32xi32>
    %o = arith.addi %rb, %cb : tensor<128x32xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<128x32x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %o : tensor<128x32x!tw.ptr<f32>>, tensor<128x32xi32>
    %v = arith.constant dense<0.0> : tensor<128x32xf32>
    tw.store %xp, %v : tensor<128x32x!tw.ptr<f32>>, tensor<128x32xf32>
    return
  }
}

// -----
// A row statistic goes back to its rows without a conversion: the broadcast takes
// the layout of the tile it meets, and its operand that of the reduction.
// CHECK-LABEL: @row_statistic
// CHECK: %[[S:.*]] = tw.reduce %[[X:.*]] axis 1
// CHECK: %[[E:.*]] = tw.expand_dims %[[S]], 1
// CHECK: %[[B:.*]] = tw.broadcast %[[E]]
// CHECK: arith.subf %[[X]], %[[B]]
// CHECK-NOT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @row_statistic(%p: tensor<16x256x!tw.ptr<f32>>) {
    %x = tw.load %p : tensor<16x256x!tw.ptr<f32>> -> tensor<16x256xf32>
    %s = tw.reduce %x axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<16x256xf32>) -> tensor<16xf32>
    %e = tw.expand_dims %s, 1 : tensor<16xf32> -> tensor<16x1xf32>
    %b = tw.broadcast %e : tensor<16x1xf32> -> tensor<16x256xf32>
    %d = arith.subf %x, %b : tensor<16x256xf32>
    tw.store %p, %d : tensor<16x256x!tw.ptr<f32>>, tensor<16x256xf32>
    return
  }
}

// -----
// An accumulator takes the layout of what is added to it, before the loop too.
// CHECK-LABEL: @accumulator
// CHECK: arith.constant dense<0.000000e+00> : tensor<1024xf32, #[[A:.*]]
// CHECK: scf.for {{.*}} -> (tensor<1024xf32, #[[A]])
// CHECK-NOT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @accumulator(%p: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %n: i32) -> f32 {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1024 : i32
    %zero = arith.constant dense<0.0> : tensor<1024xf32>
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %ps = tw.splat %p : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<1024xf32>) : i32 {
      %is = tw.splat %i : i32 -> tensor<1024xi32>
      %o = arith.addi %is, %r : tensor<1024xi32>
      %q = tw.addptr %ps, %o : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
      %v = tw.load %q : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
      %next = arith.addf %acc, %v : tensor<1024xf32>
      scf.yield %next : tensor<1024xf32>
    }
    %total = tw.reduce %sum axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<1024xf32>) -> f32
    return %total : f32
  }
}

// -----
// A pointer carried round a loop has the layout that the load in it wants.
// CHECK-LABEL: @carried_pointer
// CHECK: scf.for
// CHECK-NEXT: tw.load
// CHECK-NOT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @carried_pointer(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %step = arith.constant dense<1024> : tensor<1024xi32>
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %ys = tw.splat %y : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %yp = tw.addptr %ys, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %xp, %q = %yp) -> (tensor<1024x!tw.ptr<f32>>, tensor<1024x!tw.ptr<f32>>) : i32 {
      %v = tw.load %p : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
      tw.store %q, %v : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
      %p1 = tw.addptr %p, %step : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
      %q1 = tw.addptr %q, %step : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
      scf.yield %p1, %q1 : tensor<1024x!tw.ptr<f32>>, tensor<1024x!tw.ptr<f32>>
    }
    return
  }
}

// -----
// A transposed store: one conversion pays, since a store of 2-byte columns would
// touch a sector per element. The conversion is of the 2-byte value.
// REMARK: remark: layout-conversion: applied, bytes=8192 (shared-memory
// CHECK-LABEL: @transpose
// CHECK: tw.load {{.*}} {tw.vector_elements = 8 : i32}
// CHECK: tw.convert_layout {{.*}}f16
// CHECK-NOT: tw.convert_layout
// CHECK: tw.store {{.*}}tw.vector_dimension = 0 : i32, tw.vector_elements = 8
module attributes {tw.num_warps = 4 : i32} {
  func.func @transpose(%x: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f16> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 64 : tensor<64xi32>
    %row = tw.expand_dims %r, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %col = tw.expand_dims %r, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %s = arith.constant dense<64> : tensor<64x1xi32>
    %t = arith.constant dense<64> : tensor<1x64xi32>
    %rows = arith.muli %row, %s : tensor<64x1xi32>
    %cols = arith.muli %col, %t : tensor<1x64xi32>
    %a0 = tw.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
    %a1 = tw.broadcast %col : tensor<1x64xi32> -> tensor<64x64xi32>
    %a = arith.addi %a0, %a1 : tensor<64x64xi32>
    %b0 = tw.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
    %b1 = tw.broadcast %cols : tensor<1x64xi32> -> tensor<64x64xi32>
    %b = arith.addi %b0, %b1 : tensor<64x64xi32>
    %xs = tw.splat %x : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>>
    %xp = tw.addptr %xs, %a : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
    %v = tw.load %xp : tensor<64x64x!tw.ptr<f16>> -> tensor<64x64xf16>
    %ys = tw.splat %y : !tw.ptr<f16> -> tensor<64x64x!tw.ptr<f16>>
    %yp = tw.addptr %ys, %b : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xi32>
    tw.store %yp, %v : tensor<64x64x!tw.ptr<f16>>, tensor<64x64xf16>
    return
  }
}

// -----
// An index that is loaded: the gather follows the layout of its addresses.
// CHECK-LABEL: @gather
// CHECK: tw.load
// CHECK: tw.load
// CHECK-NOT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @gather(%i: !tw.ptr<i32> {tw.divisibility = 16 : i64}, %x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %is = tw.splat %i : !tw.ptr<i32> -> tensor<1024x!tw.ptr<i32>>
    %ip = tw.addptr %is, %r : tensor<1024x!tw.ptr<i32>>, tensor<1024xi32>
    %index = tw.load %ip : tensor<1024x!tw.ptr<i32>> -> tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %index : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %ys = tw.splat %y : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %yp = tw.addptr %ys, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    tw.store %yp, %v : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// Shape ops and control flow between accesses: everything gets a layout.
// CHECK-LABEL: @shapes
// CHECK: scf.if
// CHECK: scf.while
module attributes {tw.num_warps = 4 : i32} {
  func.func @shapes(%p: tensor<64x64x!tw.ptr<f32>>, %q: tensor<32x64x!tw.ptr<f32>>, %c: i1) {
    %v = tw.load %p : tensor<64x64x!tw.ptr<f32>> -> tensor<64x64xf32>
    %t = tw.permute %v [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    %f = tw.reshape %t : tensor<64x64xf32> -> tensor<32x64x2xf32>
    %l, %h = tw.split %f : tensor<32x64x2xf32> -> tensor<32x64xf32>, tensor<32x64xf32>
    %k = scf.if %c -> (tensor<32x64xf32>) {
      %s = arith.addf %l, %h : tensor<32x64xf32>
      scf.yield %s : tensor<32x64xf32>
    } else {
      scf.yield %l : tensor<32x64xf32>
    }
    %w = scf.while (%a = %k) : (tensor<32x64xf32>) -> tensor<32x64xf32> {
      scf.condition(%c) %a : tensor<32x64xf32>
    } do {
    ^bb0(%a: tensor<32x64xf32>):
      %b = arith.addf %a, %l : tensor<32x64xf32>
      scf.yield %b : tensor<32x64xf32>
    }
    %j = tw.join %w, %h : tensor<32x64xf32> -> tensor<32x64x2xf32>
    %m, %n = tw.split %j : tensor<32x64x2xf32> -> tensor<32x64xf32>, tensor<32x64xf32>
    %cat = tw.concat %m, %n : tensor<32x64xf32> -> tensor<64x64xf32>
    tw.store %p, %cat : tensor<64x64x!tw.ptr<f32>>, tensor<64x64xf32>
    tw.store %q, %w : tensor<32x64x!tw.ptr<f32>>, tensor<32x64xf32>
    return
  }
}

// -----
// A thread's eight elements lie apart: a scan of each, with totals of eight runs through shuffles
// and shared memory. Neighbours in one thread have one total, which pays for two conversions.
// CHECK-LABEL: @scan_of_neighbours
// CHECK: tw.load {{.*}}register = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64]
// CHECK: tw.convert_layout {{.*}} -> tensor<1024xf32, #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>>
// CHECK: tw.scan
// CHECK: tw.convert_layout {{.*}} -> tensor<1024xf32, #tw.layout<register = [128, 256, 512], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>>
module attributes {tw.num_warps = 4 : i32} {
  func.func @scan_of_neighbours(%x: !tw.ptr<f32>) {
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %0 = tw.scan %v axis 0 {
    ^bb0(%l: f32, %u: f32):
      %c = arith.addf %l, %u : f32
      tw.yield %c : f32
    } : (tensor<1024xf32>) -> tensor<1024xf32>
    tw.store %xp, %0 : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// With two elements per thread the conversions cost more than they save.
// CHECK-LABEL: @scan_as_loaded
// CHECK-NOT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @scan_as_loaded(%x: !tw.ptr<f32>) {
    %r = tw.range 0 to 256 : tensor<256xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<256x!tw.ptr<f32>>, tensor<256xi32>
    %v = tw.load %xp : tensor<256x!tw.ptr<f32>> -> tensor<256xf32>
    %0 = tw.scan %v axis 0 {
    ^bb0(%l: f32, %u: f32):
      %c = arith.addf %l, %u : f32
      tw.yield %c : f32
    } : (tensor<256xf32>) -> tensor<256xf32>
    tw.store %xp, %0 : tensor<256x!tw.ptr<f32>>, tensor<256xf32>
    return
  }
}

// -----
// A sort: indices go along with the keys. The reductions of what is computed from indices
// alone take the layout of the keys' reductions, and the tiles that their results are
// repeated for take it again. What the store asks for is converted once, behind all that.
// CHECK-LABEL: @indices_beside_keys
// CHECK: [[X:%.+]] = tw.load {{.*}} -> tensor<512xf32, [[KEYS:#tw.layout<register = \[1, 2\], lane = \[4, 8, 16, 32, 64\], warp = \[128, 256\], block = \[\]>]]>
// CHECK: tw.reshape [[X]] {{.*}} -> tensor<128x2x2xf32, [[PAIRS:#tw.layout<.*]]>
// CHECK: tw.reduce
// CHECK: (tensor<128x2x2xf32, [[PAIRS]]>)
// CHECK: (tensor<128x2x2xi32, [[PAIRS]]>)
// CHECK: (tensor<128x2x2xi32, [[PAIRS]]>)
// CHECK: [[XOR:%.+]] = arith.xori {{.*}} : tensor<512xi32, [[KEYS]]>
// CHECK: [[S:%.+]] = arith.select {{.*}}, [[XOR]], {{.*}} : tensor<512xi1, [[KEYS]]>
// CHECK: tw.convert_layout [[S]]
// CHECK-NOT: tw.convert_layout
// CHECK: tw.store
module attributes {tw.num_warps = 4 : i32} {
  func.func @indices_beside_keys(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<i32>) {
    %r = tw.range 0 to 512 : tensor<512xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<512x!tw.ptr<f32>>, tensor<512xi32>
    %v = tw.load %xp : tensor<512x!tw.ptr<f32>> -> tensor<512xf32>
    %pairs = tw.reshape %v : tensor<512xf32> -> tensor<128x2x2xf32>
    %top = tw.reduce %pairs axis 1 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<128x2x2xf32>) -> tensor<128x2xf32>
    %top_column = tw.expand_dims %top, 1 : tensor<128x2xf32> -> tensor<128x1x2xf32>
    %top_pairs = tw.broadcast %top_column : tensor<128x1x2xf32> -> tensor<128x2x2xf32>
    %top_row = tw.reshape %top_pairs : tensor<128x2x2xf32> -> tensor<512xf32>
    %indices = tw.reshape %r : tensor<512xi32> -> tensor<128x2x2xi32>
    %low = tw.reduce %indices axis 1 {
    ^bb0(%a: i32, %b: i32):
      %c = arith.minsi %a, %b : i32
      tw.yield %c : i32
    } : (tensor<128x2x2xi32>) -> tensor<128x2xi32>
    %low_column = tw.expand_dims %low, 1 : tensor<128x2xi32> -> tensor<128x1x2xi32>
    %low_pairs = tw.broadcast %low_column : tensor<128x1x2xi32> -> tensor<128x2x2xi32>
    %low_row = tw.reshape %low_pairs : tensor<128x2x2xi32> -> tensor<512xi32>
    %high = tw.reduce %indices axis 1 {
    ^bb0(%a: i32, %b: i32):
      %c = arith.maxsi %a, %b : i32
      tw.yield %c : i32
    } : (tensor<128x2x2xi32>) -> tensor<128x2xi32>
    %high_column = tw.expand_dims %high, 1 : tensor<128x2xi32> -> tensor<128x1x2xi32>
    %high_pairs = tw.broadcast %high_column : tensor<128x1x2xi32> -> tensor<128x2x2xi32>
    %high_row = tw.reshape %high_pairs : tensor<128x2x2xi32> -> tensor<512xi32>
    %both = arith.xori %low_row, %high_row : tensor<512xi32>
    %is = arith.cmpf oeq, %v, %top_row : tensor<512xf32>
    %zero = arith.constant dense<0> : tensor<512xi32>
    %s = arith.select %is, %both, %zero : tensor<512xi1>, tensor<512xi32>
    %ys = tw.splat %y : !tw.ptr<i32> -> tensor<512x!tw.ptr<i32>>
    %yp = tw.addptr %ys, %r : tensor<512x!tw.ptr<i32>>, tensor<512xi32>
    tw.store %yp, %s : tensor<512x!tw.ptr<i32>>, tensor<512xi32>
    return
  }
}

// -----

// Pieces of 8 columns, one row's after the other's, are less than a sector of memory: a warp takes
// rows that follow one another (8, 16 of the flat position), not every fourth (1, 2).
// CHECK-LABEL: @pieces
// CHECK: tw.load {{.*}} -> tensor<128x32xf16, #tw.layout<register = [1024, 2048, 1, 2, 4], lane = [32, 64, 128, 256, 512], warp = [8, 16], block = []>>
module attributes {tw.num_warps = 4 : i32} {
  func.func @pieces(%x: !tw.ptr<f16> {tw.divisibility = 16 : i64}, %piece: i32 {tw.divisibility = 16 : i64}, %row: i32) -> tensor<128x32xf16> {
    %c = tw.range 0 to 128 : tensor<128xi32>
    %c8 = arith.constant dense<8> : tensor<128xi32>
    %p = arith.divsi %c, %c8 : tensor<128xi32>
    %in = arith.remsi %c, %c8 : tensor<128xi32>
    %ps = tw.splat %piece : i32 -> tensor<128xi32>
    %0 = arith.muli %p, %ps : tensor<128xi32>
    %1 = arith.addi %0, %in : tensor<128xi32>
    %2 = tw.expand_dims %1, 1 : tensor<128xi32> -> tensor<128x1xi32>
    %3 = tw.broadcast %2 : tensor<128x1xi32> -> tensor<128x32xi32>
    %r = tw.range 0 to 32 : tensor<32xi32>
    %rs = tw.splat %row : i32 -> tensor<32xi32>
    %4 = arith.muli %r, %rs : tensor<32xi32>
    %5 = tw.expand_dims %4, 0 : tensor<32xi32> -> tensor<1x32xi32>
    %6 = tw.broadcast %5 : tensor<1x32xi32> -> tensor<128x32xi32>
    %7 = arith.addi %3, %6 : tensor<128x32xi32>
    %xs = tw.splat %x : !tw.ptr<f16> -> tensor<128x32x!tw.ptr<f16>>
    %a = tw.addptr %xs, %7 : tensor<128x32x!tw.ptr<f16>>, tensor<128x32xi32>
    %v = tw.load %a : tensor<128x32x!tw.ptr<f16>> -> tensor<128x32xf16>
    return %v : tensor<128x32xf16>
  }
}

// -----

// A tile that no access decides, reduced along a short axis: of that axis a thread has as much as
// it has elements, and the lanes of a warp have the rest; of a long axis it does not.
// CHECK-LABEL: @nearest
// CHECK: tw.reduce {{.*}} axis 1
// CHECK: (tensor<256x16xi32, #tw.layout<register = [1, 2, 4, 8, 16], lane = [32, 64, 128, 256, 512], warp = [1024, 2048], block = []>>)
// CHECK: tw.reduce {{.*}} axis 1
// CHECK: (tensor<256x64xi32, #tw.layout<register = [1, 2, {{.*}}], lane = [4, 8, 16, 32, 64], warp = {{.*}}>>)
// CHECK: tw.reduce {{.*}} axis 1
// CHECK: (tensor<64x16xi32, #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>>)
module attributes {tw.num_warps = 4 : i32} {
  func.func @nearest(%a: i32) -> (tensor<256xi32>, tensor<256xi32>, tensor<64xi32>) {
    %r = tw.range 0 to 256 : tensor<256xi32>
    %rows = tw.expand_dims %r, 1 : tensor<256xi32> -> tensor<256x1xi32>
    %c = tw.range 0 to 16 : tensor<16xi32>
    %columns = tw.expand_dims %c, 0 : tensor<16xi32> -> tensor<1x16xi32>
    %0 = tw.broadcast %rows : tensor<256x1xi32> -> tensor<256x16xi32>
    %1 = tw.broadcast %columns : tensor<1x16xi32> -> tensor<256x16xi32>
    %2 = arith.xori %0, %1 : tensor<256x16xi32>
    %short = tw.reduce %2 axis 1 {
    ^bb0(%x: i32, %y: i32):
      %m = arith.minsi %x, %y : i32
      tw.yield %m : i32
    } : (tensor<256x16xi32>) -> tensor<256xi32>
    %d = tw.range 0 to 64 : tensor<64xi32>
    %others = tw.expand_dims %d, 0 : tensor<64xi32> -> tensor<1x64xi32>
    %3 = tw.broadcast %rows : tensor<256x1xi32> -> tensor<256x64xi32>
    %4 = tw.broadcast %others : tensor<1x64xi32> -> tensor<256x64xi32>
    %5 = arith.xori %3, %4 : tensor<256x64xi32>
    %long = tw.reduce %5 axis 1 {
    ^bb0(%x: i32, %y: i32):
      %m = arith.minsi %x, %y : i32
      tw.yield %m : i32
    } : (tensor<256x64xi32>) -> tensor<256xi32>
    %fewer = tw.expand_dims %d, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %6 = tw.broadcast %fewer : tensor<64x1xi32> -> tensor<64x16xi32>
    %7 = tw.broadcast %columns : tensor<1x16xi32> -> tensor<64x16xi32>
    %8 = arith.xori %6, %7 : tensor<64x16xi32>
    %few = tw.reduce %8 axis 1 {
    ^bb0(%x: i32, %y: i32):
      %m = arith.minsi %x, %y : i32
      tw.yield %m : i32
    } : (tensor<64x16xi32>) -> tensor<64xi32>
    return %short, %long, %few : tensor<256xi32>, tensor<256xi32>, tensor<64xi32>
  }
}

// -----

// Rows of 64 have one index each: four elements of a thread need one of them, and the sums that it
// leads to are as wide as they can be. Nothing is converted.
// CHECK-LABEL: @add_to_rows
// CHECK: tw.load {{.*}} -> tensor<512xi64, #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>>
// CHECK-NOT: tw.convert_layout
// CHECK: tw.atomic_rmw {{.*}}tw.vector_elements = 4
module attributes {tw.num_warps = 4 : i32} {
  func.func @add_to_rows(%index: !tw.ptr<i64> {tw.divisibility = 16 : i64}, %x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %out: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 512 : tensor<512xi32>
    %c64 = arith.constant dense<64> : tensor<512xi32>
    %row = arith.divsi %r, %c64 : tensor<512xi32>
    %column = arith.remsi %r, %c64 : tensor<512xi32>
    %is = tw.splat %index : !tw.ptr<i64> -> tensor<512x!tw.ptr<i64>>
    %ip = tw.addptr %is, %row : tensor<512x!tw.ptr<i64>>, tensor<512xi32>
    %i = tw.load %ip : tensor<512x!tw.ptr<i64>> -> tensor<512xi64>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<512x!tw.ptr<f32>>, tensor<512xi32>
    %v = tw.load %xp : tensor<512x!tw.ptr<f32>> -> tensor<512xf32>
    %w = arith.constant dense<64> : tensor<512xi64>
    %start = arith.muli %i, %w : tensor<512xi64>
    %wide = arith.extsi %column : tensor<512xi32> to tensor<512xi64>
    %o = arith.addi %start, %wide : tensor<512xi64>
    %os = tw.splat %out : !tw.ptr<f32> -> tensor<512x!tw.ptr<f32>>
    %op = tw.addptr %os, %o : tensor<512x!tw.ptr<f32>>, tensor<512xi64>
    %old = tw.atomic_rmw <fadd>, <relaxed>, <gpu>, %op, %v : tensor<512x!tw.ptr<f32>>, tensor<512xf32>
    return
  }
}

// -----
// Pairs that are split: each in one thread, though half of the threads hold copies then. With
// more elements a thread has them anyway.
// CHECK-LABEL: @pairs
// CHECK: tw.load {{.*}} -> tensor<64x2xf32, #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [64, 0], block = []>>
// CHECK-NOT: tw.convert_layout
// CHECK: tw.split
module attributes {tw.num_warps = 4 : i32} {
  func.func @pairs(%p: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 64 : tensor<64xi32>
    %two = arith.constant dense<2> : tensor<64xi32>
    %even = arith.muli %r, %two : tensor<64xi32>
    %rows = tw.expand_dims %even, 1 : tensor<64xi32> -> tensor<64x1xi32>
    %h = tw.range 0 to 2 : tensor<2xi32>
    %columns = tw.expand_dims %h, 0 : tensor<2xi32> -> tensor<1x2xi32>
    %a = tw.broadcast %rows : tensor<64x1xi32> -> tensor<64x2xi32>
    %b = tw.broadcast %columns : tensor<1x2xi32> -> tensor<64x2xi32>
    %offset = arith.addi %a, %b : tensor<64x2xi32>
    %ps = tw.splat %p : !tw.ptr<f32> -> tensor<64x2x!tw.ptr<f32>>
    %q = tw.addptr %ps, %offset : tensor<64x2x!tw.ptr<f32>>, tensor<64x2xi32>
    %x = tw.load %q : tensor<64x2x!tw.ptr<f32>> -> tensor<64x2xf32>
    %l, %m = tw.split %x : tensor<64x2xf32> -> tensor<64xf32>, tensor<64xf32>
    %s = arith.addf %l, %m : tensor<64xf32>
    %o = tw.splat %p : !tw.ptr<f32> -> tensor<64x!tw.ptr<f32>>
    %os = tw.addptr %o, %r : tensor<64x!tw.ptr<f32>>, tensor<64xi32>
    tw.store %os, %s : tensor<64x!tw.ptr<f32>>, tensor<64xf32>
    return
  }
}
