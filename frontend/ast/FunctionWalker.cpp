//===- FunctionWalker.cpp - One instance of a function --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"

namespace py = pybind11;

namespace tilewright {

FunctionWalker::FunctionWalker(Walker &walker, Handle function, const py::dict &arguments)
    : walker(walker), nodes(AstNodes::get()), f(nodes.fields),
      function(py::reinterpret_borrow<py::object>(function)), arguments(arguments),
      name(py::cast<std::string>(py::str(function.attr("__name__")))),
      file(py::cast<std::string>(py::str(function.attr("file")))), returnValue(py::none()) {
  if (!walker.stack.empty())
    callerLocation = walker.stack.back()->location();
  for (auto [id, value] : arguments)
    scope.set(id, value);
}

py::object FunctionWalker::run() {
  py::object definition;
  try {
    definition = function.attr("parse")();
    currentNode = definition;
    py::object parameters = field(definition, f.args);
    if (!field(parameters, f.kwarg).is_none())
      refuse("KeywordArguments");
    visitStatements(field(definition, f.body), 0, nullptr);
    currentNode = {};
    return returnValue.is(nothingReturned()) ? py::none() : std::move(returnValue);
  } catch (Error &error) {
    addFrameTo(error);
    throw;
  } catch (py::error_already_set &exception) {
    Error error = walker.translate(exception);
    addFrameTo(error);
    throw error;
  }
}

/// The chain is cut in the middle: a recursion without end would fill screens.
void FunctionWalker::addFrameTo(Error &error) const {
  constexpr size_t maxFrames = 8;
  bool isKernel = walker.stack.size() == 1;
  if (currentNode && (isKernel || error.frames().size() < maxFrames))
    error.addFrame(sourceFrame());
}

} // namespace tilewright
