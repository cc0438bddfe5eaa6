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
  // CHECK: tw.splat %{{.*}} : f32 -> tensor<4x4xf32, #tw.layout<register = [1, 2], lane = [4, 8], warp = [], block = []>>
  %1 = tw.splat %x : f32 -> tensor<4x4xf32, #row>
  return %0, %1 : tensor<8xi32>, tensor<4x4xf32, #row>
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<4x8xf32>, %y: tensor<8xf32>) {
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
  // CHECK: tw.store %{{.*}}, %{{.*}} mask %{{.*}} : tensor<8xi1> : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  tw.store %1, %2 mask %m : tensor<8xi1> : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  // CHECK: tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %{{.*}}, %{{.*}} : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  %3 = tw.atomic_rmw <fadd>, <acq_rel>, <gpu>, %p, %o : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  // CHECK: tw.atomic_cas <acquire>, <sys>, %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  %4 = tw.atomic_cas <acquire>, <sys>, %p, %o, %o : tensor<8x!tw.ptr<f32>>, tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @across
func.func @across(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
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
  return %0, %1 : tensor<4xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @debug
func.func @debug(%x: tensor<8xf32>, %c: i1) {
  // CHECK: tw.print "x" hex %{{.*}} : tensor<8xf32>
  tw.print "x" hex %x : tensor<8xf32> {isSigned = array<i1: true>}
  // CHECK: tw.assert %{{.*}}, "positive" : i1
  tw.assert %c, "positive" : i1
  // CHECK: tw.barrier
  tw.barrier
  // CHECK: tw.hint %{{.*}} divisibility [16] : tensor<8xf32>
  %0 = tw.hint %x divisibility [16] : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @sharedDot
func.func @sharedDot(%a: !tw.buffer<2x4xf32, #tw.shared<offset = [1, 2, 4]>>,
                     %b: !tw.buffer<4x2xf32, #tw.shared<offset = [1, 2, 4]>>, %c: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // CHECK: tw.shared_dot %{{.*}}, %{{.*}}, %{{.*}} warps [1, 0] : <2x4xf32, {{.*}}>, <4x2xf32, {{.*}}>, tensor<2x2xf32>
  %0 = tw.shared_dot %a, %b, %c warps [1, 0]
      : !tw.buffer<2x4xf32, #tw.shared<offset = [1, 2, 4]>>, !tw.buffer<4x2xf32, #tw.shared<offset = [1, 2, 4]>>, tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
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
  return %0, %1, %2 : tensor<8xf32>, tensor<8xi16>, i64
}
