// RUN: tilewright-opt --tw-select-matrix-unit %s | FileCheck %s
// RUN: tilewright-opt --tw-select-matrix-unit --tw-remarks %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sed 's/num_warps = 8/num_warps = 2/' %s | tilewright-opt --tw-select-matrix-unit --tw-remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWO
// Which instruction computes a product, how the warps share it (log2), and the remark on why.

module attributes {tw.num_warps = 8 : i32} {
  // Two warpgroups, both along M: they share b.
  // CHECK-LABEL: @wgmma
  // REMARK: remark: matrix-unit: applied, m=128, n=256, k=64, warpsM=8, warpsN=1 (wgmma: whole warpgroups)
  // TWO: remark: matrix-unit: applied, m=128, n=256, k=64, warpsM=1, warpsN=2 (mma: wgmma needs a multiple of 4 warps)
  func.func @wgmma(%a: tensor<128x64xf16>, %b: tensor<64x256xf16>, %c: tensor<128x256xf32>) -> tensor<128x256xf32> {
    // CHECK: tw.dot {{.*}}unit = #tw.unit<wgmma>, warps = array<i32: 3, 0>
    %d = tw.dot %a, %b, %c : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
    return %d : tensor<128x256xf32>
  }

  // 64 rows are one warpgroup's: the other takes half the columns.
  // CHECK-LABEL: @oneWarpgroupOfRows
  func.func @oneWarpgroupOfRows(%a: tensor<64x64xbf16>, %b: tensor<64x128xbf16>, %c: tensor<64x128xf32>) -> tensor<64x128xf32> {
    // CHECK: tw.dot {{.*}}unit = #tw.unit<wgmma>, warps = array<i32: 2, 1>
    %d = tw.dot %a, %b, %c : tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>
    return %d : tensor<64x128xf32>
  }

  // Too few rows for wgmma.
  // CHECK-LABEL: @small
  // REMARK: remark: matrix-unit: applied, m=16, n=64, k=64, warpsM=1, warpsN=8 (mma: the tile is too small for wgmma)
  func.func @small(%a: tensor<16x64xf16>, %b: tensor<64x64xf16>, %c: tensor<16x64xf32>) -> tensor<16x64xf32> {
    // CHECK: tw.dot {{.*}}unit = #tw.unit<mma>, warps = array<i32: 0, 3>
    %d = tw.dot %a, %b, %c : tensor<16x64xf16>, tensor<64x64xf16>, tensor<16x64xf32>
    return %d : tensor<16x64xf32>
  }

  // CHECK-LABEL: @batched
  // REMARK: remark: matrix-unit: applied, m=64, n=64, k=64, warpsM=4, warpsN=2 (mma: wgmma has no batches)
  func.func @batched(%a: tensor<4x64x64xf16>, %b: tensor<4x64x64xf16>, %c: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
    // CHECK: tw.dot {{.*}}unit = #tw.unit<mma>
    %d = tw.dot %a, %b, %c : tensor<4x64x64xf16>, tensor<4x64x64xf16>, tensor<4x64x64xf32>
    return %d : tensor<4x64x64xf32>
  }

  // Full precision has no matrix instruction.
  // CHECK-LABEL: @ieee
  // REMARK: remark: matrix-unit: refused, m=64, n=64, k=64, warpsM=4, warpsN=2 (fma: no matrix instruction computes these types)
  func.func @ieee(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
    // CHECK: tw.dot {{.*}}unit = #tw.unit<fma>
    %d = tw.dot %a, %b, %c {precision = #tw.precision<ieee>} : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    return %d : tensor<64x64xf32>
  }

  // CHECK-LABEL: @double
  // REMARK: remark: matrix-unit: applied, m=64, n=64, k=64, warpsM=4, warpsN=2 (mma: wgmma does not compute these types)
  func.func @double(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>, %c: tensor<64x64xf64>) -> tensor<64x64xf64> {
    // CHECK: tw.dot {{.*}}unit = #tw.unit<mma>
    %d = tw.dot %a, %b, %c : tensor<64x64xf64>, tensor<64x64xf64>, tensor<64x64xf64>
    return %d : tensor<64x64xf64>
  }
}
