// RUN: split-file %s %t
// RUN: sed 's/STAGES/4/' %t/product.mlir | tilewright-opt --tw-pipeline-loops --tw-prefetch-operands | FileCheck %s
// RUN: sed 's/STAGES/3/' %t/product.mlir | tilewright-opt --tw-pipeline-loops --tw-prefetch-operands | FileCheck %s --check-prefix=FEW
// RUN: sed 's/STAGES/4/' %t/product.mlir | tilewright-opt --tw-pipeline-loops --tw-prefetch-operands --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sed 's/STAGES/3/' %t/product.mlir | tilewright-opt --tw-pipeline-loops --tw-prefetch-operands --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REFUSED
// REMARK: prefetch: applied, operands=2 (the next iteration's operands go to registers)
// REFUSED: prefetch: refused, operands=2 (too few registers or stages)
// RUN: tilewright-opt %t/pieces.mlir --tw-prefetch-operands | FileCheck %s --check-prefix=PIECES
// RUN: tilewright-opt %t/standing.mlir --tw-prefetch-operands | FileCheck %s --check-prefix=STANDING
// RUN: tilewright-opt %t/late.mlir --tw-prefetch-operands | FileCheck %s --check-prefix=LATE

// The operands of the first iteration are read before the loop; in it the
// product comes before those of the next one, one slot further, for which one
// group of copies less may be under way. Copies start after them.
// CHECK: tw.async_wait 2
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.buffer_slot
// CHECK-NEXT: %[[A0:.*]] = tw.shared_load
// CHECK-NEXT: tw.buffer_slot
// CHECK-NEXT: %[[B0:.*]] = tw.shared_load
// CHECK: scf.for {{.*}} iter_args({{.*}}, %[[SLOT:.*]] = %{{.*}}, %[[A:.*]] = %[[A0]], %[[B:.*]] = %[[B0]])
// CHECK: tw.async_wait 1
// CHECK-NEXT: tw.barrier
// CHECK-NOT: tw.shared_load
// CHECK-NOT: tw.async_c
// CHECK: tw.dot %[[A]], %[[B]]
// CHECK: arith.select
// CHECK: %[[NEXT:.*]] = arith.select
// CHECK: tw.buffer_slot %{{.*}}[%[[NEXT]]]
// CHECK-NEXT: %[[A1:.*]] = tw.shared_load
// CHECK: tw.buffer_slot %{{.*}}[%[[NEXT]]]
// CHECK-NEXT: %[[B1:.*]] = tw.shared_load
// CHECK: tw.async_copy
// CHECK: tw.async_commit
// CHECK: scf.yield {{.*}}, %[[NEXT]], %[[A1]], %[[B1]] :

// With two groups of copies there is none to spare.
// FEW: scf.for
// FEW: tw.async_wait 1
// FEW: %[[A:.*]] = tw.shared_load
// FEW: %[[B:.*]] = tw.shared_load
// FEW: tw.dot %[[A]], %[[B]]

//--- product.mlir
#p = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [], block = []>
#a = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#b = #tw.layout<register = [16, 128, 8], lane = [32, 64, 1, 2, 4], warp = [], block = []>
#c = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
module attributes {tw.num_warps = 1 : i32, tw.num_stages = STAGES : i32} {
  func.func @product(%x: tensor<16x16x!tw.ptr<f16>, #p>, %y: tensor<16x16x!tw.ptr<f16>, #p>, %n: i32, %zero: tensor<16x16xf32, #c>)
      -> tensor<16x16xf32, #c> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<16x16xf32, #c>) : i32 {
      %off = tw.splat %k : i32 -> tensor<16x16xi32, #p>
      %xp = tw.addptr %x, %off : tensor<16x16x!tw.ptr<f16>, #p>, tensor<16x16xi32, #p>
      %yp = tw.addptr %y, %off : tensor<16x16x!tw.ptr<f16>, #p>, tensor<16x16xi32, #p>
      %xv = tw.load %xp {tw.vector_elements = 8 : i32} : tensor<16x16x!tw.ptr<f16>, #p> -> tensor<16x16xf16, #p>
      %yv = tw.load %yp {tw.vector_elements = 8 : i32} : tensor<16x16x!tw.ptr<f16>, #p> -> tensor<16x16xf16, #p>
      %xs = tw.alloc_shared %xv : tensor<16x16xf16, #p> -> : !tw.buffer<16x16xf16, #s>
      %ys = tw.alloc_shared %yv : tensor<16x16xf16, #p> -> : !tw.buffer<16x16xf16, #s>
      %xr = tw.shared_load %xs : !tw.buffer<16x16xf16, #s> -> tensor<16x16xf16, #a>
      %yr = tw.shared_load %ys : !tw.buffer<16x16xf16, #s> -> tensor<16x16xf16, #b>
      %d = tw.dot %xr, %yr, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
          : tensor<16x16xf16, #a>, tensor<16x16xf16, #b>, tensor<16x16xf32, #c>
      scf.yield %d : tensor<16x16xf32, #c>
    }
    return %r : tensor<16x16xf32, #c>
  }
}

//--- pieces.mlir
// 128 registers for the sums and 64 for each operand are too many: both are read piece by
// piece, unless somebody else uses them.
// PIECES-LABEL: @full
// PIECES: tw.shared_load %{{.*}} {inPieces}
// PIECES: tw.shared_load %{{.*}} {inPieces}
// PIECES-LABEL: @shared
// PIECES-NOT: inPieces
// Half of the columns fit.
// PIECES-LABEL: @fits
// PIECES-NOT: inPieces
#a = #tw.layout<register = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [], block = []>
#b = #tw.layout<register = [64, 512, 8, 16, 32, 1024, 2048], lane = [128, 256, 1, 2, 4], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]>
#bh = #tw.layout<register = [32, 256, 8, 16, 512, 1024], lane = [64, 128, 1, 2, 4], warp = [], block = []>
#ch = #tw.layout<register = [1, 256, 8, 16, 512, 1024], lane = [2, 4, 32, 64, 128], warp = [], block = []>
#sh = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 1 : i32} {
  func.func @full(%x: !tw.buffer<64x64xf16, #s>, %y: !tw.buffer<64x64xf16, #s>, %sum: tensor<64x64xf32, #a>) -> tensor<64x64xf32, #a> {
    %a = tw.shared_load %x : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #a>
    %b = tw.shared_load %y : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #b>
    %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
        : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
    return %d : tensor<64x64xf32, #a>
  }
  func.func @shared(%x: !tw.buffer<64x64xf16, #s>, %b: tensor<64x64xf16, #b>, %sum: tensor<64x64xf32, #a>) -> (tensor<64x64xf32, #a>, tensor<64x64xf16, #a>) {
    %a = tw.shared_load %x : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #a>
    %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
        : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
    return %d, %a : tensor<64x64xf32, #a>, tensor<64x64xf16, #a>
  }
  func.func @fits(%x: !tw.buffer<64x64xf16, #s>, %y: !tw.buffer<64x32xf16, #sh>, %sum: tensor<64x32xf32, #ch>) -> tensor<64x32xf32, #ch> {
    %a = tw.shared_load %x : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #a>
    %b = tw.shared_load %y : !tw.buffer<64x32xf16, #sh> -> tensor<64x32xf16, #bh>
    %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
        : tensor<64x64xf16, #a>, tensor<64x32xf16, #bh>, tensor<64x32xf32, #ch>
    return %d : tensor<64x32xf32, #ch>
  }
}

//--- standing.mlir
// An operand from outside of the loop is read in it where the sums, it and what else lives
// do not fit: its tile in shared memory costs no block.
// STANDING-LABEL: @full
// STANDING: %[[TILE:.*]] = tw.alloc_shared
// STANDING-NOT: tw.shared_load
// STANDING: scf.for
// STANDING: %[[A:.*]] = tw.shared_load %[[TILE]] {inPieces}
// STANDING: tw.dot %[[A]]
// Without the other tile they fit, if the right side is read in pieces.
// STANDING-LABEL: @fits
// STANDING: tw.alloc_shared
// STANDING-NEXT: %[[A:.*]] = tw.shared_load
// STANDING: scf.for
// STANDING: tw.shared_load %{{.*}} {inPieces}
// STANDING-NOT: tw.shared_load
// STANDING: tw.dot %[[A]]
// Its tile costs a block beside the ring, but most of the operand would be spilled.
// STANDING-LABEL: @spilled
// STANDING: %[[TILE:.*]] = tw.alloc_shared %{{.*}} : tensor
// STANDING-NOT: tw.shared_load
// STANDING: scf.for
// STANDING: %[[A:.*]] = tw.shared_load %[[TILE]] {inPieces}
// STANDING: tw.dot %[[A]]
// A little of it would be: not worth a block.
// STANDING-LABEL: @worth_a_block
// STANDING: tw.alloc_shared %{{.*}} : tensor
// STANDING-NEXT: %[[A:.*]] = tw.shared_load
// STANDING: scf.for
// STANDING: tw.dot %[[A]]
#p = #tw.layout<register = [1, 2, 4, 256, 512, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [], block = []>
#a = #tw.layout<register = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [], block = []>
#b = #tw.layout<register = [64, 512, 8, 16, 32, 1024, 2048], lane = [128, 256, 1, 2, 4], warp = [], block = []>
#c = #tw.layout<register = [1, 256, 8, 16, 512, 1024], lane = [2, 4, 32, 64, 128], warp = [], block = []>
#d = #tw.layout<register = [1, 128, 8, 256, 512], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]>
module attributes {tw.num_warps = 1 : i32} {
  func.func @full(%q: tensor<64x64xf16, #p>, %y: !tw.buffer<64x64xf16, #s>, %zero: tensor<64x64xf32, #a>, %x0: tensor<64x32xf32, #c>, %n: i32) -> (tensor<64x64xf32, #a>, tensor<64x32xf32, #c>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tw.alloc_shared %q : tensor<64x64xf16, #p> -> : !tw.buffer<64x64xf16, #s>
    %a = tw.shared_load %x : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #a>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %other = %x0) -> (tensor<64x64xf32, #a>, tensor<64x32xf32, #c>) : i32 {
      %b = tw.shared_load %y : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #b>
      %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
          : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
      %next = math.absf %other : tensor<64x32xf32, #c>
      scf.yield %d, %next : tensor<64x64xf32, #a>, tensor<64x32xf32, #c>
    }
    return %r#0, %r#1 : tensor<64x64xf32, #a>, tensor<64x32xf32, #c>
  }
  func.func @fits(%q: tensor<64x64xf16, #p>, %y: !tw.buffer<64x64xf16, #s>, %zero: tensor<64x64xf32, #a>, %n: i32) -> tensor<64x64xf32, #a> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tw.alloc_shared %q : tensor<64x64xf16, #p> -> : !tw.buffer<64x64xf16, #s>
    %a = tw.shared_load %x : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #a>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32, #a>) : i32 {
      %b = tw.shared_load %y : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #b>
      %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
          : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
      scf.yield %d : tensor<64x64xf32, #a>
    }
    return %r : tensor<64x64xf32, #a>
  }
  func.func @spilled(%q: tensor<64x64xf16, #p>, %zero: tensor<64x64xf32, #a>, %x0: tensor<64x32xf32, #c>, %n: i32) -> (tensor<64x64xf32, #a>, tensor<64x32xf32, #c>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tw.alloc_shared %q : tensor<64x64xf16, #p> -> : !tw.buffer<64x64xf16, #s>
    %a = tw.shared_load %x : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #a>
    %ring = tw.alloc_shared : !tw.buffer<64x64xf16, #s, 3>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %other = %x0) -> (tensor<64x64xf32, #a>, tensor<64x32xf32, #c>) : i32 {
      %y = tw.buffer_slot %ring[%c0] : !tw.buffer<64x64xf16, #s, 3> -> !tw.buffer<64x64xf16, #s>
      %b = tw.shared_load %y : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #b>
      %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
          : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
      %next = math.absf %other : tensor<64x32xf32, #c>
      scf.yield %d, %next : tensor<64x64xf32, #a>, tensor<64x32xf32, #c>
    }
    return %r#0, %r#1 : tensor<64x64xf32, #a>, tensor<64x32xf32, #c>
  }
  func.func @worth_a_block(%q: tensor<64x64xf16, #p>, %zero: tensor<64x64xf32, #a>, %x0: tensor<64x16xf32, #d>, %n: i32) -> (tensor<64x64xf32, #a>, tensor<64x16xf32, #d>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = tw.alloc_shared %q : tensor<64x64xf16, #p> -> : !tw.buffer<64x64xf16, #s>
    %a = tw.shared_load %x : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #a>
    %ring = tw.alloc_shared : !tw.buffer<64x64xf16, #s, 3>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %other = %x0) -> (tensor<64x64xf32, #a>, tensor<64x16xf32, #d>) : i32 {
      %y = tw.buffer_slot %ring[%c0] : !tw.buffer<64x64xf16, #s, 3> -> !tw.buffer<64x64xf16, #s>
      %b = tw.shared_load %y : !tw.buffer<64x64xf16, #s> -> tensor<64x64xf16, #b>
      %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
          : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
      %next = math.absf %other : tensor<64x16xf32, #d>
      scf.yield %d, %next : tensor<64x64xf32, #a>, tensor<64x16xf32, #d>
    }
    return %r#0, %r#1 : tensor<64x64xf32, #a>, tensor<64x16xf32, #d>
  }
}

//--- late.mlir
// The second product's right side takes 64 registers, which the first one needs: it is
// converted after that, unless somebody reads it before.
// LATE-LABEL: @late
// LATE: tw.dot
// LATE-NEXT: %[[B:.*]] = tw.convert_layout
// LATE-NEXT: tw.dot %{{.*}}, %[[B]]
// LATE-LABEL: @early
// LATE: tw.convert_layout
// LATE: tw.dot
// LATE-NEXT: tw.dot
#a = #tw.layout<register = [1, 512, 8, 16, 32, 1024, 2048], lane = [2, 4, 64, 128, 256], warp = [], block = []>
#b = #tw.layout<register = [64, 512, 8, 16, 32, 1024, 2048], lane = [128, 256, 1, 2, 4], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
  func.func @late(%a: tensor<64x64xf16, #a>, %b: tensor<64x64xf16, #b>, %sum: tensor<64x64xf32, #a>) -> tensor<64x64xf32, #a> {
    %c = tw.convert_layout %a : tensor<64x64xf16, #a> -> tensor<64x64xf16, #b>
    %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
        : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
    %e = tw.dot %a, %c, %d {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
        : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
    return %e : tensor<64x64xf32, #a>
  }
  func.func @early(%a: tensor<64x64xf16, #a>, %sum: tensor<64x64xf32, #a>) -> tensor<64x64xf32, #a> {
    %c = tw.convert_layout %a : tensor<64x64xf16, #a> -> tensor<64x64xf16, #b>
    %b = math.absf %c : tensor<64x64xf16, #b>
    %d = tw.dot %a, %b, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
        : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
    %e = tw.dot %a, %c, %d {unit = #tw.unit<mma>, warps = array<i32: 0, 0>}
        : tensor<64x64xf16, #a>, tensor<64x64xf16, #b>, tensor<64x64xf32, #a>
    return %e : tensor<64x64xf32, #a>
  }
}
