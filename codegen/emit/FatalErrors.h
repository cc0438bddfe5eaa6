//===- FatalErrors.h - What LLVM cannot do, as a result ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: LLVM ends the process where it meets what it cannot do ("Cannot select"). The process
// is the user's, so it is told of instead.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_FATALERRORS_H
#define TILEWRIGHT_CODEGEN_EMIT_FATALERRORS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace tilewright::codegen {

/// Runs `work`, in which LLVM may give up; what it says then. LLVM's own functions do not clean
/// up after themselves in that case: `work` should own nothing that they have changed, and
/// whoever owns it should leave it alone.
std::optional<std::string> reasonToGiveUp(llvm::function_ref<void()> work);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_FATALERRORS_H
