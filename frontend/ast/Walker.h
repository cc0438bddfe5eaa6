//===- Walker.h - One module while it is made -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the compiler's EvaluationContext. It owns the builder and the Semantic,
// keeps the stack of function instances, and calls jit functions by walking
// their bodies at the place of the call: the IR has no calls.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_AST_WALKER_H
#define TILEWRIGHT_FRONTEND_AST_WALKER_H

#include "frontend/emit/MlirBuilder.h"
#include "frontend/python/EvaluationContext.h"
#include "ir/support/Error.h"

#include <vector>

namespace tilewright {

class FunctionWalker;

class Walker final : public EvaluationContext {
public:
  /// What the walk is for: a kernel to compile, or one that the interpreter is about to run
  /// and of which only the errors matter.
  enum class Purpose { Compile, Rehearse };

  Walker(mlir::MLIRContext &context, std::string target, pybind11::dict options,
         Purpose purpose = Purpose::Compile);

  //===--- EvaluationContext ----------------------------------------------===//
  semantic::Semantic &semantic() override { return meaning; }
  bool isCompiling() const override { return true; }
  bool isRehearsal() const override { return purpose == Purpose::Rehearse; }
  pybind11::object callFunction(pybind11::handle jitFunction, pybind11::tuple args,
                                pybind11::dict kwargs) override;
  std::string targetName() const override { return target; }
  pybind11::object option(const std::string &name) const override;

  emit::MlirBuilder &tileBuilder() { return builder; }
  mlir::OpBuilder &opBuilder() { return builder.opBuilder(); }

  /// The Error that a Python exception stands for: itself where it is one of
  /// ours, else E0117 with its text; rethrows what is no Exception (an
  /// interrupt). Remembers the exception as the cause.
  Error translate(pybind11::error_already_set &exception);
  /// The Python exception behind the last translated error, or null.
  pybind11::object takeCause() { return std::move(cause); }

  /// Walks the body of a kernel with bound parameters (a dict of all names).
  void runKernel(pybind11::handle jitFunction, const pybind11::dict &bound);

private:
  friend class FunctionWalker;
  void checkRecursion(pybind11::handle function, const pybind11::dict &bound) const;

  std::vector<FunctionWalker *> stack;
  emit::MlirBuilder builder;
  semantic::Semantic meaning;
  std::string target;
  Purpose purpose;
  pybind11::dict options;
  pybind11::object cause;
};

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_AST_WALKER_H
