// Loops without products that ask for stages copy ahead what they load, without barriers.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/sum.mlir --tw-pipeline-loops | FileCheck %s
// RUN: sed 's/{tw.loop_stages = 3 : i32}//' %t/sum.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME
// RUN: sed 's/loop_stages = 3/loop_stages = 1/' %t/sum.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME
// RUN: sed 's/{tw.vector_elements = 4 : i32}/{isVolatile, tw.vector_elements = 4 : i32}/' %t/sum.mlir | tilewright-opt --tw-pipeline-loops | FileCheck %s --check-prefix=SAME

// A scalar beside them is loaded ahead, into a register.
// RUN: sed 's/%next = arith.addf %%sum, %x/%at = tw.addptr %w, %k : !tw.ptr<f32>, i32\n %one_of = tw.load %at : !tw.ptr<f32> -> f32\n %factor = tw.splat %one_of : f32 -> tensor<512xf32, #row>\n %y = arith.mulf %x, %factor : tensor<512xf32, #row>\n %next = arith.addf %%sum, %y/' %t/sum.mlir | tilewright-opt --tw-print-loop-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: schedule: stream, 2 ahead
// SCALAR: load 1 tiles into registers @0

// Three slots; the copies of two iterations before the loop.
// CHECK: %[[RING:.*]] = tw.alloc_shared {tw.ring = {fill = "own cp.async", release = "none"}} : <512xf32, {{.*}}, 3>
// CHECK: tw.async_copy
// CHECK: tw.async_commit
// CHECK: tw.async_copy
// CHECK: tw.async_commit
// CHECK: scf.for
// CHECK: tw.async_wait 1
// CHECK-NOT: tw.barrier
// CHECK: tw.async_copy
// CHECK: tw.async_commit
// CHECK-NEXT: %[[X:.*]] = tw.shared_load %{{.*}} {isOwn}
// What cp.async fills with zeros becomes what the source says.
// CHECK-NEXT: %[[Y:.*]] = arith.select %{{.*}}, %[[X]], %{{.*}}
// CHECK-NEXT: arith.addf %{{.*}}, %[[Y]]
// CHECK-NOT: tw.barrier
// CHECK: scf.yield
// CHECK: tw.async_wait 0

// SAME-NOT: tw.async_copy

//--- sum.mlir
#row = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @sum(%p: tensor<512x!tw.ptr<f32>, #row>, %m: tensor<512xi1, #row>, %w: !tw.ptr<f32>, %n: i32) -> tensor<512xf32, #row> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #row>
    %one = arith.constant dense<1.0> : tensor<512xf32, #row>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<512xf32, #row>) : i32 {
      %off = tw.splat %k : i32 -> tensor<512xi32, #row>
      %a = tw.addptr %p, %off : tensor<512x!tw.ptr<f32>, #row>, tensor<512xi32, #row>
      %x = tw.load %a mask %m : tensor<512xi1, #row> other %one : tensor<512xf32, #row> {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #row> -> tensor<512xf32, #row>
      %next = arith.addf %sum, %x : tensor<512xf32, #row>
      scf.yield %next : tensor<512xf32, #row>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<512xf32, #row>
  }
}
