//===- StatementErrors.h - What is said of statements -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the errors about statements that the interpreter raises, too. It does so for a
// function without a source, which the front end has not checked.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_STATEMENTERRORS_H
#define TILEWRIGHT_FRONTEND_PYTHON_STATEMENTERRORS_H

#include "ir/support/Error.h"

#include <string>
#include <vector>

namespace tilewright {

/// Calls in calls: deeper nesting is recursion that changes its constants
/// without an end, and would exhaust the stack of this process.
inline constexpr size_t maxCallDepth = 100;

/// `chain`: the functions that are being called, from the first call of the function
/// `name` on.
inline Error recursionError(const std::vector<std::string> &chain, const std::string &name) {
  constexpr size_t mostShown = 8;
  std::string text;
  for (size_t i = 0; i < chain.size() && i < mostShown; ++i)
    text += chain[i] + " -> ";
  Error error = makeError(ErrorCode::E0111, fmt::arg("a", ""), fmt::arg("b", ""));
  return Error(ErrorCode::E0111, "recursion: " + text + name, error.help());
}

/// The condition of a `construct` is a tile of the type `type`.
inline Error tileConditionError(const char *construct, const std::string &type) {
  return makeError(
      ErrorCode::E0121,
      fmt::arg("message", fmt::format("condition of '{}' is a tile {}; a scalar is required",
                                      construct, type)),
      fmt::arg("help", "use tl.where for elements, or reduce the tile with tl.max"));
}

/// The condition of a `construct` is an object of the class `type`.
inline Error wrongConditionError(const char *construct, const std::string &type) {
  return makeError(
      ErrorCode::E0120,
      fmt::arg("message",
               fmt::format("condition of '{}' has type {}; bool, int or None is required",
                           construct, type)),
      fmt::arg("help", "compare it with a value, for example with == or 'is not None'"));
}

inline Error returnedValueError(const std::string &description) {
  return makeError(ErrorCode::E0116,
                   fmt::arg("message", fmt::format("a kernel returns nothing; this one returns {}",
                                                   description)),
                   fmt::arg("help", "store the result through a pointer argument"));
}

/// `count` names cannot hold a value that is no tuple.
inline Error unpackedValueError(const std::string &description, size_t count) {
  return makeError(
      ErrorCode::E0116,
      fmt::arg("message", fmt::format("cannot unpack {} into {} names", description, count)),
      fmt::arg("help", "only tuples are unpacked; use tl.split for the halves of a tile"));
}

/// `count` names cannot hold a tuple of `size` values.
inline Error unpackedSizeError(size_t size, size_t count) {
  return makeError(
      ErrorCode::E0116,
      fmt::arg("message", fmt::format("cannot unpack {} values into {} names", size, count)),
      fmt::arg("help", "give as many names as there are values"));
}

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_STATEMENTERRORS_H
