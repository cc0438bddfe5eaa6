//===- EvaluationContext.cpp - The evaluator a kernel runs under ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/python/EvaluationContext.h"

#include "ir/support/Error.h"

namespace tilewright {

bool wantsOverflowChecks(const pybind11::dict &options) {
  auto isOn = [&](const char *name, bool ifAbsent) {
    if (!options.contains(name) || pybind11::object(options[name]).is_none())
      return ifAbsent;
    return PyObject_IsTrue(pybind11::object(options[name]).ptr()) == 1;
  };
  return isOn("debug", false) && isOn("sanitize_overflow", true);
}

// Compilations run on several threads at once, each with a context of its own.
static thread_local EvaluationContext *innermostContext = nullptr;

EvaluationContext *currentContext() { return innermostContext; }

EvaluationContext &requireContext(const char *functionName) {
  if (innermostContext)
    return *innermostContext;
  std::string message = fmt::format("{} was called outside a kernel", functionName);
  throw makeError(ErrorCode::E0117, fmt::arg("message", message),
                  fmt::arg("help", "call it inside a function decorated with @tilewright.jit"));
}

ContextScope::ContextScope(EvaluationContext &context) : previous(innermostContext) {
  innermostContext = &context;
}

ContextScope::~ContextScope() { innermostContext = previous; }

} // namespace tilewright
