//===- LoopArguments.h - The arguments of range ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_AST_LOOPARGUMENTS_H
#define TILEWRIGHT_FRONTEND_AST_LOOPARGUMENTS_H

#include "llvm/ADT/ArrayRef.h"

#include <pybind11/pybind11.h>

#include <vector>

namespace tilewright {

/// Arguments by the names of the parameters, None for those that are absent; at most so
/// many of them are taken by position. Raises E0122.
std::vector<pybind11::object> bindRange(const char *function, llvm::ArrayRef<const char *> names,
                                        size_t mostPositional, const pybind11::tuple &args,
                                        const pybind11::dict &kwargs);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_AST_LOOPARGUMENTS_H
