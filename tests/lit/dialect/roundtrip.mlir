// Every op prints and parses back to itself.
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s

#row = #tw.layout<register = [1, 2], lane = [4, 8], warp = [], block = []>

// CHECK-LABEL: func.func @programs
func.func @programs() -> (i32, i32) {
  // CHECK: tw.program_id 0 : i32
  %0 = tw.program_id 0 : i32
  // CHECK: tw.num_programs 2 : i32
  %1 = tw.num_programs 2 : i32
  return %0, %1 : i32, i32
}

// CHECK-LABEL: func.func @creation
func.func @creation(%x: f32) -> (tensor<8xi32>, tensor<4x4xf32, #row>) {
  // CHECK: tw.range 8 to 16 : tensor<8xi32>
  %0 = tw.range 8 to 16 : tensor<8xi32>
  // CHECK: tw.splat %{{.*}} : f32 -> tensor<4x4xf32>
  %2 = tw.splat %x : f32 -> tensor<4x4xf32>
  // CHECK: tw.splat %{{.*}} : f32 -> tensor<4x4xf32, #tw.layout<register = [1, 2], lane = [4, 8], warp = [], block = []>>
  %1 = tw.splat %x : f32 -> tensor<4x4xf32, #row>
  return %0, %1 : tensor<8xi32>, tensor<4x4xf32, #row>
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %one: tensor<1xf32>) {
  // CHECK: tw.expand_dims %{{.*}}, 0 : tensor<8xf32> -> tensor<1x8xf32>
  %0 = tw.expand_dims %y, 0 : tensor<8xf32> -> tensor<1x8xf32>
  // CHECK: tw.broadcast %{{.*}} : tensor<1x8xf32> -> tensor<4x8xf32>
  %1 = tw.broadcast %0 : tensor<1x8xf32> -> tensor<4x8xf32>
  // CHECK: tw.reshape %{{.*}} : tensor<4x8xf32> -> tensor<2x16xf32>
  %2 = tw.reshape %1 : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK: tw.reshape %{{.*}} may_reorder : tensor<4x8xf32> -> tensor<32xf32>
  %3 = tw.reshape %1 may_reorder : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: tw.permute %{{.*}} [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %4 = tw.permute %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: tw.join %{{.*}}, %{{.*}} : tensor<8xf32> -> tensor<8x2xf32>
  %5 = tw.join %y, %y : tensor<8xf32> -> tensor<8x2xf32>
  // CHECK: tw.split %{{.*}} : tensor<8x2xf32> -> tensor<8xf32>, tensor<8xf32>
  %6, %7 = tw.split %5 : tensor<8x2xf32> -> tensor<8xf32>, tensor<8xf32>
  // CHECK: tw.concat %{{.*}}, %{{.*}} : tensor<8xf32> -> tensor<16xf32>
  %8 = tw.concat %6, %7 : tensor<8xf32> -> tensor<16xf32>
  // CHECK: tw.extract_scalar %{{.*}} : tensor<1xf32> -> f32
  %9 = tw.extract_scalar %one : tensor<1xf32> -> f32
  return
}

// CHECK-LABEL: func.func @memory
func.func @memory(%p: tensor<8x!tw.ptr<f32>>, %m: tensor<8xi1>, %o: tensor<8xf32>, %i: tensor<8xi32>) {
  // CHECK: tw.addptr %{{.*}}, %{{.*}} : tensor<8x!tw.ptr<f32>>, tensor<8xi32>
  %0 = tw.addptr %p, %i : tensor<8x!tw.ptr<f32>>, tensor<8xi32>
  // CHECK: tw.addptr %{{.*}}, %{{.*}} unsigned : tensor<8x!tw.ptr<f32>>, tensor<8xi32>
  %1 = tw.addptr %p, %i unsigned : tensor<8x!tw.ptr<f32>>, tensor<8xi32>
  // CHECK: tw.load %{{.*}} mask %{{.*}} : tensor<8xi1> other %{{.*}} : tensor<8xf32> {eviction = #tw.eviction<evict_first>}
  %2 = tw.load %0 mask %m : tensor<8xi1> other %o : tensor<8xf32> {eviction = #tw.eviction<evict_first>}
    : tensor<8x!tw.ptr<f32>> -> tensor<8xf32>
  // CHECK: tw.load %{{.*}} mask %{{.*}} : tensor<8xi1> other %{{.*}} : tensor<8xf32> : tensor<8x!tw.ptr<f32>>
  %5 = tw.load %p mask %m : tensor<8xi1> other %o : tensor<8xf32> : tensor<8x!tw.ptr<f32>> -> tensor<8xf32>
  // CHECK: tw.store %{{.*}}, %{{.*}} mask %{{.*}} : tensor<8xi1> : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  tw.store %1, %2 mask %m : tensor<8xi1> : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  // CHECK: tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %{{.*}}, %{{.*}} : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  %3 = tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %p, %o : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  // CHECK: tw.atomic_cas <acquire>, <sys>, %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  %4 = tw.atomic_cas <acquire>, <sys>, %p, %o, %o : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @across
func.func @across(%x: tensor<4x8xf32>, %n: tensor<4x2xi32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  // CHECK: tw.reduce %{{.*}} axis 1
  %0 = tw.reduce %x axis 1 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    // CHECK: tw.yield %{{.*}} : f32
    tw.yield %s : f32
  } : (tensor<4x8xf32>) -> tensor<4xf32>
  // CHECK: tw.scan %{{.*}} axis 0 reverse
  %1 = tw.scan %x axis 0 reverse {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tw.yield %s : f32
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: tw.gather %{{.*}}[%{{.*}}] axis 1 : tensor<4x8xf32>, tensor<4x2xi32> -> tensor<4x2xf32>
  %2 = tw.gather %x[%n] axis 1 : tensor<4x8xf32>, tensor<4x2xi32> -> tensor<4x2xf32>
  return %0, %1 : tensor<4xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @counts
func.func @counts(%n: tensor<64xi32>, %m: tensor<64xi1>) {
  // CHECK: tw.histogram %{{.*}} mask %{{.*}} : tensor<64xi1> : tensor<64xi32> -> tensor<16xi32>
  %0 = tw.histogram %n mask %m : tensor<64xi1> : tensor<64xi32> -> tensor<16xi32>
  return
}

// CHECK-LABEL: func.func @debug
func.func @debug(%x: tensor<8xf32>, %c: i1) {
  // CHECK: tw.print " x: " hex %{{.*}} : tensor<8xf32>
  tw.print " x: " hex %x : tensor<8xf32> {isSigned = array<i1: true>}
  // CHECK: tw.assert %{{.*}}, "positive" : i1
  tw.assert %c, "positive" : i1
  // CHECK: tw.assume %
  tw.assume %c
  // CHECK: tw.cluster_arrive
  tw.cluster_arrive
  // CHECK: tw.cluster_wait
  tw.cluster_wait
  // CHECK: tw.barrier{{$}}
  tw.barrier
  // CHECK: tw.barrier all_blocks
  tw.barrier all_blocks
  // CHECK: tw.hint %{{.*}} divisibility [16] : tensor<8xf32>
  %0 = tw.hint %x divisibility [16] : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<8xf32>, %p: tensor<8x!tw.ptr<f32>>, %i: tensor<8xi32>) {
  // CHECK: tw.float_cast %{{.*}} : tensor<8xf32> -> tensor<8xf8E4M3FN>
  %0 = tw.float_cast %x : tensor<8xf32> -> tensor<8xf8E4M3FN>
  // CHECK: tw.float_cast %{{.*}} {rounding = #tw.rounding<toward_zero>} : tensor<8xf32> -> tensor<8xbf16>
  %1 = tw.float_cast %x {rounding = #tw.rounding<toward_zero>} : tensor<8xf32> -> tensor<8xbf16>
  // CHECK: tw.ptr_to_int %{{.*}} : tensor<8x!tw.ptr<f32>> -> tensor<8xi64>
  %2 = tw.ptr_to_int %p : tensor<8x!tw.ptr<f32>> -> tensor<8xi64>
  // CHECK: tw.int_to_ptr %{{.*}} : tensor<8xi64> -> tensor<8x!tw.ptr<f32>>
  %3 = tw.int_to_ptr %2 : tensor<8xi64> -> tensor<8x!tw.ptr<f32>>
  // CHECK: tw.bitcast %{{.*}} : tensor<8xf32> -> tensor<8xi32>
  %4 = tw.bitcast %x : tensor<8xf32> -> tensor<8xi32>
  // CHECK: tw.mul_high %{{.*}}, %{{.*}} signed : tensor<8xi32>
  %5 = tw.mul_high %i, %i signed : tensor<8xi32>
  // CHECK: tw.precise_sqrt %{{.*}} : tensor<8xf32>
  %6 = tw.precise_sqrt %x : tensor<8xf32>
  // CHECK: tw.precise_div %{{.*}}, %{{.*}} : tensor<8xf32>
  %7 = tw.precise_div %x, %x : tensor<8xf32>
  // CHECK: tw.opaque %{{.*}} : tensor<8xf32>
  %8 = tw.opaque %x : tensor<8xf32>
  // CHECK: tw.opaque %{{.*}} for %{{.*}} : tensor<8xf32>, i32
  %9 = arith.constant 3 : i32
  %10 = tw.opaque %x for %9 : tensor<8xf32>, i32
  return
}

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>) {
  // CHECK: tw.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>
  %0 = tw.dot %a, %b, %c : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>
  return
}

// CHECK-LABEL: func.func @descriptors
func.func @descriptors(%p: !tw.ptr<f16>, %n: i64, %i: i32, %j: i32) {
  // CHECK: tw.make_descriptor %{{.*}} shape[%{{.*}}, %{{.*}}] strides[%{{.*}}] : <f16> -> <64x32xf16>
  %0 = tw.make_descriptor %p shape[%n, %n] strides[%n] : !tw.ptr<f16> -> !tw.descriptor<64x32xf16>
  // CHECK: tw.descriptor_load %{{.*}}[%{{.*}}, %{{.*}}] : <64x32xf16> -> tensor<64x32xf16>
  %1 = tw.descriptor_load %0[%i, %j] : !tw.descriptor<64x32xf16> -> tensor<64x32xf16>
  // CHECK: tw.descriptor_store %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} : <64x32xf16>, tensor<64x32xf16>
  tw.descriptor_store %0[%i, %j], %1 : !tw.descriptor<64x32xf16>, tensor<64x32xf16>
  // CHECK: tw.descriptor_store %{{.*}} {reduction = #tw.atomic<fadd>}
  tw.descriptor_store %0[%i, %j], %1 {reduction = #tw.atomic<fadd>} : !tw.descriptor<64x32xf16>, tensor<64x32xf16>
  return
}

// CHECK-LABEL: func.func @elements
func.func @elements(%x: tensor<8xf32>, %y: tensor<8xi16>) -> (tensor<8xf32>, tensor<8xi16>, i64) {
  // CHECK: tw.map %{{.*}}, %{{.*}} pack 1 {
  // CHECK: } : (tensor<8xf32>, tensor<8xi16>) -> tensor<8xf32>
  %0 = tw.map %x, %y pack 1 {
  ^bb0(%a: f32, %b: i16):
    tw.yield %a : f32
  } : (tensor<8xf32>, tensor<8xi16>) -> tensor<8xf32>
  // CHECK: tw.inline_asm "add.s16x2 $0, $1, $1;", "=r,r" pack 2 pure(%{{.*}}) : (tensor<8xi16>) -> tensor<8xi16>
  %1 = tw.inline_asm "add.s16x2 $0, $1, $1;", "=r,r" pack 2 pure(%y) : (tensor<8xi16>) -> tensor<8xi16>
  // CHECK: tw.inline_asm "mov.u64 $0, %globaltimer;", "=l" pack 1() : () -> i64
  %2 = tw.inline_asm "mov.u64 $0, %globaltimer;", "=l" pack 1() : () -> i64
  // CHECK: tw.extern_call "__nv_sinf"(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = tw.extern_call "__nv_sinf"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xi16>, i64
}
