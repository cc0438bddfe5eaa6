//===- EvaluationContext.h - The evaluator a kernel runs under --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: `tl.load`, `x + y` and every other name of the language are one Python
// object each. When called, the object asks this thread's context which
// Semantic to call: the compiler's (frontend/ast while it walks a function) or
// the interpreter's (while the function runs natively). So argument binding,
// defaults and errors cannot differ between the two.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_EVALUATIONCONTEXT_H
#define TILEWRIGHT_FRONTEND_PYTHON_EVALUATIONCONTEXT_H

#include "frontend/semantic/Semantic.h"

#include <pybind11/pybind11.h>

namespace tilewright {

class EvaluationContext {
public:
  virtual ~EvaluationContext() = default;
  virtual semantic::Semantic &semantic() = 0;
  /// True under the compiler, false under the interpreter.
  virtual bool isCompiling() const = 0;
  /// Whether nothing comes of it but errors: what people see happens when the kernel runs.
  virtual bool isRehearsal() const { return false; }
  /// Calls a jit function of the user or the library with tensors and
  /// compile-time values: instantiated and inlined by the compiler, run
  /// natively by the interpreter.
  virtual pybind11::object callFunction(pybind11::handle jitFunction, pybind11::tuple args,
                                        pybind11::dict kwargs) = 0;
  /// "sm_90a", or "interpreter".
  virtual std::string targetName() const = 0;
  /// The value of a launch option: "debug", "enable_fp_fusion"; None if unset.
  virtual pybind11::object option(const std::string &name) const = 0;
  /// The number in a one-element value, where it is known by now: bool(x),
  /// int(x), float(x) and x as an index work with it. Nothing while compiling.
  virtual std::optional<semantic::Literal> concreteScalar(const semantic::Value &) {
    return std::nullopt;
  }
  /// The elements as a NumPy array, for repr() and print(); None while
  /// compiling.
  virtual pybind11::object concreteArray(const semantic::Value &) { return pybind11::none(); }
};

/// Whether launch options ask for assertions that integers do not overflow.
bool wantsOverflowChecks(const pybind11::dict &options);

/// The innermost context of this thread; null outside kernels.
EvaluationContext *currentContext();
/// As currentContext(), but raises E0117 for a language function called on the
/// host.
EvaluationContext &requireContext(const char *functionName);

/// Makes a context current for a C++ scope.
class ContextScope {
public:
  explicit ContextScope(EvaluationContext &context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;

private:
  EvaluationContext *previous;
};

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_EVALUATIONCONTEXT_H
