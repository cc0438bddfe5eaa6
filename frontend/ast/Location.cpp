//===- Location.cpp - Where the walker is ---------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the current node as an MLIR location and as a frame of an error.
//
// Form of a location: file:line:column under the function's name; below a call,
// a CallSiteLoc whose caller is the place of the call. Line tables and remarks
// read it back.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/LanguageNames.h"

#include "mlir/IR/Location.h"

namespace py = pybind11;

namespace tilewright {

mlir::Location FunctionWalker::location() {
  if (cachedLocation && cachedNode.is(currentNode))
    return *cachedLocation;
  mlir::MLIRContext *context = opBuilder().getContext();
  if (!fileAttribute) {
    fileAttribute = mlir::StringAttr::get(context, file);
    nameAttribute = mlir::StringAttr::get(context, name);
  }
  int line = currentNode ? intField(currentNode, f.lineno, 0) : 0;
  int column = currentNode ? intField(currentNode, f.col_offset, -1) + 1 : 0;
  mlir::Location place = mlir::FileLineColLoc::get(fileAttribute, line, column);
  mlir::Location named = mlir::NameLoc::get(nameAttribute, place);
  cachedLocation =
      callerLocation ? mlir::Location(mlir::CallSiteLoc::get(named, *callerLocation)) : named;
  cachedNode = currentNode;
  return *cachedLocation;
}

SourceFrame FunctionWalker::sourceFrame() const {
  SourceFrame frame;
  frame.file = file;
  frame.function = name;
  if (!currentNode)
    return frame;
  frame.line = intField(currentNode, f.lineno, 0);
  frame.column = intField(currentNode, f.col_offset, -1) + 1;
  frame.endLine = intField(currentNode, f.end_lineno, frame.line);
  frame.endColumn = intField(currentNode, f.end_col_offset, -1) + 1;
  // A compound statement is named by its first line: its body is not the cause.
  try {
    frame.sourceLine = py::cast<std::string>(py::str(function.attr("source_line")(frame.line)));
  } catch (py::error_already_set &) {
    frame.sourceLine.clear(); // the file has gone; the numbers are still right
  }
  return frame;
}

void FunctionWalker::refuse(const std::string &key) {
  auto [construct, alternative] = LanguageNames::forbidden(key);
  throw makeError(ErrorCode::E0102, fmt::arg("stmt", construct),
                  fmt::arg("alternative", alternative));
}

void FunctionWalker::refuseNode(Handle node) {
  currentNode = node;
  refuse(Py_TYPE(node.ptr())->tp_name);
}

void FunctionWalker::requireStatic(Handle value, Handle node) {
  bool isRunTime = isTensor(value);
  if (PyTuple_Check(value.ptr()))
    for (Handle item : py::reinterpret_borrow<py::tuple>(value))
      isRunTime |= isTensor(item);
  if (!isRunTime)
    return;
  currentNode = node;
  throw makeError(ErrorCode::E0112, fmt::arg("n", unparse(node)));
}

} // namespace tilewright
