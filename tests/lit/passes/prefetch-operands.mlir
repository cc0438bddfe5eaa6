// RUN: split-file %s %t
// RUN: sed 's/STAGES/4/' %t/product.mlir | tilewright-opt --tw-pipeline-loops --tw-prefetch-operands | FileCheck %s
// RUN: sed 's/STAGES/3/' %t/product.mlir | tilewright-opt --tw-pipeline-loops --tw-prefetch-operands | FileCheck %s --check-prefix=FEW

// The operands of the first iteration are read in front of the loop; in it the
// product comes before those of the next one, one slot further, for which one
// group of copies less may be under way.
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
// CHECK: tw.dot %[[A]], %[[B]]
// CHECK: arith.select
// CHECK: %[[NEXT:.*]] = arith.select
// CHECK: tw.buffer_slot %{{.*}}[%[[NEXT]]]
// CHECK-NEXT: %[[A1:.*]] = tw.shared_load
// CHECK: tw.buffer_slot %{{.*}}[%[[NEXT]]]
// CHECK-NEXT: %[[B1:.*]] = tw.shared_load
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
