//===- PassContext.cpp - What passes share --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/SourcePlace.h"
#include "passes/Passes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::passes {

void PassContext::remark(Location location, Remark remark) const {
  if (!wantsRemarks())
    return;
  remark.location = ir::renderLocation(location);
  if (remarksAsDiagnostics) {
    std::string text = remark.kind + (remark.applied ? ": applied" : ": refused");
    for (const auto &[name, number] : remark.numbers)
      text += llvm::formatv(", {0}={1}", name, number).str();
    if (!remark.reason.empty())
      text += " (" + remark.reason + ")";
    mlir::emitRemark(location, text);
  }
  if (remarks)
    remarks->add(std::move(remark));
}

void PassContext::remark(Operation *op, Remark remark) const {
  this->remark(op->getLoc(), std::move(remark));
}

} // namespace tilewright::passes
