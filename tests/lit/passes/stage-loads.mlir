// Loads after a reduction start before it where a multiprocessor holds one block.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/norm.mlir --tw-stage-loads --tw-remarks 2>&1 | FileCheck %s
// RUN: sed 's/\/\/ STORE/tw.store %base, %x : tensor<32768x!tw.ptr<f32>, #row>, tensor<32768xf32, #row>/' %t/norm.mlir | tilewright-opt --tw-stage-loads | FileCheck %s --check-prefix=SAME
// RUN: sed 's/num_warps = 32/num_warps = 16/; s/, 8192, 16384\], lane/, 8192], lane/; s/32768x/16384x/g; s/1024, 2048, 4096\]/1024, 2048]/' %t/norm.mlir | tilewright-opt --tw-stage-loads | FileCheck %s --check-prefix=SAME
// RUN: sed 's/%w {tw.vector_elements = 4/%w {tw.vector_elements = 2/' %t/norm.mlir | tilewright-opt --tw-stage-loads --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: sed 's/%z = tw.load %w {/%z = tw.load %w mask %m : tensor<32768xi1, #row> other %o : tensor<32768xf32, #row> {/; s/%i: tensor<32768xi32, #row>)/%i: tensor<32768xi32, #row>, %m: tensor<32768xi1, #row>, %o: tensor<32768xf32, #row>)/' %t/norm.mlir | tilewright-opt --tw-stage-loads --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER

// NARROW: stage-load: refused, bytes=131072 (its accesses are narrow)
// OTHER: stage-load: refused, bytes=131072 (`other` is not zero)

// The first has room, the second has none and stays where it was.
// CHECK: remark: {{.*}}stage-load{{.*}}too little shared memory
// CHECK: %[[X:.*]] = tw.load
// CHECK: tw.addptr
// CHECK: %[[B:.*]] = tw.alloc_shared
// CHECK: tw.async_copy %{{.*}}, %[[B]] {tw.vector_elements = 4
// CHECK: tw.async_commit
// CHECK: tw.reduce
// CHECK: tw.async_wait 0
// CHECK: tw.shared_load %[[B]] {isOwn}
// CHECK: tw.load
// CHECK: return

// A store in between may be of the same memory; with 16 warps another block computes
// meanwhile.
// SAME-NOT: tw.async_copy

//--- norm.mlir
#row = #tw.layout<register = [1, 2, 4096, 8192, 16384], lane = [4, 8, 16, 32, 64], warp = [128, 256, 512, 1024, 2048], block = []>
module attributes {tw.num_warps = 32 : i32} {
  func.func @norm(%base: tensor<32768x!tw.ptr<f32>, #row>, %w: tensor<32768x!tw.ptr<f32>, #row>, %i: tensor<32768xi32, #row>)
      -> (tensor<32768xf32, #row>, tensor<32768xf32, #row>) {
    %x = tw.load %base {tw.vector_elements = 4 : i32} : tensor<32768x!tw.ptr<f32>, #row> -> tensor<32768xf32, #row>
    %sum = tw.reduce %x axis 0 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tw.yield %c : f32
    } : (tensor<32768xf32, #row>) -> f32
    // STORE
    %wi = tw.addptr %w, %i : tensor<32768x!tw.ptr<f32>, #row>, tensor<32768xi32, #row>
    %y = tw.load %wi {tw.vector_elements = 4 : i32} : tensor<32768x!tw.ptr<f32>, #row> -> tensor<32768xf32, #row>
    %z = tw.load %w {tw.vector_elements = 4 : i32} : tensor<32768x!tw.ptr<f32>, #row> -> tensor<32768xf32, #row>
    %all = tw.splat %sum : f32 -> tensor<32768xf32, #row>
    %0 = arith.divf %x, %all : tensor<32768xf32, #row>
    %1 = arith.mulf %0, %y : tensor<32768xf32, #row>
    %2 = arith.mulf %0, %z : tensor<32768xf32, #row>
    return %1, %2 : tensor<32768xf32, #row>, tensor<32768xf32, #row>
  }
}
