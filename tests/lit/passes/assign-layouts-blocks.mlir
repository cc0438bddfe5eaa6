// Layouts of programs that span two blocks. 4 warps of 32 lanes.
// RUN: tilewright-opt %s --split-input-file --tw-assign-layouts --tw-verify-layouts | FileCheck %s
// RUN: tilewright-opt %s --split-input-file --tw-assign-layouts --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The upper half of a row belongs to the second block; a barrier of the program is one
// of all blocks. Half as many elements: copies, since every thread has its own already.
// CHECK-LABEL: @row
// CHECK: tw.load {{.*}} -> tensor<1024xf32, #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = [512]>>
// CHECK: tw.barrier all_blocks
// CHECK: tw.store {{.*}} tensor<16xf32, #tw.layout<register = [], lane = [1, 2, 4, 8, 0], warp = [0, 0], block = [0]>>
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @row(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32>) {
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    tw.barrier
    tw.store %xp, %v : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    %s = tw.range 0 to 16 : tensor<16xi32>
    %ys = tw.splat %y : !tw.ptr<f32> -> tensor<16x!tw.ptr<f32>>
    %yp = tw.addptr %ys, %s : tensor<16x!tw.ptr<f32>>, tensor<16xi32>
    %one = arith.constant dense<1.0> : tensor<16xf32>
    tw.store %yp, %one : tensor<16x!tw.ptr<f32>>, tensor<16xf32>
    return
  }
}

// -----
// A scan is made whole by each block.
// CHECK-LABEL: @scan
// CHECK: tw.load {{.*}}block = [512]>>
// CHECK: %[[WHOLE:.*]] = tw.convert_layout {{.*}}block = [512]>> -> tensor<1024xf32, #tw.layout<register = [1, 2, 512], {{.*}}block = [0]>>
// CHECK: tw.scan %[[WHOLE]]
// REMARK: remark: layout-conversion: applied, bytes=4096 (across-blocks: values cross blocks of a cluster; 2048 bytes, write vectors of 4, read vectors of 4)
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @scan(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %r = tw.range 0 to 1024 : tensor<1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %r : tensor<1024x!tw.ptr<f32>>, tensor<1024xi32>
    %v = tw.load %xp : tensor<1024x!tw.ptr<f32>> -> tensor<1024xf32>
    %0 = tw.scan %v axis 0 {
    ^bb0(%l: f32, %u: f32):
      %c = arith.addf %l, %u : f32
      tw.yield %c : f32
    } : (tensor<1024xf32>) -> tensor<1024xf32>
    tw.store %xp, %0 : tensor<1024x!tw.ptr<f32>>, tensor<1024xf32>
    return
  }
}

// -----
// Rows go to blocks first: row sums stay within a block.
// CHECK-LABEL: @rows
// CHECK: tw.load {{.*}} -> tensor<4x1024xf32, #tw.layout<{{.*}}block = [2048]>>
// CHECK-NOT: tw.convert_layout
module attributes {tw.num_warps = 4 : i32, tw.num_ctas = 2 : i32} {
  func.func @rows(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}) {
    %i = tw.range 0 to 4 : tensor<4xi32>
    %j = tw.range 0 to 1024 : tensor<1024xi32>
    %i2 = tw.expand_dims %i, 1 : tensor<4xi32> -> tensor<4x1xi32>
    %j2 = tw.expand_dims %j, 0 : tensor<1024xi32> -> tensor<1x1024xi32>
    %width = arith.constant dense<1024> : tensor<4x1xi32>
    %start = arith.muli %i2, %width : tensor<4x1xi32>
    %ib = tw.broadcast %start : tensor<4x1xi32> -> tensor<4x1024xi32>
    %jb = tw.broadcast %j2 : tensor<1x1024xi32> -> tensor<4x1024xi32>
    %o = arith.addi %ib, %jb : tensor<4x1024xi32>
    %xs = tw.splat %x : !tw.ptr<f32> -> tensor<4x1024x!tw.ptr<f32>>
    %xp = tw.addptr %xs, %o : tensor<4x1024x!tw.ptr<f32>>, tensor<4x1024xi32>
    %v = tw.load %xp : tensor<4x1024x!tw.ptr<f32>> -> tensor<4x1024xf32>
    %0 = tw.reduce %v axis 1 {
    ^bb0(%l: f32, %u: f32):
      %c = arith.addf %l, %u : f32
      tw.yield %c : f32
    } : (tensor<4x1024xf32>) -> tensor<4xf32>
    %k = tw.expand_dims %0, 1 : tensor<4xf32> -> tensor<4x1xf32>
    %b = tw.broadcast %k : tensor<4x1xf32> -> tensor<4x1024xf32>
    %d = arith.subf %v, %b : tensor<4x1024xf32>
    tw.store %xp, %d : tensor<4x1024x!tw.ptr<f32>>, tensor<4x1024xf32>
    return
  }
}
