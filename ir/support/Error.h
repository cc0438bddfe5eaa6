//===- Error.h - Coded errors that reach the user ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the one exception type that crosses from C++ into Python. Every error a
// user can see has a code; the catalogue (ErrorCatalogue.def) holds its class,
// its first line and its help text, once, for both evaluators and the runtime.
//
// Why here: support is the only folder that front end, passes, codegen and the
// LLVM-free runtime may all include.
//
// Not handled: locations. Whoever knows them attaches them, not the thrower:
// frontend/ast while the exception unwinds, the interpreter from the Python
// frame.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_ERROR_H
#define TILEWRIGHT_IR_SUPPORT_ERROR_H

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

namespace tilewright {

enum class ErrorCode : uint16_t {
#define TILEWRIGHT_ERROR(CODE, CLASS, MESSAGE, HELP) CODE,
#include "ir/support/ErrorCatalogue.def"
};

/// One row of the catalogue. `message` and `help` are fmt patterns with named
/// arguments.
struct ErrorEntry {
  ErrorCode code;
  const char *codeName;
  const char *className;
  const char *message;
  const char *help;
};

const ErrorEntry &errorEntry(ErrorCode code);

/// The row of a code given by name ("E0106"); null where there is none.
const ErrorEntry *findErrorEntry(const std::string &codeName);

/// A place in the user's source. Lines and columns count from 1; `endColumn` is
/// one past the last column, 0 where unknown.
struct SourceFrame {
  std::string file;
  std::string function;
  int line = 0;
  int column = 0;
  int endLine = 0;
  int endColumn = 0;
  std::string sourceLine;
};

/// An error with a code. `frames` is innermost first; the frames after the
/// first are the call chain.
class Error : public std::exception {
public:
  Error(ErrorCode code, std::string message, std::string help);

  ErrorCode code() const { return entry->code; }
  const ErrorEntry &catalogueEntry() const { return *entry; }
  const std::string &message() const { return messageText; }
  const std::string &help() const { return helpText; }
  const std::vector<SourceFrame> &frames() const { return sourceFrames; }
  const std::vector<std::string> &notes() const { return noteTexts; }
  const std::string &sentence() const { return comparedSentence; }

  Error &addFrame(SourceFrame frame);
  Error &addNote(std::string note);
  void setHelp(std::string help);
  /// Triton's sentence for this error, where programs compare it: the text of the Python
  /// exception's cause, and the last line of an error that has no help.
  Error &setSentence(std::string sentence);

  /// The whole text, as RELIABILITY's form: class and code, place with the
  /// source line and a caret range, call chain, notes, help.
  std::string render() const;
  const char *what() const noexcept override { return rendered.c_str(); }

private:
  const ErrorEntry *entry;
  std::string messageText, helpText, comparedSentence;
  std::vector<SourceFrame> sourceFrames;
  std::vector<std::string> noteTexts;
  std::string rendered;
};

/// Fills both patterns of the catalogue with the same named arguments:
///   throw makeError(ErrorCode::E0106, fmt::arg("i", 0), fmt::arg("n", 100), ...)
template <typename... Args> Error makeError(ErrorCode code, const Args &...args) {
  const ErrorEntry &entry = errorEntry(code);
  return Error(code, fmt::vformat(entry.message, fmt::make_format_args(args...)),
               fmt::vformat(entry.help, fmt::make_format_args(args...)));
}

/// E0900 for a defect that no reproducer shows, as one of the interpreter or the launch.
Error makeInternalError(const std::string &where, const std::string &message);

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_ERROR_H
