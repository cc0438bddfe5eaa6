//===- Error.cpp - Coded errors that reach the user -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/support/Error.h"

#include <algorithm>
#include <utility>

namespace tilewright {

static const ErrorEntry catalogue[] = {
#define TILEWRIGHT_ERROR(CODE, CLASS, MESSAGE, HELP) {ErrorCode::CODE, #CODE, CLASS, MESSAGE, HELP},
#include "ir/support/ErrorCatalogue.def"
};

const ErrorEntry &errorEntry(ErrorCode code) { return catalogue[static_cast<size_t>(code)]; }

const ErrorEntry *findErrorEntry(const std::string &codeName) {
  for (const ErrorEntry &entry : catalogue)
    if (codeName == entry.codeName)
      return &entry;
  return nullptr;
}

Error::Error(ErrorCode code, std::string message, std::string help)
    : entry(&errorEntry(code)), messageText(std::move(message)), helpText(std::move(help)) {
  rendered = render();
}

Error &Error::addFrame(SourceFrame frame) {
  sourceFrames.push_back(std::move(frame));
  rendered = render();
  return *this;
}

Error &Error::addNote(std::string note) {
  noteTexts.push_back(std::move(note));
  rendered = render();
  return *this;
}

void Error::setHelp(std::string help) {
  helpText = std::move(help);
  rendered = render();
}

Error &Error::setSentence(std::string sentence) {
  comparedSentence = std::move(sentence);
  rendered = render();
  return *this;
}

/// The source line of `frame` with a caret range below it. Leading blanks are
/// trimmed from both, so that deep nesting does not push the text away.
static std::string renderSource(const SourceFrame &frame) {
  const std::string &line = frame.sourceLine;
  size_t indent = line.find_first_not_of(" \t");
  if (indent == std::string::npos)
    return "";
  std::string text = line.substr(indent);
  std::string out = fmt::format("\n      {}", text);
  if (frame.column <= 0)
    return out;
  size_t start = std::max<int>(frame.column - 1 - static_cast<int>(indent), 0);
  size_t end = start + 1;
  if (frame.endColumn > frame.column && frame.endLine <= frame.line)
    end = frame.endColumn - 1 - indent;
  else if (frame.endLine > frame.line)
    end = text.size(); // the expression goes on in the next line
  end = std::min(std::max(end, start + 1), std::max(text.size(), start + 1));
  return out + "\n      " + std::string(start, ' ') + std::string(end - start, '^');
}

std::string Error::render() const {
  std::string out = fmt::format("[{}] {}", entry->codeName, messageText);
  bool innermost = true;
  for (const SourceFrame &frame : sourceFrames) {
    out += fmt::format("\n  {} {}:{}:{} in {} '{}'", innermost ? "at" : "called from", frame.file,
                       frame.line, std::max(frame.column, 1), "kernel", frame.function);
    out += renderSource(frame);
    innermost = false;
  }
  for (const std::string &note : noteTexts)
    out += "\n  note: " + note;
  if (!helpText.empty())
    out += "\n  help: " + helpText;
  else if (!comparedSentence.empty())
    out += "\n" + comparedSentence;
  return out;
}

Error makeInternalError(const std::string &where, const std::string &message) {
  Error error = makeError(ErrorCode::E0900, fmt::arg("pass", where), fmt::arg("message", message),
                          fmt::arg("path", ""));
  error.setHelp("this is a bug; please report it with the kernel, its arguments and what "
                "'tilewright doctor' prints");
  return error;
}

} // namespace tilewright
