// A kernel over long rows gets a second body, for rows that fill the tile.
// RUN: split-file %s %t
// RUN: tilewright-opt %t/row.mlir --tw-version-masks | FileCheck %s
// RUN: tilewright-opt %t/row.mlir --tw-version-masks --tw-combine-ops | FileCheck %s --check-prefix=THEN
// RUN: sed 's/32768/16384/g' %t/row.mlir | tilewright-opt --tw-version-masks | FileCheck %s --check-prefix=SAME
// RUN: sed 's/range 0 to 32768/range 32768 to 65536/' %t/row.mlir | tilewright-opt --tw-version-masks | FileCheck %s --check-prefix=SAME
// RUN: sed 's/cmpi slt/cmpi sgt/' %t/row.mlir | tilewright-opt --tw-version-masks | FileCheck %s --check-prefix=SAME
// RUN: sed 's/module {/module attributes {tw.num_ctas = 2 : i32} {/' %t/row.mlir | tilewright-opt --tw-version-masks | FileCheck %s --check-prefix=SAME
// RUN: tilewright-opt %t/elementwise.mlir --tw-version-masks | FileCheck %s --check-prefix=SAME
// RUN: awk '{ n = /tw.store/ ? 200 : 1; while (n-- > 0) print }' %t/row.mlir | tilewright-opt --tw-version-masks --tw-remarks 2>&1 | FileCheck %s --check-prefixes=LONG,SAME
// RUN: tilewright-opt %t/product.mlir --tw-version-masks --tw-remarks 2>&1 | FileCheck %s --check-prefixes=PRODUCT,SAME

// CHECK: %[[M:.*]] = arith.cmpi slt
// CHECK: %[[N:.*]] = arith.constant 32768 : i32
// CHECK: %[[FULL:.*]] = arith.cmpi sge, %arg1, %[[N]]
// CHECK: scf.if %[[FULL]]
// CHECK: %[[TRUE:.*]] = arith.constant dense<true>
// CHECK: tw.load {{.*}} mask %[[TRUE]]
// CHECK: tw.reduce
// CHECK: tw.store {{.*}} mask %[[TRUE]]
// CHECK: } else {
// CHECK: tw.load {{.*}} mask %[[M]]
// CHECK: tw.reduce
// CHECK: tw.store {{.*}} mask %[[M]]
// CHECK: }
// CHECK: return

// What the constant makes unnecessary goes.
// THEN: scf.if
// THEN-NOT: mask
// THEN-NOT: arith.select
// THEN: } else {
// THEN: tw.load {{.*}} mask
// THEN: arith.select
// THEN: tw.store {{.*}} mask

// LONG: remark: version-mask: refused, ops=215 (two bodies of this length take long to compile)
// PRODUCT: remark: version-mask: refused, ops={{[0-9]+}} (kernels with products have one body)

// Short rows, another start, another comparison, several blocks, nothing reduced.
// SAME-NOT: scf.if

//--- row.mlir
module {
  func.func @row(%p: !tw.ptr<f32>, %n: i32) {
    %zero = arith.constant dense<0.0> : tensor<32768xf32>
    %r = tw.range 0 to 32768 : tensor<32768xi32>
    %bound = tw.splat %n : i32 -> tensor<32768xi32>
    %m = arith.cmpi slt, %r, %bound : tensor<32768xi32>
    %ps = tw.splat %p : !tw.ptr<f32> -> tensor<32768x!tw.ptr<f32>>
    %a = tw.addptr %ps, %r : tensor<32768x!tw.ptr<f32>>, tensor<32768xi32>
    %x = tw.load %a mask %m : tensor<32768xi1> other %zero : tensor<32768xf32> : tensor<32768x!tw.ptr<f32>> -> tensor<32768xf32>
    %y = arith.select %m, %x, %zero : tensor<32768xi1>, tensor<32768xf32>
    %sum = tw.reduce %y axis 0 {
    ^bb0(%b: f32, %c: f32):
      %d = arith.addf %b, %c : f32
      tw.yield %d : f32
    } : (tensor<32768xf32>) -> f32
    %all = tw.splat %sum : f32 -> tensor<32768xf32>
    %q = arith.divf %x, %all : tensor<32768xf32>
    tw.store %a, %q mask %m : tensor<32768xi1> : tensor<32768x!tw.ptr<f32>>, tensor<32768xf32>
    return
  }
}

//--- elementwise.mlir
module {
  func.func @negate(%p: !tw.ptr<f32>, %n: i32) {
    %r = tw.range 0 to 32768 : tensor<32768xi32>
    %bound = tw.splat %n : i32 -> tensor<32768xi32>
    %m = arith.cmpi slt, %r, %bound : tensor<32768xi32>
    %ps = tw.splat %p : !tw.ptr<f32> -> tensor<32768x!tw.ptr<f32>>
    %a = tw.addptr %ps, %r : tensor<32768x!tw.ptr<f32>>, tensor<32768xi32>
    %x = tw.load %a mask %m : tensor<32768xi1> : tensor<32768x!tw.ptr<f32>> -> tensor<32768xf32>
    %y = arith.negf %x : tensor<32768xf32>
    tw.store %a, %y mask %m : tensor<32768xi1> : tensor<32768x!tw.ptr<f32>>, tensor<32768xf32>
    return
  }
}

//--- product.mlir
module {
  func.func @row(%p: !tw.ptr<f32>, %n: i32, %l: tensor<16x16xf16>, %t: tensor<16x16xf32>) {
    %zero = arith.constant dense<0.0> : tensor<32768xf32>
    %r = tw.range 0 to 32768 : tensor<32768xi32>
    %bound = tw.splat %n : i32 -> tensor<32768xi32>
    %m = arith.cmpi slt, %r, %bound : tensor<32768xi32>
    %ps = tw.splat %p : !tw.ptr<f32> -> tensor<32768x!tw.ptr<f32>>
    %a = tw.addptr %ps, %r : tensor<32768x!tw.ptr<f32>>, tensor<32768xi32>
    %x = tw.load %a mask %m : tensor<32768xi1> other %zero : tensor<32768xf32> : tensor<32768x!tw.ptr<f32>> -> tensor<32768xf32>
    %y = arith.select %m, %x, %zero : tensor<32768xi1>, tensor<32768xf32>
    %sum = tw.reduce %y axis 0 {
    ^bb0(%b: f32, %c: f32):
      %d = arith.addf %b, %c : f32
      tw.yield %d : f32
    } : (tensor<32768xf32>) -> f32
    %all = tw.splat %sum : f32 -> tensor<32768xf32>
    %q = arith.divf %x, %all : tensor<32768xf32>
    tw.store %a, %q mask %m : tensor<32768xi1> : tensor<32768x!tw.ptr<f32>>, tensor<32768xf32>
    %product = tw.dot %l, %l, %t : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
    return
  }
}
