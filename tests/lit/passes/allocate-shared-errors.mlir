// More shared memory than a block may have.
// RUN: tilewright-opt %s --split-input-file --tw-allocate-shared="shared-limit=10000" --verify-diagnostics

#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]>
#a = #tw.layout<register = [1, 2, 512, 1024, 2048, 4096], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 2048, 4096, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
// The layout change goes in the smallest pieces, and still it is too much.
module attributes {tw.num_warps = 4 : i32} {
  func.func @large(%x: tensor<8192xf32, #a>) -> tensor<8192xf32, #b> {
    // expected-error @+3 {{[E0301] needs 32896 bytes of shared memory; sm_90a allows 10000}}
    // expected-note @+2 {{32768 bytes for the tile<8192xf32>}}
    // expected-note @+1 {{make that tile 4 times smaller: all would need 8320 bytes}}
    %m = tw.alloc_shared %x : tensor<8192xf32, #a> -> : !tw.buffer<8192xf32, #s>
    // expected-note @+1 {{128 bytes for the layout change of tile<8192xf32>}}
    %0 = tw.convert_layout %x : tensor<8192xf32, #a> -> tensor<8192xf32, #b>
    tw.shared_store %0, %m : tensor<8192xf32, #b>, !tw.buffer<8192xf32, #s>
    return %0 : tensor<8192xf32, #b>
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]>
#t = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
#l = #tw.layout<register = [1, 256, 512], lane = [2, 4, 8, 16, 32], warp = [64, 128], block = []>
// Rings are said to be some. What is not alive with them is not listed.
module attributes {tw.num_warps = 4 : i32} {
  func.func @stages(%x: tensor<32x32xf16, #l>, %i: i32) {
    %early = tw.alloc_shared %x : tensor<32x32xf16, #l> -> : !tw.buffer<32x32xf16, #s>
    // expected-error @+3 {{[E0301] needs 13824 bytes of shared memory; sm_90a allows 10000}}
    // expected-note @+2 {{10240 bytes for the ring of 5 x tile<32x32xf16>}}
    // expected-note @+1 {{make that tile 2 times smaller: all would need 8704 bytes}}
    %ring = tw.alloc_shared : !tw.buffer<32x32xf16, #s, 5>
    // expected-note @+1 {{3584 bytes for the ring of 4 x tile<8x32xf16>}}
    %small = tw.alloc_shared : !tw.buffer<8x32xf16, #t, 4>
    %a = tw.buffer_slot %ring[%i] : !tw.buffer<32x32xf16, #s, 5> -> !tw.buffer<32x32xf16, #s>
    %b = tw.buffer_slot %small[%i] : !tw.buffer<8x32xf16, #t, 4> -> !tw.buffer<8x32xf16, #t>
    func.return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]>
#a = #tw.layout<register = [1, 2, 512, 1024, 2048], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
// Either tile is too large without the other.
module attributes {tw.num_warps = 4 : i32} {
  func.func @both(%x: tensor<4096xf32, #a>, %y: tensor<4096xf32, #a>) {
    // expected-error @+3 {{[E0301] needs 32768 bytes of shared memory; sm_90a allows 10000}}
    // expected-note @+2 {{16384 bytes for the tile<4096xf32>}}
    // expected-note @+1 {{make the tiles 4 times smaller: they would need 8192 bytes}}
    %m = tw.alloc_shared %x : tensor<4096xf32, #a> -> : !tw.buffer<4096xf32, #s>
    // expected-note @+1 {{16384 bytes for the tile<4096xf32>}}
    %n = tw.alloc_shared %y : tensor<4096xf32, #a> -> : !tw.buffer<4096xf32, #s>
    tw.shared_store %x, %m : tensor<4096xf32, #a>, !tw.buffer<4096xf32, #s>
    tw.shared_store %y, %n : tensor<4096xf32, #a>, !tw.buffer<4096xf32, #s>
    func.return
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]>
#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [0, 0], block = []>
#l = #tw.layout<register = [1, 2, 512, 1024, 2048], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
// Barriers live as long as the kernel. The second warp gets what an atomic of the first found.
module attributes {tw.num_warps = 4 : i32} {
  func.func @small(%x: tensor<4096xf32, #l>, %p: tensor<64x!tw.ptr<i32>, #a>, %v: tensor<64xi32, #a>) -> (tensor<64xi32, #a>, tensor<4096xf32, #l>) {
    // expected-error @+3 {{[E0301] needs 16656 bytes of shared memory; sm_90a allows 10000}}
    // expected-note @+2 {{16384 bytes for the tile<4096xf32>}}
    // expected-note @+1 {{make that tile 2 times smaller: all would need 8464 bytes}}
    %t = tw.alloc_shared %x : tensor<4096xf32, #l> -> : !tw.buffer<4096xf32, #s>
    // expected-note @+1 {{16 bytes for the barriers of a ring}}
    %bar = tw.mbarrier_alloc 1 : !tw.mbarrier<2>
    // expected-note @+1 {{256 bytes for the result of an atomic on tile<64xi32>}}
    %old = tw.atomic_rmw <add>, <relaxed>, <gpu>, %p, %v : tensor<64x!tw.ptr<i32>, #a>, tensor<64xi32, #a>
    %y = tw.shared_load %t : !tw.buffer<4096xf32, #s> -> tensor<4096xf32, #l>
    return %old, %y : tensor<64xi32, #a>, tensor<4096xf32, #l>
  }
}

// -----
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]>
#a = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [0, 0], block = []>
#l = #tw.layout<register = [1, 2, 512, 1024, 2048], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
// The other warps get what the first one has read.
module attributes {tw.num_warps = 4 : i32} {
  func.func @read(%x: tensor<4096xf32, #l>, %p: tensor<64x!tw.ptr<i32>, #a>) -> (tensor<64xi32, #a>, tensor<4096xf32, #l>) {
    // expected-error @+3 {{[E0301] needs 16640 bytes of shared memory; sm_90a allows 10000}}
    // expected-note @+2 {{16384 bytes for the tile<4096xf32>}}
    // expected-note @+1 {{make that tile 2 times smaller: all would need 8448 bytes}}
    %t = tw.alloc_shared %x : tensor<4096xf32, #l> -> : !tw.buffer<4096xf32, #s>
    // expected-note @+1 {{256 bytes for the result of a volatile load of tile<64xi32>}}
    %old = tw.load %p {isVolatile} : tensor<64x!tw.ptr<i32>, #a> -> tensor<64xi32, #a>
    %y = tw.shared_load %t : !tw.buffer<4096xf32, #s> -> tensor<4096xf32, #l>
    return %old, %y : tensor<64xi32, #a>, tensor<4096xf32, #l>
  }
}
