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

FileLineColLoc innermostPlace(Location location) {
  FileLineColLoc place;
  // The walk visits callees before callers.
  location->walk([&](Location inner) {
    place = llvm::dyn_cast<FileLineColLoc>(inner);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

std::string renderLocation(Location location) {
  FileLineColLoc place = innermostPlace(location);
  if (!place)
    return "";
  return llvm::formatv("{0}:{1}:{2}", place.getFilename().getValue(), place.getLine(),
                       place.getColumn())
      .str();
}

} // namespace tilewright::ir
