//===- SourceBlock.h - A function in the text of its file -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: finds where a Python function ends in its file, and gives its text
// without the parts that mean nothing. Two texts of one meaning compile alike, so
// the key of a cached kernel holds a digest of the meaning.
//
// Why here: a kernel that is in the cache is not parsed at all. This one pass over
// its text is all that the first launch of a process reads of it.
//
// How: the text is cut into tokens, as far as they matter: strings, comments,
// brackets, words, lines and their indentation. The function ends at the first
// logical line after `def` that is not indented deeper than `def`.
//
// Not handled: the nested quotes of f-strings. A text that has one is taken as it
// is, with its comments and spaces.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_SOURCEBLOCK_H
#define TILEWRIGHT_FRONTEND_PYTHON_SOURCEBLOCK_H

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright {

struct SourceBlock {
  /// Lines of the function, decorators included.
  size_t lineCount = 0;
  /// The text from `def` on without comments, blank lines, the place and depth of
  /// its indentation, and spaces that separate nothing.
  std::string meaning;
};

/// `text` (UTF-8) starts with the first line of a function or of its decorators.
SourceBlock scanSourceBlock(std::string_view text);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_SOURCEBLOCK_H
