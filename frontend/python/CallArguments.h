//===- CallArguments.h - Which parameter gets which argument ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the rules by which both evaluators bind the arguments of a call inside a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_CALLARGUMENTS_H
#define TILEWRIGHT_FRONTEND_PYTHON_CALLARGUMENTS_H

#include <pybind11/pybind11.h>

#include <string>

namespace tilewright {

/// The `__name__` of a jit function.
std::string functionName(pybind11::handle function);

/// Arguments of a call by parameter name, defaults filled in. Raises E0122 for a
/// wrong set. What is known at compile time stays so whatever the annotations say, and
/// a run-time value may go to a parameter annotated constexpr: programs do that, and
/// only a use that needs a constant fails.
pybind11::dict bindArguments(pybind11::handle jitFunction, const pybind11::tuple &args,
                             const pybind11::dict &kwargs);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_CALLARGUMENTS_H
