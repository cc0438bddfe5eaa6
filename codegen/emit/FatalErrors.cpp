//===- FatalErrors.cpp - What LLVM cannot do, as a result -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: LLVM calls a handler before it ends the process, which leaves by an exception. LLVM is
// built without exceptions, so that nothing in between is destroyed; its tables for unwinding
// are there on every platform that this runs on.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <mutex>

namespace tilewright::codegen {

namespace {

struct GaveUp {
  std::string reason;
};

/// Calls of reasonToGiveUp that this thread is in. Elsewhere nothing catches.
thread_local int depth = 0;

void leave(void *, const char *reason, bool) {
  if (depth > 0)
    throw GaveUp{reason};
}

} // namespace

std::optional<std::string> reasonToGiveUp(llvm::function_ref<void()> work) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(leave); });
  // A list of what the thread does, which is on its stack.
  const void *stackTrace = llvm::SavePrettyStackState();
  std::optional<std::string> reason;
  ++depth;
  try {
    work();
  } catch (const GaveUp &gaveUp) {
    llvm::RestorePrettyStackState(stackTrace);
    reason = gaveUp.reason;
  } catch (...) {
    --depth;
    throw;
  }
  --depth;
  return reason;
}

} // namespace tilewright::codegen
