//===- LogLines.cpp - What an assembler's log says ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/support/LogLines.h"

#include <algorithm>

namespace tilewright {

std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines;
  size_t start = 0;
  while (start < text.size()) {
    size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::string firstErrorLine(const std::string &log) {
  std::vector<std::string> lines = splitLines(log);
  for (const char *word : {"error", "fatal"})
    for (const std::string &line : lines)
      if (line.find(word) != std::string::npos)
        return line;
  for (const std::string &line : lines)
    if (!line.empty())
      return line;
  return "no message";
}

} // namespace tilewright
