// Products of operands that were widened to f32 are computed in 16 bits.
// RUN: tilewright-opt %s --tw-narrow-products | FileCheck %s

// The casts go with their last user.
// CHECK-LABEL: @halves
// CHECK-NOT: extf
// CHECK: tw.dot %arg0, %arg1, %arg2 : tensor<32x32xbf16>, tensor<32x64xbf16>, tensor<32x64xf32>
func.func @halves(%a: tensor<32x32xbf16>, %b: tensor<32x64xbf16>, %c: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = arith.extf %a : tensor<32x32xbf16> to tensor<32x32xf32>
  %1 = arith.extf %b : tensor<32x64xbf16> to tensor<32x64xf32>
  %2 = tw.dot %0, %1, %c : tensor<32x32xf32>, tensor<32x64xf32>, tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}

// Through a transposition, and a select with zeros, which is done on the narrow values. A cast
// that something else needs stays.
// CHECK-LABEL: @between
// CHECK: %[[T:.*]] = tw.permute %arg0 [1, 0] : tensor<32x16xf16> -> tensor<16x32xf16>
// CHECK: %[[E:.*]] = arith.extf %arg1
// CHECK: %[[S:.*]] = arith.select %arg3, %arg1, %{{.*}} : tensor<32x64xi1>, tensor<32x64xf16>
// CHECK: tw.dot %[[T]], %[[S]], %arg2 : tensor<16x32xf16>
// CHECK: return %{{.*}}, %[[E]]
func.func @between(%a: tensor<32x16xf16>, %b: tensor<32x64xf16>, %c: tensor<16x64xf32>, %m: tensor<32x64xi1>) -> (tensor<16x64xf32>, tensor<32x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %0 = arith.extf %a : tensor<32x16xf16> to tensor<32x16xf32>
  %1 = tw.permute %0 [1, 0] : tensor<32x16xf32> -> tensor<16x32xf32>
  %2 = arith.extf %b : tensor<32x64xf16> to tensor<32x64xf32>
  %3 = arith.select %m, %2, %zero : tensor<32x64xi1>, tensor<32x64xf32>
  %4 = tw.dot %1, %3, %c : tensor<16x32xf32>, tensor<32x64xf32>, tensor<16x64xf32>
  return %4, %2 : tensor<16x64xf32>, tensor<32x64xf32>
}

// Bytes are exact in the type of the other operand; fp8 is in f16.
// CHECK-LABEL: @bytes
// CHECK: arith.sitofp %arg0 : tensor<16x32xi8> to tensor<16x32xbf16>
// CHECK: tw.dot %{{.*}}, %arg1, %{{.*}} : tensor<16x32xbf16>, tensor<32x64xbf16>
// CHECK: tw.float_cast %arg2 : tensor<16x32xf8E4M3FN> -> tensor<16x32xf16>
// CHECK: arith.uitofp %arg3 : tensor<32x64xi8> to tensor<32x64xf16>
// CHECK: tw.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x32xf16>, tensor<32x64xf16>
func.func @bytes(%a: tensor<16x32xi8>, %b: tensor<32x64xbf16>, %c: tensor<16x32xf8E4M3FN>, %d: tensor<32x64xi8>, %acc: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %0 = arith.sitofp %a : tensor<16x32xi8> to tensor<16x32xf32>
  %1 = arith.extf %b : tensor<32x64xbf16> to tensor<32x64xf32>
  %2 = tw.dot %0, %1, %acc : tensor<16x32xf32>, tensor<32x64xf32>, tensor<16x64xf32>
  %3 = tw.float_cast %c : tensor<16x32xf8E4M3FN> -> tensor<16x32xf32>
  %4 = arith.uitofp %d : tensor<32x64xi8> to tensor<32x64xf32>
  %5 = tw.dot %3, %4, %2 : tensor<16x32xf32>, tensor<32x64xf32>, tensor<16x64xf32>
  return %5 : tensor<16x64xf32>
}

// Kept: full precision, one operand in f32, both kinds of halves, 32-bit integers, values that
// are computed in f32.
// CHECK-LABEL: @kept
// CHECK-COUNT-5: tw.dot %{{.*}} : tensor<16x16xf32>, tensor<16x16xf32>
func.func @kept(%f: tensor<16x16xf16>, %b: tensor<16x16xbf16>, %w: tensor<16x16xf32>, %i: tensor<16x16xi32>, %acc: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = arith.extf %f : tensor<16x16xf16> to tensor<16x16xf32>
  %1 = arith.extf %b : tensor<16x16xbf16> to tensor<16x16xf32>
  %2 = arith.sitofp %i : tensor<16x16xi32> to tensor<16x16xf32>
  %3 = arith.mulf %0, %0 : tensor<16x16xf32>
  %4 = tw.dot %0, %0, %acc {precision = #tw.precision<ieee>} : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %5 = tw.dot %0, %w, %4 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %6 = tw.dot %0, %1, %5 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %7 = tw.dot %2, %0, %6 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %8 = tw.dot %3, %0, %7 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  return %8 : tensor<16x16xf32>
}
