//===- EditDistance.h - How far apart two names are -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the Levenshtein distance, for messages that ask "did you mean". It is here beside
// LLVM's because the front end and the runtime do without LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_EDITDISTANCE_H
#define TILEWRIGHT_IR_SUPPORT_EDITDISTANCE_H

#include <cstddef>
#include <string_view>

namespace tilewright {

/// The insertions, deletions and substitutions that make `to` of `from`. Names are short,
/// so the quadratic form does.
size_t editDistance(std::string_view from, std::string_view to);

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_EDITDISTANCE_H
