// Vector widths, predicates, modifiers and ownership of loads and stores.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/wide.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=WIDE
// RUN: tilewright-opt %t/many.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=MANY
// RUN: sed -e 's/, 512, 1024\]/]/' -e 's/2048/512/g' %t/many.mlir | tilewright-opt --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=FEW
// RUN: tilewright-opt %t/half.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=HALF
// RUN: tilewright-opt %t/unproven.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=UNPROVEN
// RUN: tilewright-opt %t/modifiers.mlir --tw-emit-ptx=target=sm_90a -o /dev/null | FileCheck %s --check-prefix=MOD
// RUN: tilewright-opt %t/copies.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=COPY
// RUN: tilewright-opt %t/column.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=COLUMN
// RUN: tilewright-opt %t/bytes.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=BYTE

//--- wide.mlir
// Without a mask: native vectors whose second address is a constant away.
// WIDE: ld.global.v4.{{[buf]}}32 {{.*}}, [%rd{{[0-9]+}}]
// WIDE: ld.global.v4.{{[buf]}}32 {{.*}}+512]
// WIDE: st.global.v4
#b = #tw.layout<register = [1, 2, 128], lane = [4, 8, 16, 32, 64], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @wide(%x: !tw.ptr<f32>) {
  %r = tw.range 0 to 256 : tensor<256xi32, #b>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #b>
  %p = tw.addptr %xs, %r : tensor<256x!tw.ptr<f32>, #b>, tensor<256xi32, #b>
  %a = tw.load %p {tw.vector_elements = 4 : i32} : tensor<256x!tw.ptr<f32>, #b> -> tensor<256xf32, #b>
  %z = arith.addf %a, %a : tensor<256xf32, #b>
  tw.store %p, %z {tw.vector_elements = 4 : i32} : tensor<256x!tw.ptr<f32>, #b>, tensor<256xf32, #b>
  func.return
}
}

//--- many.mlir
// With more masks than the assembler issues in a row all are loaded behind one branch: without
// masks, and with them.
// MANY: vote.sync.all
// MANY: bra
// MANY-COUNT-16: {{^}}{{[[:space:]]}}ld.global.v4
// MANY: bra
// MANY-COUNT-16: @%p{{[0-9]+}} ld.global.v4
// MANY-NOT: ld.global
// FEW-NOT: bra
// FEW-COUNT-4: @%p{{[0-9]+}} ld.global.v4
// FEW-NOT: bra
#many = #tw.layout<register = [1, 2, 128, 256, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @many(%x: !tw.ptr<f32>, %n: i32) {
  %r = tw.range 0 to 2048 : tensor<2048xi32, #many>
  %ns = tw.splat %n : i32 -> tensor<2048xi32, #many>
  %m = arith.cmpi slt, %r, %ns : tensor<2048xi32, #many>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<2048x!tw.ptr<f32>, #many>
  %p = tw.addptr %xs, %r : tensor<2048x!tw.ptr<f32>, #many>, tensor<2048xi32, #many>
  %a = tw.load %p mask %m : tensor<2048xi1, #many> {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #many> -> tensor<2048xf32, #many>
  %z = arith.addf %a, %a : tensor<2048xf32, #many>
  tw.store %p, %z {tw.vector_elements = 4 : i32} : tensor<2048x!tw.ptr<f32>, #many>, tensor<2048xf32, #many>
  func.return
}
}

//--- half.mlir
// Eight f16 are 16 bytes; masked-off elements start as `other`, here 1.0 twice
// in a word.
// HALF: mov.b32 [[OTHER:%r[0-9]+]], 1006648320
// HALF: @%p{{[0-9]+}} ld.global.v4.b32 {
// HALF-COUNT-4: add.f16x2
// HALF: @%p{{[0-9]+}} st.global.v4.b32 [
#h = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @half(%x: !tw.ptr<f16>, %n: i32) {
  %r = tw.range 0 to 256 : tensor<256xi32, #h>
  %ns = tw.splat %n : i32 -> tensor<256xi32, #h>
  %m = arith.cmpi slt, %r, %ns : tensor<256xi32, #h>
  %one = arith.constant dense<1.0> : tensor<256xf16, #h>
  %xs = tw.splat %x : !tw.ptr<f16> -> tensor<256x!tw.ptr<f16>, #h>
  %p = tw.addptr %xs, %r : tensor<256x!tw.ptr<f16>, #h>, tensor<256xi32, #h>
  %a = tw.load %p mask %m : tensor<256xi1, #h> other %one : tensor<256xf16, #h> {tw.vector_elements = 16 : i32}
       : tensor<256x!tw.ptr<f16>, #h> -> tensor<256xf16, #h>
  %z = arith.addf %a, %a : tensor<256xf16, #h>
  tw.store %p, %z mask %m : tensor<256xi1, #h> {tw.vector_elements = 8 : i32}
       : tensor<256x!tw.ptr<f16>, #h>, tensor<256xf16, #h>
  func.return
}
}

//--- unproven.mlir
// Without tw.vector_elements nothing is known of alignment: one element each.
// UNPROVEN-NOT: .v2
// UNPROVEN-NOT: .v4
// UNPROVEN-COUNT-4: ld.global.{{[buf]}}32
#b = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @unproven(%x: !tw.ptr<i32>, %y: !tw.ptr<i32>) {
  %r = tw.range 0 to 128 : tensor<128xi32, #b>
  %xs = tw.splat %x : !tw.ptr<i32> -> tensor<128x!tw.ptr<i32>, #b>
  %p = tw.addptr %xs, %r : tensor<128x!tw.ptr<i32>, #b>, tensor<128xi32, #b>
  %ys = tw.splat %y : !tw.ptr<i32> -> tensor<128x!tw.ptr<i32>, #b>
  %q = tw.addptr %ys, %r : tensor<128x!tw.ptr<i32>, #b>, tensor<128xi32, #b>
  %a = tw.load %p : tensor<128x!tw.ptr<i32>, #b> -> tensor<128xi32, #b>
  tw.store %q, %a : tensor<128x!tw.ptr<i32>, #b>, tensor<128xi32, #b>
  func.return
}
}

//--- modifiers.mlir
// MOD-DAG: createpolicy.fractional.L2::evict_first.b64
// MOD-DAG: createpolicy.fractional.L2::evict_last.b64
// MOD-DAG: ld.global.cg.b32
// MOD-DAG: ld.volatile.global.b32
// MOD-DAG: ld.global.L1::evict_last.L2::cache_hint.b32
// MOD-DAG: st.global.wt.b32
// MOD-DAG: st.global.L1::evict_first.L2::cache_hint.b32
#b = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @modifiers(%x: !tw.ptr<i32>) {
  %r = tw.range 0 to 32 : tensor<32xi32, #b>
  %xs = tw.splat %x : !tw.ptr<i32> -> tensor<32x!tw.ptr<i32>, #b>
  %p = tw.addptr %xs, %r : tensor<32x!tw.ptr<i32>, #b>, tensor<32xi32, #b>
  %a = tw.load %p {cache = #tw.cache<cg>} : tensor<32x!tw.ptr<i32>, #b> -> tensor<32xi32, #b>
  %b = tw.load %p {isVolatile} : tensor<32x!tw.ptr<i32>, #b> -> tensor<32xi32, #b>
  %c = tw.load %p {eviction = #tw.eviction<evict_last>} : tensor<32x!tw.ptr<i32>, #b> -> tensor<32xi32, #b>
  %d = arith.addi %a, %b : tensor<32xi32, #b>
  %e = arith.addi %d, %c : tensor<32xi32, #b>
  tw.store %p, %e {cache = #tw.cache<wt>} : tensor<32x!tw.ptr<i32>, #b>, tensor<32xi32, #b>
  tw.store %p, %d {eviction = #tw.eviction<evict_first>} : tensor<32x!tw.ptr<i32>, #b>, tensor<32xi32, #b>
  func.return
}
}

//--- copies.mlir
// 16 elements in 64 threads: lane bit 4 and the warp hold copies. All load, one
// of each four stores; a scalar is stored by thread 0.
// COPY: setp.lt.u32 [[OWNER:%p[0-9]+]], %r{{[0-9]+}}, 16
// COPY: ld.global
// COPY: @[[OWNER]] st.global.b32
// COPY: @%p{{[0-9]+}} st.global.b32
#d = #tw.layout<register = [], lane = [1, 2, 4, 8, 0], warp = [0], block = []>
module attributes {tw.num_warps = 2 : i32} {
func.func @copies(%x: !tw.ptr<i32>, %v: i32) {
  %r = tw.range 0 to 16 : tensor<16xi32, #d>
  %xs = tw.splat %x : !tw.ptr<i32> -> tensor<16x!tw.ptr<i32>, #d>
  %p = tw.addptr %xs, %r : tensor<16x!tw.ptr<i32>, #d>, tensor<16xi32, #d>
  %a = tw.load %p : tensor<16x!tw.ptr<i32>, #d> -> tensor<16xi32, #d>
  %b = arith.addi %a, %a : tensor<16xi32, #d>
  tw.store %p, %b : tensor<16x!tw.ptr<i32>, #d>, tensor<16xi32, #d>
  tw.store %x, %v : !tw.ptr<i32>, i32
  func.return
}
}

//--- column.mlir
// Vectors along dimension 0, where the passes say so.
// COLUMN: ld.global.v4
#c = #tw.layout<register = [8, 16], lane = [32, 64, 1, 2, 4], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @column(%x: !tw.ptr<f32>) {
  %r = tw.range 0 to 128 : tensor<128xi32, #c>
  %m = tw.reshape %r : tensor<128xi32, #c> -> tensor<16x8xi32, #c>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<16x8x!tw.ptr<f32>, #c>
  %p = tw.addptr %xs, %m : tensor<16x8x!tw.ptr<f32>, #c>, tensor<16x8xi32, #c>
  %a = tw.load %p {tw.vector_elements = 4 : i32, tw.vector_dimension = 0 : i32}
       : tensor<16x8x!tw.ptr<f32>, #c> -> tensor<16x8xf32, #c>
  tw.store %p, %a {cache = #tw.cache<cs>} : tensor<16x8x!tw.ptr<f32>, #c>, tensor<16x8xf32, #c>
  func.return
}
}

//--- bytes.mlir
// One byte travels in a 16-bit register, four in a 32-bit one.
// BYTE: @%p{{[0-9]+}} ld.global.b8 {%rs{{[0-9]+}}}
// BYTE: @%p{{[0-9]+}} ld.global.b32
// BYTE: st.global.{{[buf]}}32
#b = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @bytes(%x: !tw.ptr<i8>, %c: i1) {
  %s = tw.load %x mask %c : i1 : !tw.ptr<i8> -> i8
  %sv = tw.splat %s : i8 -> tensor<128xi8, #b>
  %m = tw.splat %c : i1 -> tensor<128xi1, #b>
  %r = tw.range 0 to 128 : tensor<128xi32, #b>
  %xs = tw.splat %x : !tw.ptr<i8> -> tensor<128x!tw.ptr<i8>, #b>
  %p = tw.addptr %xs, %r : tensor<128x!tw.ptr<i8>, #b>, tensor<128xi32, #b>
  %a = tw.load %p mask %m : tensor<128xi1, #b> {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<i8>, #b> -> tensor<128xi8, #b>
  %z = arith.addi %a, %sv : tensor<128xi8, #b>
  tw.store %p, %z {tw.vector_elements = 4 : i32} : tensor<128x!tw.ptr<i8>, #b>, tensor<128xi8, #b>
  func.return
}
}
