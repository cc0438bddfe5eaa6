// Tensor maps that programs make get global memory of their own program, and shared
// memory to be put together in.
// RUN: tilewright-opt %s --tw-place-tensor-maps -split-input-file | FileCheck %s
// RUN: tilewright-opt %s --tw-place-tensor-maps --tw-remarks -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Outside of loops one slot each; both share what they are put together in. Programs
// are numbered along all axes.
// REMARK-COUNT-2: remark: tensor-map: applied, slots=1 (each program makes it in global scratch memory)
// CHECK: module attributes {tw.global_scratch_bytes = 256 : i64
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: [[SCRATCH:%[a-z0-9]+]]: !tw.ptr<i8> {tw.divisibility = 128 : i64})
// CHECK-DAG: tw.program_id 0
// CHECK-DAG: tw.program_id 1
// CHECK-DAG: tw.program_id 2
// CHECK: [[SIZE:%.*]] = arith.constant 256 : i64
// CHECK: [[OFFSET:%.*]] = arith.muli %{{.*}}, [[SIZE]]
// CHECK: [[OWN:%.*]] = tw.addptr [[SCRATCH]], [[OFFSET]]
// CHECK: [[STAGING:%.*]] = tw.alloc_shared : <128xi8
// CHECK-DAG: [[ZERO:%.*]] = arith.constant 0 : i64
// CHECK-DAG: [[FIRST:%.*]] = tw.addptr [[OWN]], [[ZERO]]
// CHECK-DAG: [[NEXT:%.*]] = arith.constant 128 : i64
// CHECK-DAG: [[SECOND:%.*]] = tw.addptr [[OWN]], [[NEXT]]
// CHECK: tw.make_descriptor {{.*}} scratch [[FIRST]] : !tw.ptr<i8> staging [[STAGING]] :
// CHECK-NOT: slots
// CHECK-NOT: follows_stores
// CHECK: tw.make_descriptor {{.*}} scratch [[SECOND]] : !tw.ptr<i8> staging [[STAGING]] :
module attributes {tw.num_warps = 4 : i32} {
func.func @twice(%x: !tw.ptr<f16>, %n: i64) {
  %d = tw.make_descriptor %x shape[%n, %n] strides[%n] : !tw.ptr<f16> -> !tw.descriptor<64x32xf16>
  %e = tw.make_descriptor %x shape[%n] strides[] {padsWithNan} : !tw.ptr<f16> -> !tw.descriptor<64xf16>
  func.return
}
}

// -----

// In a loop there are more slots than the longest ring has that TMA fills, a power of two. Stores may
// read a map that is made again, here one that went through a branch.
// REMARK: remark: tensor-map: applied, slots=8
// CHECK: module attributes {tw.global_scratch_bytes = 2048 : i64
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: tw.make_descriptor {{.*}} {followsStores, slots = 8 : i32}
// CHECK: tw.make_descriptor {{.*}} {slots = 8 : i32}
#s = #tw.shared<offset = [1, 2, 4, 8, 16]>
module attributes {tw.num_warps = 4 : i32} {
func.func @loop(%x: !tw.ptr<f32>, %out: !tw.descriptor<32xf32>, %n: i64, %trips: i32, %c: i1) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = tw.alloc_shared {tw.ring = {fill = "tma", release = "barrier"}} : !tw.buffer<32xf32, #s, 4>
  %copied = tw.alloc_shared {tw.ring = {fill = "cp.async", release = "barrier"}} : !tw.buffer<32xf32, #s, 9>
  %b = tw.alloc_shared : !tw.buffer<32xf32, #s>
  scf.for %i = %zero to %trips step %one : i32 {
    %p = tw.addptr %x, %i : !tw.ptr<f32>, i32
    %d = tw.make_descriptor %p shape[%n] strides[] : !tw.ptr<f32> -> !tw.descriptor<32xf32>
    %e = tw.make_descriptor %p shape[%n] strides[] : !tw.ptr<f32> -> !tw.descriptor<64xf32>
    %f = scf.if %c -> !tw.descriptor<32xf32> {
      scf.yield %d : !tw.descriptor<32xf32>
    } else {
      scf.yield %out : !tw.descriptor<32xf32>
    }
    tw.tma_store %f[%i], %b : !tw.descriptor<32xf32>, !tw.buffer<32xf32, #s>
  }
  func.return
}
}

// -----

// Made once, or not what is stored through: nothing to wait for.
// CHECK-LABEL: func.func @once
// CHECK: tw.make_descriptor
// CHECK-NOT: followsStores
#s = #tw.shared<offset = [1, 2, 4, 8, 16]>
module attributes {tw.num_warps = 4 : i32} {
func.func @once(%x: !tw.ptr<f32>, %n: i64, %i: i32) {
  %b = tw.alloc_shared : !tw.buffer<32xf32, #s>
  %d = tw.make_descriptor %x shape[%n] strides[] : !tw.ptr<f32> -> !tw.descriptor<32xf32>
  tw.tma_store %d[%i], %b : !tw.descriptor<32xf32>, !tw.buffer<32xf32, #s>
  func.return
}
}

// -----

// What the front end left to pointers is told, and nothing else happens.
// REMARK: kernel.py:7:3: remark: tensor-map: refused (because)
// CHECK-LABEL: func.func @pointers(%{{.*}}: !tw.ptr<f32>) {
// CHECK-NEXT: return
module {
func.func @pointers(%x: !tw.ptr<f32>) attributes {tw.pointer_descriptors = [[loc("kernel.py":7:3), "because"]]} {
  func.return
}
}
