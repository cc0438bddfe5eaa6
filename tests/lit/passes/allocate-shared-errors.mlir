// More shared memory than a block may have.
// RUN: tilewright-opt %s --tw-allocate-shared="shared-limit=10000" --verify-diagnostics

#a = #tw.layout<register = [1, 2, 512, 1024, 2048, 4096], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#b = #tw.layout<register = [512, 1024, 2048, 4096, 1, 2], lane = [128, 256, 4, 8, 16], warp = [32, 64], block = []>
module attributes {tw.num_warps = 4 : i32} {
  func.func @large(%x: tensor<8192xf32, #a>) -> tensor<8192xf32, #b> {
    // expected-error @+3 {{[E0301] needs 32768 bytes of shared memory; sm_90a allows 10000}}
    // expected-note @+2 {{32768 bytes for the layout change of tile<8192xf32>}}
    // expected-note @+1 {{make that tile 4 times smaller: its layout change of tile<8192xf32> would need 8192 bytes}}
    %0 = tw.convert_layout %x : tensor<8192xf32, #a> -> tensor<8192xf32, #b>
    return %0 : tensor<8192xf32, #b>
  }
}
