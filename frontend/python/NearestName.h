//===- NearestName.h - The name that was probably meant ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for messages about names that do not exist ("did you mean").
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_NEARESTNAME_H
#define TILEWRIGHT_FRONTEND_PYTHON_NEARESTNAME_H

#include <pybind11/pybind11.h>

#include <string>

namespace tilewright {

/// The one of `candidates` (any objects; only strings count) that is `name` but for a slip
/// of the keyboard, or an empty text.
std::string nearestName(const std::string &name, pybind11::handle candidates);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_NEARESTNAME_H
