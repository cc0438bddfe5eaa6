//===- LogLines.h - What an assembler's log says ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the lines of a log, of the assembler and of the driver's, which write alike.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_LOGLINES_H
#define TILEWRIGHT_IR_SUPPORT_LOGLINES_H

#include <string>
#include <vector>

namespace tilewright {

std::vector<std::string> splitLines(const std::string &text);

/// The first line that says what is wrong, else the first that says something.
std::string firstErrorLine(const std::string &log);

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_LOGLINES_H
