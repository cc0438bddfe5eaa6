// Functions and assembly of the user, group by group of a thread's registers.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/packed.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=PACKED
// RUN: tilewright-opt %t/bits.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=BITS
// RUN: tilewright-opt %t/map.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=MAP

//--- packed.mlir
// Two elements of 16 bits share a register, straight from the load.
// PACKED: ld.global.v4.u32 {%r[[A:[0-9]+]],
// PACKED-COUNT-4: add.f16x2 %r
// PACKED-NOT: add.f16x2
// PACKED: st.global.v4.u32
#l = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @packed(%p: !tw.ptr<f16> {tw.divisibility = 16 : i64}) {
  %s = tw.splat %p : !tw.ptr<f16> -> tensor<256x!tw.ptr<f16>, #l>
  %r = tw.range 0 to 256 : tensor<256xi32, #l>
  %q = tw.addptr %s, %r : tensor<256x!tw.ptr<f16>, #l>, tensor<256xi32, #l>
  %x = tw.load %q {tw.vector_elements = 8 : i32} : tensor<256x!tw.ptr<f16>, #l> -> tensor<256xf16, #l>
  %y = tw.inline_asm "add.f16x2 $0, $1, $1;", "=r,r" pack 2 pure(%x) : (tensor<256xf16, #l>) -> tensor<256xf16, #l>
  tw.store %q, %y {tw.vector_elements = 8 : i32} : tensor<256x!tw.ptr<f16>, #l>, tensor<256xf16, #l>
  func.return
}
}

//--- bits.mlir
// The constraint decides how a float arrives; what is not pure stays, unused too.
// BITS: xor.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 1;
// BITS: add.f32 %f
// BITS: griddepcontrol.wait;
module attributes {tw.num_warps = 1 : i32} {
func.func @bits(%p: !tw.ptr<f32>, %x: f32) {
  %0 = tw.inline_asm "xor.b32 $0, $1, 1;", "=r,r" pack 1 pure(%x) : (f32) -> f32
  %1 = tw.inline_asm "add.f32 $0, $1, 0f3F800000;", "=f,f" pack 1 pure(%0) : (f32) -> f32
  %2 = tw.inline_asm "griddepcontrol.wait; // $0", "=r" pack 1() : () -> i32
  tw.store %p, %1 : !tw.ptr<f32>, f32
  func.return
}
}

//--- map.mlir
// The region once per register, with its branches.
// MAP-COUNT-2: bra
// MAP: st.global.v2
#l = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @map(%p: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
  %s = tw.splat %p : !tw.ptr<f32> -> tensor<64x!tw.ptr<f32>, #l>
  %r = tw.range 0 to 64 : tensor<64xi32, #l>
  %q = tw.addptr %s, %r : tensor<64x!tw.ptr<f32>, #l>, tensor<64xi32, #l>
  %x = tw.load %q {tw.vector_elements = 2 : i32} : tensor<64x!tw.ptr<f32>, #l> -> tensor<64xf32, #l>
  %y = tw.map %x pack 1 {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %root = scf.while (%b = %a) : (f32) -> f32 {
      %more = arith.cmpf ogt, %b, %one : f32
      scf.condition(%more) %b : f32
    } do {
    ^bb0(%b: f32):
      %next = math.sqrt %b : f32
      %less = arith.subf %next, %one : f32
      scf.yield %less : f32
    }
    tw.yield %root : f32
  } : (tensor<64xf32, #l>) -> tensor<64xf32, #l>
  tw.store %q, %y {tw.vector_elements = 2 : i32} : tensor<64x!tw.ptr<f32>, #l>, tensor<64xf32, #l>
  func.return
}
}
