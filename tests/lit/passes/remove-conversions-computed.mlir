// What is computed from loads is loaded as its users hold it.
// RUN: tilewright-opt %s --split-input-file --tw-remove-conversions --tw-verify-layouts | FileCheck %s

#a = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [0, 0], block = []>
#b = #tw.layout<register = [], lane = [0, 0, 1, 2, 4], warp = [8, 16], block = []>

// Two rows that meet: the sum is wanted by rows of a tile, and each by itself as well.
// CHECK-LABEL: @computed
// CHECK-NOT: tw.convert_layout
// CHECK: %[[X:.*]] = tw.load {{.*}} -> tensor<32xf32, #[[B:.*]]>
// CHECK-NOT: tw.convert_layout
// CHECK: %[[Y:.*]] = tw.load {{.*}} -> tensor<32xf32, #[[B]]>
// CHECK-NOT: tw.convert_layout
// CHECK: %[[E:.*]] = math.exp %[[Y]]
// CHECK: %[[S:.*]] = arith.addf %[[X]], %[[E]]
// CHECK: return %[[S]], %[[X]]

// A user takes the exponential as it is: both stay.
// CHECK-LABEL: @used_as_it_is
// CHECK: tw.load
// CHECK: math.exp
// CHECK: tw.convert_layout

// One operand comes from elsewhere and would be converted instead.
// CHECK-LABEL: @other_operand
// CHECK: tw.load
// CHECK: arith.addf
// CHECK: tw.convert_layout

// Numbers of rows, and what is loaded at them, wanted by rows of a tile both.
// CHECK-LABEL: @gathered
// CHECK-NOT: tw.convert_layout
// CHECK: %[[I:.*]] = tw.load {{.*}} -> tensor<32xi32, #[[B]]>
// CHECK: %[[P:.*]] = tw.addptr {{.*}}, %[[I]] : tensor<32x!tw.ptr<f32>, #[[B]]>
// CHECK: %[[X:.*]] = tw.load %[[P]] {{.*}} -> tensor<32xf32, #[[B]]>
// CHECK-NOT: tw.convert_layout
// CHECK: return %[[X]], %[[I]]

// What is loaded at the numbers is wanted as it is: so are the numbers.
// CHECK-LABEL: @gathered_as_it_is
// CHECK: %[[I:.*]] = tw.load
// CHECK: tw.addptr {{.*}}, %[[I]]
// CHECK: tw.load
// CHECK: tw.convert_layout %[[I]]
module attributes {tw.num_warps = 4 : i32} {
  func.func @computed(%x: !tw.ptr<f32>, %y: !tw.ptr<f32>) -> (tensor<32xf32, #b>, tensor<32xf32, #b>) {
    %r = tw.range 0 to 32 : tensor<32xi32, #a>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #a>
    %xp = tw.addptr %xs, %r : tensor<32x!tw.ptr<f32>, #a>, tensor<32xi32, #a>
    %u = tw.load %xp : tensor<32x!tw.ptr<f32>, #a> -> tensor<32xf32, #a>
    %ys = tw.splat %y : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #a>
    %yp = tw.addptr %ys, %r : tensor<32x!tw.ptr<f32>, #a>, tensor<32xi32, #a>
    %v = tw.load %yp : tensor<32x!tw.ptr<f32>, #a> -> tensor<32xf32, #a>
    %e = math.exp %v : tensor<32xf32, #a>
    %s = arith.addf %u, %e : tensor<32xf32, #a>
    %0 = tw.convert_layout %s : tensor<32xf32, #a> -> tensor<32xf32, #b>
    %1 = tw.convert_layout %u : tensor<32xf32, #a> -> tensor<32xf32, #b>
    return %0, %1 : tensor<32xf32, #b>, tensor<32xf32, #b>
  }
  func.func @used_as_it_is(%x: !tw.ptr<f32>) -> (tensor<32xf32, #a>, tensor<32xf32, #b>) {
    %r = tw.range 0 to 32 : tensor<32xi32, #a>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #a>
    %xp = tw.addptr %xs, %r : tensor<32x!tw.ptr<f32>, #a>, tensor<32xi32, #a>
    %u = tw.load %xp : tensor<32x!tw.ptr<f32>, #a> -> tensor<32xf32, #a>
    %e = math.exp %u : tensor<32xf32, #a>
    %0 = tw.convert_layout %e : tensor<32xf32, #a> -> tensor<32xf32, #b>
    return %e, %0 : tensor<32xf32, #a>, tensor<32xf32, #b>
  }
  func.func @other_operand(%x: !tw.ptr<f32>, %y: tensor<32xf32, #a>) -> tensor<32xf32, #b> {
    %r = tw.range 0 to 32 : tensor<32xi32, #a>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #a>
    %xp = tw.addptr %xs, %r : tensor<32x!tw.ptr<f32>, #a>, tensor<32xi32, #a>
    %u = tw.load %xp : tensor<32x!tw.ptr<f32>, #a> -> tensor<32xf32, #a>
    %s = arith.addf %u, %y : tensor<32xf32, #a>
    %0 = tw.convert_layout %s : tensor<32xf32, #a> -> tensor<32xf32, #b>
    return %0 : tensor<32xf32, #b>
  }
  func.func @gathered(%n: !tw.ptr<i32>, %x: !tw.ptr<f32>) -> (tensor<32xf32, #b>, tensor<32xi32, #b>) {
    %r = tw.range 0 to 32 : tensor<32xi32, #a>
    %ns = tw.splat %n : !tw.ptr<i32> -> tensor<32x!tw.ptr<i32>, #a>
    %np = tw.addptr %ns, %r : tensor<32x!tw.ptr<i32>, #a>, tensor<32xi32, #a>
    %i = tw.load %np : tensor<32x!tw.ptr<i32>, #a> -> tensor<32xi32, #a>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #a>
    %xp = tw.addptr %xs, %i : tensor<32x!tw.ptr<f32>, #a>, tensor<32xi32, #a>
    %v = tw.load %xp : tensor<32x!tw.ptr<f32>, #a> -> tensor<32xf32, #a>
    %0 = tw.convert_layout %v : tensor<32xf32, #a> -> tensor<32xf32, #b>
    %1 = tw.convert_layout %i : tensor<32xi32, #a> -> tensor<32xi32, #b>
    return %0, %1 : tensor<32xf32, #b>, tensor<32xi32, #b>
  }
  func.func @gathered_as_it_is(%n: !tw.ptr<i32>, %x: !tw.ptr<f32>) -> (tensor<32xf32, #a>, tensor<32xi32, #b>) {
    %r = tw.range 0 to 32 : tensor<32xi32, #a>
    %ns = tw.splat %n : !tw.ptr<i32> -> tensor<32x!tw.ptr<i32>, #a>
    %np = tw.addptr %ns, %r : tensor<32x!tw.ptr<i32>, #a>, tensor<32xi32, #a>
    %i = tw.load %np : tensor<32x!tw.ptr<i32>, #a> -> tensor<32xi32, #a>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<32x!tw.ptr<f32>, #a>
    %xp = tw.addptr %xs, %i : tensor<32x!tw.ptr<f32>, #a>, tensor<32xi32, #a>
    %v = tw.load %xp : tensor<32x!tw.ptr<f32>, #a> -> tensor<32xf32, #a>
    %1 = tw.convert_layout %i : tensor<32xi32, #a> -> tensor<32xi32, #b>
    return %v, %1 : tensor<32xf32, #a>, tensor<32xi32, #b>
  }
}

// -----
#a = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#b = #tw.layout<register = [1, 2, 4, 8, 16, 32, 64], lane = [0, 0, 0, 0, 0], warp = [0, 0], block = []>

// Each thread would compute what 128 threads compute now.
// CHECK-LABEL: @too_much_work
// CHECK: tw.load {{.*}} -> tensor<128xf32, #[[A:.*]]>
// CHECK: math.sin
// CHECK: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @too_much_work(%x: !tw.ptr<f32>) -> tensor<128xf32, #b> {
    %r = tw.range 0 to 128 : tensor<128xi32, #a>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<128x!tw.ptr<f32>, #a>
    %xp = tw.addptr %xs, %r : tensor<128x!tw.ptr<f32>, #a>, tensor<128xi32, #a>
    %u = tw.load %xp : tensor<128x!tw.ptr<f32>, #a> -> tensor<128xf32, #a>
    %e = math.sin %u : tensor<128xf32, #a>
    %0 = tw.convert_layout %e : tensor<128xf32, #a> -> tensor<128xf32, #b>
    return %0 : tensor<128xf32, #b>
  }
}

// -----
#a = #tw.layout<register = [], lane = [1, 2, 4, 0, 0], warp = [0, 0], block = []>
#b = #tw.layout<register = [], lane = [0, 0, 0, 0, 1], warp = [2, 4], block = []>

// Warps that share a sector of memory fetch it once between them.
// CHECK-LABEL: @one_sector
// CHECK-NOT: tw.convert_layout
// CHECK: return
module attributes {tw.num_warps = 4 : i32} {
  func.func @one_sector(%x: !tw.ptr<f32>) -> tensor<8xf32, #b> {
    %r = tw.range 0 to 8 : tensor<8xi32, #a>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<8x!tw.ptr<f32>, #a>
    %xp = tw.addptr %xs, %r : tensor<8x!tw.ptr<f32>, #a>, tensor<8xi32, #a>
    %u = tw.load %xp : tensor<8x!tw.ptr<f32>, #a> -> tensor<8xf32, #a>
    %e = math.exp %u : tensor<8xf32, #a>
    %0 = tw.convert_layout %e : tensor<8xf32, #a> -> tensor<8xf32, #b>
    return %0 : tensor<8xf32, #b>
  }
}

// -----

// Numbers of 32 bits beside halfs of which a thread has eight in a row: each sector is loaded
// by two instructions then, but fetched once. Loads that go past the L1 would fetch it twice.

#halves = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#numbers = #tw.layout<register = [1, 2, 512], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>

// CHECK-LABEL: @weights
// CHECK: tw.load {{.*}} -> tensor<1024xf32, #[[H:.*]]>
// CHECK-NOT: tw.convert_layout
// CHECK: return %{{.*}} : tensor<1024xf32, #[[H]]>
// CHECK-LABEL: @past_the_first_cache
// CHECK: tw.load
// CHECK-NEXT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32} {
  func.func @weights(%w: !tw.ptr<f32> {tw.divisibility = 16 : i64}) -> tensor<1024xf32, #halves> {
    %r = tw.range 0 to 1024 : tensor<1024xi32, #numbers>
    %ws = tw.splat %w : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>, #numbers>
    %p = tw.addptr %ws, %r : tensor<1024x!tw.ptr<f32>, #numbers>, tensor<1024xi32, #numbers>
    %x = tw.load %p : tensor<1024x!tw.ptr<f32>, #numbers> -> tensor<1024xf32, #numbers>
    %0 = tw.convert_layout %x : tensor<1024xf32, #numbers> -> tensor<1024xf32, #halves>
    return %0 : tensor<1024xf32, #halves>
  }
  func.func @past_the_first_cache(%w: !tw.ptr<f32> {tw.divisibility = 16 : i64}) -> tensor<1024xf32, #halves> {
    %r = tw.range 0 to 1024 : tensor<1024xi32, #numbers>
    %ws = tw.splat %w : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>, #numbers>
    %p = tw.addptr %ws, %r : tensor<1024x!tw.ptr<f32>, #numbers>, tensor<1024xi32, #numbers>
    %x = tw.load %p {cache = #tw.cache<cg>} : tensor<1024x!tw.ptr<f32>, #numbers> -> tensor<1024xf32, #numbers>
    %0 = tw.convert_layout %x : tensor<1024xf32, #numbers> -> tensor<1024xf32, #halves>
    return %0 : tensor<1024xf32, #halves>
  }
}
