//===- AssemblerFaults.h - What assemblers are known to get wrong -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: one table of the wrong code that NVIDIA's assemblers are known to make of right
// PTX: which versions make it, from which instructions, and what Tilewright does about it.
// Code generation asks it before it writes such instructions, and `tilewright doctor`
// prints it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_ASSEMBLERFAULTS_H
#define TILEWRIGHT_CODEGEN_EMIT_ASSEMBLERFAULTS_H

#include "ir/support/TargetInfo.h"

#include <string>
#include <vector>

namespace tilewright::codegen {

/// A version of nvJitLink or ptxas, as 1000 * major + minor: 13004.
using AssemblerVersion = int;

struct AssemblerFault {
  /// Stable name for tests and for `doctor`.
  const char *name;
  /// First version that is right; older ones have the fault.
  AssemblerVersion fixedIn;
  const char *pattern;
  const char *consequence;
  const char *avoidedBy;
  bool (*concerns)(const TargetInfo &target);
  /// Takes the feature from the target; null where it is avoided with every assembler.
  void (*avoid)(TargetInfo &target);
};

const std::vector<AssemblerFault> &assemblerFaults();

/// From "nvJitLink 13.0"; 0, older than all, where the text is empty (the driver
/// assembles, in an unknown version) or has another form.
AssemblerVersion parseAssemblerVersion(const std::string &text);

/// The target without the features that this version gets wrong.
TargetInfo withoutFaults(TargetInfo target, AssemblerVersion version);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_ASSEMBLERFAULTS_H
