// RUN: tilewright-opt --tw-overlap-products %s | FileCheck %s
// Two independent products queue up; one wait stands in front of the first use.

#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#buf = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
!tile = tensor<64x64xf32, #acc>
!buffer = !tw.buffer<64x64xf16, #buf>

module attributes {tw.num_warps = 4 : i32} {
  // CHECK-LABEL: @independent
  func.func @independent(%a: !buffer, %b: !buffer, %c: !tile) -> !tile {
    // CHECK: %[[P:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: %[[Q:.*]] = tw.wgmma {{.*}} async
    // CHECK-NEXT: arith.mulf
    // CHECK-NEXT: %[[W:.*]]:2 = tw.wgmma_wait 0 %[[P]], %[[Q]]
    // CHECK-NEXT: arith.addf %[[W]]#0, %[[W]]#1
    %p = tw.wgmma %a, %b, %c warps [2, 0] : !buffer, !buffer, !tile
    %x = arith.addf %c, %c : !tile
    %q = tw.wgmma %b, %a, %c warps [2, 0] : !buffer, !buffer, !tile
    %y = arith.mulf %x, %x : !tile
    %s = arith.addf %p, %q : !tile
    %t = arith.addf %s, %y : !tile
    return %t : !tile
  }
}
