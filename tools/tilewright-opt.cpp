//===- tilewright-opt.cpp - Runs passes on tile IR text -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/EmitPtx.h"
#include "ir/dialect/TileDialect.h"
#include "passes/pipeline/Pipeline.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tilewright::ir::TWDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  tilewright::passes::registerPasses();
  tilewright::codegen::registerCodegenPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Tilewright pass driver\n", registry));
}
