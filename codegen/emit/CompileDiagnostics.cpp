//===- CompileDiagnostics.cpp - MLIR's errors as coded ones ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/CompileDiagnostics.h"

#include <fstream>

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

/// Line `number` of `file`, empty where it cannot be read: a location may name
/// a file of another machine.
static std::string readSourceLine(const std::string &file, unsigned number) {
  std::ifstream stream(file);
  std::string line;
  for (unsigned index = 0; index < number; ++index)
    if (!std::getline(stream, line))
      return "";
  return line;
}

static void collectFrames(Location location, llvm::StringRef function,
                          std::vector<SourceFrame> &frames) {
  if (auto site = llvm::dyn_cast<CallSiteLoc>(location)) {
    collectFrames(site.getCallee(), "", frames);
    collectFrames(site.getCaller(), "", frames);
  } else if (auto name = llvm::dyn_cast<NameLoc>(location)) {
    collectFrames(name.getChildLoc(), name.getName(), frames);
  } else if (auto fused = llvm::dyn_cast<FusedLoc>(location)) {
    if (!fused.getLocations().empty())
      collectFrames(fused.getLocations().front(), function, frames);
  } else if (auto place = llvm::dyn_cast<FileLineColLoc>(location)) {
    SourceFrame frame;
    frame.file = place.getFilename().str();
    frame.function = function.str();
    frame.line = place.getLine();
    frame.column = place.getColumn();
    frame.sourceLine = readSourceLine(frame.file, place.getLine());
    frames.push_back(std::move(frame));
  }
}

std::vector<SourceFrame> framesOfLocation(Location location) {
  std::vector<SourceFrame> frames;
  collectFrames(location, "", frames);
  return frames;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
          take(diagnostic);
        return success();
      }) {}

void DiagnosticCollector::take(Diagnostic &diagnostic) {
  message = diagnostic.str();
  frames = framesOfLocation(diagnostic.getLocation());
  for (Diagnostic &note : diagnostic.getNotes()) {
    // MLIR adds the op itself, in words that are not the user's.
    std::string text = note.str();
    if (!llvm::StringRef(text).starts_with("see current operation"))
      notes.push_back(std::move(text));
  }
}

void DiagnosticCollector::raiseCoded(const std::string &help) const {
  if (message.size() <= 8 || message[0] != '[')
    return;
  const ErrorEntry *entry = findErrorEntry(message.substr(1, 5));
  if (!entry)
    return;
  Error error(entry->code, message.substr(8),
              !help.empty()   ? help
              : notes.empty() ? ""
                              : notes.back());
  for (size_t index = 0; index + 1 < notes.size(); ++index)
    error.addNote(notes[index]);
  addFrames(error);
  throw error;
}

void DiagnosticCollector::addFrames(Error &error) const {
  for (const SourceFrame &frame : frames)
    error.addFrame(frame);
}

} // namespace tilewright::codegen
