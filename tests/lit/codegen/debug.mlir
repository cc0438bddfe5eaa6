// Printing, assertions and line information.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/print.mlir --tw-emit-ptx=llvm -o /dev/null | FileCheck %s --check-prefix=PRINT
// RUN: tilewright-opt %t/assert.mlir --tw-emit-ptx -o /dev/null | FileCheck %s --check-prefix=ASSERT
// RUN: tilewright-opt %t/lines.mlir --tw-emit-ptx=lines -o /dev/null | FileCheck %s --check-prefix=LINES

//--- print.mlir
// A literal percent sign is not a conversion; a scalar is printed by thread 0.
// An index is as wide as the largest of its axis.
// PRINT-DAG: c"pid (%u, %u, %u) idx (%2u) 100%%: %d\0A\00"
// PRINT-DAG: c"pid (%u, %u, %u) idx (%2u) h: 0x%08x\0A\00"
// PRINT-DAG: c"pid (%u, %u, %u) idx () x: %f\0A\00"
// PRINT: call {{.*}}@vprintf
#b = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
module attributes {tw.num_warps = 1 : i32} {
func.func @print(%x: f32) {
  %r = tw.range 0 to 32 : tensor<32xi32, #b>
  tw.print " 100%: " %r : tensor<32xi32, #b> {isSigned = array<i1: true>}
  tw.print " h: " hex %r : tensor<32xi32, #b> {isSigned = array<i1: true>}
  tw.print " x: " %x : f32 {isSigned = array<i1: true>}
  func.return
}
}

//--- assert.mlir
// ASSERT: .extern .func __assertfail
// ASSERT: setp
// ASSERT: bra
// ASSERT: __assertfail
module attributes {tw.num_warps = 1 : i32} {
func.func @assert(%c: i1) {
  tw.assert %c, "n is positive" : i1
  func.return
}
}

//--- lines.mlir
// LINES: .loc [[FILE:[0-9]+]] 12 3
// LINES: .loc [[HELPER:[0-9]+]] 40 7
// LINES-DAG: .file [[FILE]] "/home/user/kernel.py"
// LINES-DAG: .file [[HELPER]] "/home/user/helpers.py"
// No DWARF: .loc is enough for profilers and messages.
// LINES-NOT: .debug_info
module attributes {tw.num_warps = 1 : i32} {
func.func @lines(%p: !tw.ptr<f32>) {
  %v = tw.load %p : !tw.ptr<f32> -> f32 loc(#load)
  %w = math.sqrt %v : f32 loc(#inlined)
  tw.store %p, %w : !tw.ptr<f32>, f32 loc(#load)
  func.return loc(#load)
} loc(#kernel)
}
#kernel = loc("/home/user/kernel.py":10:1)
#load = loc("/home/user/kernel.py":12:3)
#helper = loc("helper"("/home/user/helpers.py":40:7))
#inlined = loc(callsite(#helper at #load))
