// RUN: tilewright-opt %s --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared --tw-pipeline-loops --tw-remarks -o /dev/null 2>&1 | FileCheck %s
// RUN: sed 's/num_stages = 4/num_stages = 2/' %s | tilewright-opt --tw-select-matrix-unit --tw-assign-layouts --tw-promote-shared --tw-pipeline-loops --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROOM
// A tile that TMA brings for registers gets no ring where the operands leave no room for
// it; where it fits, it does.

// CHECK: async-load: refused (too little shared memory)
// CHECK: pipeline: applied, stages=4, slots=4, loads=2
// ROOM-NOT: too little shared memory
// ROOM: pipeline: applied, stages=2, slots=2, loads=3

module attributes {tw.num_warps = 8 : i32, tw.num_stages = 4 : i32, tw.target = "sm_90a"} {
  func.func @scaled(%a: !tw.descriptor<128x64xf16>, %b: !tw.descriptor<64x128xf16>, %s: !tw.descriptor<128x128xf32>, %n: i32) -> tensor<128x128xf32> {
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %acc = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<128x128xf32>) : i32 {
      %x = tw.descriptor_load %a[%c0, %i] : !tw.descriptor<128x64xf16> -> tensor<128x64xf16>
      %y = tw.descriptor_load %b[%i, %c0] : !tw.descriptor<64x128xf16> -> tensor<64x128xf16>
      %z = tw.descriptor_load %s[%i, %c0] : !tw.descriptor<128x128xf32> -> tensor<128x128xf32>
      %d = tw.dot %x, %y, %zero : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
      %scaled = arith.mulf %d, %z : tensor<128x128xf32>
      %next = arith.addf %sum, %scaled : tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    return %acc : tensor<128x128xf32>
  }
}
