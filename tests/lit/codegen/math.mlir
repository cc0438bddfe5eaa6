// Where each function comes from.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/single.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=SINGLE
// RUN: sed 's/tw.num_warps = 1 : i32/tw.keep_denormals, tw.num_warps = 1 : i32/' %t/single.mlir | tilewright-opt --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=KEEP
// RUN: tilewright-opt %t/library.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=LIBRARY
// RUN: tilewright-opt %t/half.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=HALF
// RUN: tilewright-opt %t/choice.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=CHOICE
// RUN: tilewright-opt %t/sign.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=SIGN
// RUN: not tilewright-opt %t/libdevice.mlir --tw-emit-ptx=target=sm_80 -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: tilewright-opt %t/nan.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=NAN
// RUN: tilewright-opt %t/fuse.mlir --tw-emit-ptx=target=sm_80 -o /dev/null | FileCheck %s --check-prefix=FUSE
// RUN: tilewright-opt %t/fuse.mlir "--tw-emit-ptx=target=sm_80 fuse=false" -o /dev/null | FileCheck %s --check-prefix=NOFUSE

//--- single.mlir
// SINGLE: mul.f32 {{.*}}, 0f3FB8AA3B
// SINGLE: ex2.approx.ftz.f32
// SINGLE: ex2.approx.ftz.f32
// KEEP-COUNT-2: ex2.approx.f32
// SINGLE: sqrt.approx.f32
// SINGLE: sqrt.rn.f32
// SINGLE: rsqrt.approx.f32
// SINGLE: div.full.f32
// SINGLE: div.rn.f32
// SINGLE: cvt.rmi.f32.f32
module attributes {tw.num_warps = 1 : i32} {
func.func @single(%p: !tw.ptr<f32>, %x: f32, %y: f32) {
  %0 = math.exp %x : f32
  tw.store %p, %0 : !tw.ptr<f32>, f32
  %1 = math.exp2 %x : f32
  tw.store %p, %1 : !tw.ptr<f32>, f32
  %2 = math.sqrt %x : f32
  tw.store %p, %2 : !tw.ptr<f32>, f32
  %3 = tw.precise_sqrt %x : f32
  tw.store %p, %3 : !tw.ptr<f32>, f32
  %4 = math.rsqrt %x : f32
  tw.store %p, %4 : !tw.ptr<f32>, f32
  %5 = arith.divf %x, %y : f32
  tw.store %p, %5 : !tw.ptr<f32>, f32
  %6 = tw.precise_div %x, %y : f32
  tw.store %p, %6 : !tw.ptr<f32>, f32
  %7 = math.floor %x : f32
  tw.store %p, %7 : !tw.ptr<f32>, f32
  func.return
}
}

//--- library.mlir
// The device library is inlined; only the remainder of huge quotients is a call.
// LIBRARY-NOT: .extern
// LIBRARY: .entry library
// LIBRARY: call.uni
// LIBRARY-NEXT: remainderLarge
// LIBRARY-NOT: call.uni
// LIBRARY-NOT: lg2.approx
// LIBRARY-NOT: __tw_
module attributes {tw.num_warps = 1 : i32} {
func.func @library(%p: !tw.ptr<f32>, %x: f32, %y: f32) {
  %0 = math.sin %x : f32
  tw.store %p, %0 : !tw.ptr<f32>, f32
  %1 = math.log %x : f32
  tw.store %p, %1 : !tw.ptr<f32>, f32
  %5 = math.log2 %x : f32
  tw.store %p, %5 : !tw.ptr<f32>, f32
  %2 = math.erf %x : f32
  tw.store %p, %2 : !tw.ptr<f32>, f32
  %3 = math.tanh %x : f32
  tw.store %p, %3 : !tw.ptr<f32>, f32
  %4 = arith.remf %x, %y : f32
  tw.store %p, %4 : !tw.ptr<f32>, f32
  func.return
}
}

//--- libdevice.mlir
// MISSING: error: the kernel calls 'exp' of libdevice, which was not found; install the CUDA toolkit
module attributes {tw.num_warps = 1 : i32} {
func.func @libdevice(%p: !tw.ptr<f64>, %x: f64) {
  %0 = math.exp %x : f64
  tw.store %p, %0 : !tw.ptr<f64>, f64
  func.return
}
}

//--- nan.mlir
// NAN: max.f32
// NAN: max.NaN.f32
module attributes {tw.num_warps = 1 : i32} {
func.func @nan(%p: !tw.ptr<f32>, %x: f32, %y: f32) {
  %0 = arith.maxnumf %x, %y : f32
  tw.store %p, %0 : !tw.ptr<f32>, f32
  %1 = arith.maximumf %x, %y : f32
  tw.store %p, %1 : !tw.ptr<f32>, f32
  func.return
}
}

//--- fuse.mlir
// FUSE: fma.rn.f32
// Rounding modes spelled out keep the assembler from contracting.
// NOFUSE: mul.rn.f32
// NOFUSE: add.rn.f32
module attributes {tw.num_warps = 1 : i32} {
func.func @fuse(%p: !tw.ptr<f32>, %x: f32, %y: f32) {
  %0 = arith.mulf %x, %y : f32
  %1 = arith.addf %0, %y : f32
  tw.store %p, %1 : !tw.ptr<f32>, f32
  func.return
}
}

//--- choice.mlir
// A choice between two conditions stays one: three predicates, no numbers.
// CHOICE-COUNT-3: setp
// CHOICE-NOT: selp.{{.*}} -1
// CHOICE: or.pred
// CHOICE: st.global
module attributes {tw.num_warps = 1 : i32} {
func.func @choice(%p: !tw.ptr<f32>, %x: f32, %y: f32, %z: f32) {
  %0 = arith.cmpf olt, %x, %y : f32
  %1 = arith.cmpf olt, %y, %z : f32
  %2 = arith.cmpf olt, %z, %x : f32
  %3 = arith.select %0, %1, %2 : i1
  tw.store %p, %x mask %3 : i1 : !tw.ptr<f32>, f32
  func.return
}
}

//--- sign.mlir
// The sign of one number on another is one instruction, not a selection.
// SIGN-NOT: selp
// SIGN-DAG: ld.param.f32 %[[SIZE:f[0-9]+]], [{{.*}}param_2];
// SIGN-DAG: ld.param.f32 %[[SIGN:f[0-9]+]], [{{.*}}param_3];
// SIGN: copysign.f32 %f{{[0-9]+}}, %[[SIGN]], %[[SIZE]];
// SIGN: copysign.f64
// SIGN-NOT: selp
module attributes {tw.num_warps = 1 : i32} {
func.func @sign(%p: !tw.ptr<f32>, %q: !tw.ptr<f64>, %x: f32, %y: f32, %z: f64) {
  %0 = math.copysign %x, %y : f32
  tw.store %p, %0 : !tw.ptr<f32>, f32
  %1 = arith.extf %y : f32 to f64
  %2 = math.copysign %1, %z : f64
  tw.store %q, %2 : !tw.ptr<f64>, f64
  func.return
}
}

//--- half.mlir
// |x| written for f32 and rounded to f16 is that of f16, without conversions.
// HALF-NOT: cvt
// HALF: abs.f16
// HALF-NOT: cvt
// HALF: ret;
module attributes {tw.num_warps = 1 : i32} {
func.func @half(%p: !tw.ptr<f16>, %x: f16) {
  %0 = arith.extf %x : f16 to f32
  %1 = math.absf %0 : f32
  %2 = arith.truncf %1 : f32 to f16
  tw.store %p, %2 : !tw.ptr<f16>, f16
  func.return
}
}
