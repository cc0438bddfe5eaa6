// RUN: tilewright-opt --tw-overlap-products --tw-remarks --split-input-file --verify-diagnostics %s
// Which products are waited for at once, and what is said of the others.

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
!tile = tensor<64x64xf32, #acc>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  func.func @taken(%a: !buffer, %b: !buffer, %c: !tile) -> (!tile, !tile) {
    // expected-remark-re @below {{{{.*}}overlap-product: applied, products=1 (waited for where the result is used)}}
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %x = arith.addf %c, %c : !tile
    %y = arith.addf %p, %x : !tile
    return %x, %y : !tile, !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
!tile = tensor<64x64xf16, #acc>
!buffer = !tw.buffer<64x64xf16, #buf>
module attributes {tw.num_warps = 4 : i32} {
  func.func @packed(%a: !buffer, %b: !buffer, %c: !tile) -> (!tile, !tile) {
    // expected-remark-re @below {{{{.*}}its sums are packed, two to a register}}
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %x = arith.addf %c, %c : !tile
    %y = arith.addf %p, %x : !tile
    return %x, %y : !tile, !tile
  }
}

// -----
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 144, 288, 576, 1024, 2048]>
!tile = tensor<64x64xf32, #acc>
!buffer = !tw.buffer<64x64xf8E4M3FN, #buf>
module attributes {tw.num_warps = 4 : i32} {
  func.func @in_parts(%a: !buffer, %b: !buffer, %c: !tile) -> (!tile, !tile) {
    // expected-remark-re @below {{{{.*}}its parts are added up in full precision}}
    %p = tw.wgmma %a, %b, %c warps [2, 0] {maxImprecise = 32 : i32} : !buffer, !buffer, !tile
    %x = arith.addf %c, %c : !tile
    %y = arith.addf %p, %x : !tile
    return %x, %y : !tile, !tile
  }
}
