// What the verifier of places in shared memory refuses, and what it takes.
// RUN: tilewright-opt %s --split-input-file --tw-verify-resources --verify-diagnostics

#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32, tw.shared_bytes = 16384 : i32} {
  // The second conversion may have the buffer's bytes: its last use is over.
  func.func @lifetimes(%x: tensor<2048xf32, #a>) -> tensor<2048xf32, #a> {
    %m = tw.alloc_shared %x : tensor<2048xf32, #a> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<2048xf32, #s>
    %0 = tw.convert_layout %x {tw.scratch_offset = 8192 : i32} : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    %1 = tw.shared_load %m : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #b>
    %2 = arith.addf %0, %1 : tensor<2048xf32, #b>
    %3 = tw.convert_layout %2 {tw.scratch_offset = 0 : i32} : tensor<2048xf32, #b> -> tensor<2048xf32, #a>
    return %3 : tensor<2048xf32, #a>
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32, tw.shared_bytes = 16384 : i32} {
  func.func @meets(%x: tensor<2048xf32, #a>) -> (tensor<2048xf32, #b>, tensor<2048xf32, #b>) {
    // expected-note @below {{this, from 0 to 8192}}
    %m = tw.alloc_shared %x : tensor<2048xf32, #a> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<2048xf32, #s>
    // expected-error @below {{shares bytes from 4096 on with what is alive with it}}
    %0 = tw.convert_layout %x {tw.scratch_offset = 4096 : i32} : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    %1 = tw.shared_load %m : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #b>
    return %0, %1 : tensor<2048xf32, #b>, tensor<2048xf32, #b>
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32, tw.shared_bytes = 8192 : i32} {
  // The next round of the loop reads the buffer that the conversion has written over.
  func.func @loop(%x: tensor<2048xf32, #a>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-note @below {{this, from 0 to 8192}}
    %m = tw.alloc_shared %x : tensor<2048xf32, #a> -> {tw.scratch_offset = 0 : i32} : !tw.buffer<2048xf32, #s>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %0 = tw.shared_load %m : !tw.buffer<2048xf32, #s> -> tensor<2048xf32, #a>
      // expected-error @below {{shares bytes from 0 on with what is alive with it}}
      %1 = tw.convert_layout %0 {tw.scratch_offset = 0 : i32} : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    }
    return
  }
}

// -----
#a = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32, tw.shared_bytes = 8192 : i32} {
  // Barrier objects keep their bytes for the whole kernel.
  func.func @barrier(%x: tensor<2048xf32, #a>) -> tensor<2048xf32, #b> {
    // expected-error @below {{shares bytes from 1024 on with what is alive with it}}
    %bar = tw.mbarrier_alloc 1 {tw.scratch_offset = 1024 : i32} : !tw.mbarrier<2>
    // expected-note @below {{this, from 0 to 8192}}
    %0 = tw.convert_layout %x {tw.scratch_offset = 0 : i32} : tensor<2048xf32, #a> -> tensor<2048xf32, #b>
    return %0 : tensor<2048xf32, #b>
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32, tw.shared_bytes = 8192 : i32} {
  func.func @outside() {
    // expected-error @below {{takes the bytes from 1024 to 9216, the kernel has 8192}}
    %m = tw.alloc_shared {tw.scratch_offset = 1024 : i32} : !tw.buffer<2048xf32, #s>
    return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]>
module attributes {tw.num_warps = 4 : i32, tw.shared_bytes = 8192 : i32} {
  func.func @no_place() {
    // expected-error @below {{has no place in shared memory}}
    %m = tw.alloc_shared : !tw.buffer<2048xf32, #s>
    return
  }
}

// -----
// expected-error @below {{asks for 232449 bytes of shared memory, a block has 232448}}
module attributes {tw.num_warps = 4 : i32, tw.shared_bytes = 232449 : i32} {
}
