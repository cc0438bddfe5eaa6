// RUN: tilewright-opt %s --tw-gather-loads -split-input-file | FileCheck %s
// Loads whose tiles go through shared memory start together, and are stored together.

// The address of the second one is computed before it, where that is arithmetic.
// CHECK-LABEL: @together
// CHECK: %[[X:.*]] = tw.load %arg0
// CHECK-NEXT: %[[Q:.*]] = tw.addptr %arg0
// CHECK-NEXT: %[[Y:.*]] = tw.load %[[Q]]
// CHECK-NEXT: %[[BX:.*]] = tw.alloc_shared %[[X]]
// CHECK-NEXT: %[[BY:.*]] = tw.alloc_shared %[[Y]]
// CHECK-NEXT: tw.shared_load %[[BX]]
// CHECK-NEXT: tw.shared_load %[[BY]]
#l = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#m = #tw.layout<register = [512, 256, 128], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
module attributes {tw.num_warps = 4 : i32} {
func.func @together(%p: tensor<32x32x!tw.ptr<f16>, #l>, %i: tensor<32x32xi32, #l>) -> tensor<32x32xf16, #m> {
  %x = tw.load %p : tensor<32x32x!tw.ptr<f16>, #l> -> tensor<32x32xf16, #l>
  %bx = tw.alloc_shared %x : tensor<32x32xf16, #l> -> : <32x32xf16, #s>
  %rx = tw.shared_load %bx : <32x32xf16, #s> -> tensor<32x32xf16, #m>
  %q = tw.addptr %p, %i : tensor<32x32x!tw.ptr<f16>, #l>, tensor<32x32xi32, #l>
  %y = tw.load %q : tensor<32x32x!tw.ptr<f16>, #l> -> tensor<32x32xf16, #l>
  %by = tw.alloc_shared %y : tensor<32x32xf16, #l> -> : <32x32xf16, #s>
  %ry = tw.shared_load %by : <32x32xf16, #s> -> tensor<32x32xf16, #m>
  %sum = arith.addf %rx, %ry : tensor<32x32xf16, #m>
  return %sum : tensor<32x32xf16, #m>
}
}

// -----

// So it is before a change of layout through shared memory.
// CHECK-LABEL: @converted
// CHECK: tw.load %arg0
// CHECK-NEXT: tw.load %arg1
// CHECK-NEXT: tw.convert_layout
#l = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#m = #tw.layout<register = [512, 256, 128], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32} {
func.func @converted(%p: tensor<32x32x!tw.ptr<f16>, #l>, %q: tensor<32x32x!tw.ptr<f16>, #m>) -> tensor<32x32xf16, #m> {
  %x = tw.load %p : tensor<32x32x!tw.ptr<f16>, #l> -> tensor<32x32xf16, #l>
  %c = tw.convert_layout %x : tensor<32x32xf16, #l> -> tensor<32x32xf16, #m>
  %y = tw.load %q : tensor<32x32x!tw.ptr<f16>, #m> -> tensor<32x32xf16, #m>
  %sum = arith.addf %c, %y : tensor<32x32xf16, #m>
  return %sum : tensor<32x32xf16, #m>
}
}

// -----

// A store in between may be to what is loaded; a barrier of the program may order it after
// what others store; a volatile load stays where it is.
// CHECK-LABEL: @stored
// CHECK: tw.load
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: tw.store
// CHECK-NEXT: tw.load
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: tw.barrier
// CHECK-NEXT: tw.load
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: tw.load {{.*}}isVolatile
#l = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#m = #tw.layout<register = [512, 256, 128], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32} {
func.func @stored(%p: tensor<32x32x!tw.ptr<f16>, #l>, %q: tensor<32x32x!tw.ptr<f16>, #m>)
    -> (tensor<32x32xf16, #m>, tensor<32x32xf16, #m>, tensor<32x32xf16, #l>) {
  %x = tw.load %p : tensor<32x32x!tw.ptr<f16>, #l> -> tensor<32x32xf16, #l>
  %c = tw.convert_layout %x : tensor<32x32xf16, #l> -> tensor<32x32xf16, #m>
  tw.store %q, %c : tensor<32x32x!tw.ptr<f16>, #m>, tensor<32x32xf16, #m>
  %y = tw.load %p : tensor<32x32x!tw.ptr<f16>, #l> -> tensor<32x32xf16, #l>
  %d = tw.convert_layout %y : tensor<32x32xf16, #l> -> tensor<32x32xf16, #m>
  tw.barrier
  %z = tw.load %p : tensor<32x32x!tw.ptr<f16>, #l> -> tensor<32x32xf16, #l>
  %e = tw.convert_layout %z : tensor<32x32xf16, #l> -> tensor<32x32xf16, #m>
  %v = tw.load %p {isVolatile} : tensor<32x32x!tw.ptr<f16>, #l> -> tensor<32x32xf16, #l>
  return %d, %e, %v : tensor<32x32xf16, #m>, tensor<32x32xf16, #m>, tensor<32x32xf16, #l>
}
}

// -----

// An address that comes through shared memory itself is not there before; a third tile
// of 32 words has no room.
// CHECK-LABEL: @addresses
// CHECK: tw.load %arg0
// CHECK-NEXT: %[[C:.*]] = tw.convert_layout
// CHECK-NEXT: tw.addptr %{{.*}}, %[[C]]
// CHECK-NEXT: tw.load
// CHECK-LABEL: @room
// CHECK-COUNT-2: tw.load
// CHECK: tw.convert_layout
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: tw.load
#l = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#m = #tw.layout<register = [512, 256, 128, 1024, 2048], lane = [1, 2, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32} {
func.func @addresses(%p: tensor<64x64x!tw.ptr<i32>, #l>, %q: tensor<64x64x!tw.ptr<f16>, #m>) -> tensor<64x64xf16, #m> {
  %x = tw.load %p : tensor<64x64x!tw.ptr<i32>, #l> -> tensor<64x64xi32, #l>
  %c = tw.convert_layout %x : tensor<64x64xi32, #l> -> tensor<64x64xi32, #m>
  %r = tw.addptr %q, %c : tensor<64x64x!tw.ptr<f16>, #m>, tensor<64x64xi32, #m>
  %y = tw.load %r : tensor<64x64x!tw.ptr<f16>, #m> -> tensor<64x64xf16, #m>
  return %y : tensor<64x64xf16, #m>
}
func.func @room(%p: tensor<64x64x!tw.ptr<i32>, #l>) -> (tensor<64x64xi32, #m>, tensor<64x64xi32, #m>, tensor<64x64xi32, #m>) {
  %x = tw.load %p : tensor<64x64x!tw.ptr<i32>, #l> -> tensor<64x64xi32, #l>
  %a = tw.convert_layout %x : tensor<64x64xi32, #l> -> tensor<64x64xi32, #m>
  %y = tw.load %p : tensor<64x64x!tw.ptr<i32>, #l> -> tensor<64x64xi32, #l>
  %b = tw.convert_layout %y : tensor<64x64xi32, #l> -> tensor<64x64xi32, #m>
  %z = tw.load %p : tensor<64x64x!tw.ptr<i32>, #l> -> tensor<64x64xi32, #l>
  %c = tw.convert_layout %z : tensor<64x64xi32, #l> -> tensor<64x64xi32, #m>
  return %a, %b, %c : tensor<64x64xi32, #m>, tensor<64x64xi32, #m>, tensor<64x64xi32, #m>
}
}

// -----

// Nor is there room for two where so many warps share the registers.
// CHECK-LABEL: @warps
// CHECK: tw.load
// CHECK-NEXT: tw.convert_layout
// CHECK-NEXT: tw.load
#l = #tw.layout<register = [1, 2, 4, 8192, 16384], lane = [8, 16, 32, 64, 128], warp = [256, 512, 1024, 2048, 4096], block = []>
#m = #tw.layout<register = [4096, 2048, 1024, 8192, 16384], lane = [1, 2, 4, 8, 16], warp = [32, 64, 128, 256, 512], block = []>
module attributes {tw.num_warps = 32 : i32} {
func.func @warps(%p: tensor<128x256x!tw.ptr<i32>, #l>) -> (tensor<128x256xi32, #m>, tensor<128x256xi32, #m>) {
  %x = tw.load %p : tensor<128x256x!tw.ptr<i32>, #l> -> tensor<128x256xi32, #l>
  %a = tw.convert_layout %x : tensor<128x256xi32, #l> -> tensor<128x256xi32, #m>
  %y = tw.load %p : tensor<128x256x!tw.ptr<i32>, #l> -> tensor<128x256xi32, #l>
  %b = tw.convert_layout %y : tensor<128x256xi32, #l> -> tensor<128x256xi32, #m>
  return %a, %b : tensor<128x256xi32, #m>, tensor<128x256xi32, #m>
}
}
