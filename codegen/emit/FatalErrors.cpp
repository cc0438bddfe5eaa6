//===- FatalErrors.cpp - What LLVM cannot do, as a result -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: LLVM calls a handler before it ends the process, which leaves by an exception. LLVM is
// built without exceptions, so that nothing in between is destroyed. Its tables for unwinding
// are part of the ABI of x86-64; without them the process would end, as it did before.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/SaveAndRestore.h"

#include <mutex>

namespace tilewright::codegen {

namespace {

struct GaveUp {
  std::string reason;
};

/// Whether this thread is in reasonToGiveUp. Elsewhere nothing catches.
thread_local bool isCaught = false;

void leave(void *, const char *reason, bool) {
  if (isCaught)
    throw GaveUp{reason};
}

} // namespace

std::optional<std::string> reasonToGiveUp(llvm::function_ref<void()> work) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(leave); });
  // A list of what the thread does, which is on its stack.
  const void *stackTrace = llvm::SavePrettyStackState();
  std::optional<std::string> reason;
  llvm::SaveAndRestore<bool> guard(isCaught, true);
  try {
    work();
  } catch (const GaveUp &gaveUp) {
    llvm::RestorePrettyStackState(stackTrace);
    reason = gaveUp.reason;
  }
  return reason;
}

} // namespace tilewright::codegen
