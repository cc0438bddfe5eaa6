//===- Targets.h - What LLVM and PTX are told of a GPU ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the part of a target that only codegen/emit needs. The facts that
// passes ask for are TargetInfo.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_TARGET_TARGETS_H
#define TILEWRIGHT_CODEGEN_TARGET_TARGETS_H

#include "ir/support/TargetInfo.h"

#include <string>
#include <vector>

namespace tilewright::codegen {

/// LLVM's name of the processor: "sm_90a".
std::string llvmProcessor(const TargetInfo &target);
/// LLVM's feature string: "+ptx85".
std::string llvmFeatures(const TargetInfo &target);
/// The names that getTargetInfo knows, oldest first.
std::vector<std::string> knownTargets();

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_TARGET_TARGETS_H
