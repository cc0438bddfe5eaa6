//===- SourcePlace.cpp - Places in the source as text ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/SourcePlace.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::ir {

std::string renderLocation(Location location) {
  std::string text;
  // The first position found is the innermost: callee before caller.
  location->walk([&](Location inner) {
    auto place = llvm::dyn_cast<FileLineColLoc>(inner);
    if (!place)
      return WalkResult::advance();
    text = llvm::formatv("{0}:{1}:{2}", place.getFilename().getValue(), place.getLine(),
                         place.getColumn())
               .str();
    return WalkResult::interrupt();
  });
  return text;
}

} // namespace tilewright::ir
