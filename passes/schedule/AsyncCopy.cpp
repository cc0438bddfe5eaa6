//===- AsyncCopy.cpp - A load made a copy ---------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/AsyncCopy.h"

using namespace mlir;

namespace tilewright::passes {

ir::AsyncCopyOp copyAsync(OpBuilder &builder, ir::LoadOp load, Value pointer, Value mask,
                          Value buffer) {
  auto copy =
      builder.create<ir::AsyncCopyOp>(load.getLoc(), pointer, buffer, mask,
                                      /*other=*/Value(), load.getCache(), load.getEviction());
  for (llvm::StringRef name : {ir::vectorElementsAttr, ir::vectorDimensionAttr})
    if (Attribute attr = load->getAttr(name))
      copy->setAttr(name, attr);
  return copy;
}

} // namespace tilewright::passes
