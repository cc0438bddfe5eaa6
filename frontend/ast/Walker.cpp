//===- Walker.cpp - One module while it is made ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/Walker.h"

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/CallArguments.h"
#include "frontend/python/LanguageNames.h"
#include "frontend/python/StatementErrors.h"

#include "mlir/IR/Location.h"

namespace py = pybind11;

namespace tilewright {

Walker::Walker(mlir::MLIRContext &context, std::string target, py::dict options, Purpose purpose)
    : builder(&context,
              [this, unknown = mlir::UnknownLoc::get(&context)]() -> mlir::Location {
                return stack.empty() ? mlir::Location(unknown) : stack.back()->location();
              }),
      meaning(builder), target(std::move(target)), purpose(purpose), options(std::move(options)) {
  meaning.setOverflowChecks(wantsOverflowChecks(this->options));
}

py::object Walker::option(const std::string &name) const {
  return options.contains(name) ? py::object(options[py::str(name)]) : py::none();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void Walker::checkRecursion(py::handle function, const py::dict &bound) const {
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!stack[i]->functionObject().is(function))
      continue;
    bool isSame = true;
    for (auto [key, value] : bound)
      isSame = isSame && isSameArgument(value, stack[i]->boundArguments()[key]);
    if (!isSame && stack.size() < maxCallDepth)
      continue;
    std::vector<std::string> chain;
    for (size_t j = i; j < stack.size(); ++j)
      chain.push_back(stack[j]->functionName());
    throw recursionError(chain, functionName(function));
  }
}

py::object Walker::callFunction(py::handle jitFunction, py::tuple args, py::dict kwargs) {
  py::object function = LanguageNames::get().innerJitFunction(jitFunction);
  if (!function)
    throw makeError(ErrorCode::E0123, fmt::arg("n", py::cast<std::string>(py::repr(jitFunction))));
  py::dict bound = bindArguments(function, args, kwargs);
  checkRecursion(function, bound);
  FunctionWalker instance(*this, function, bound);
  stack.push_back(&instance);
  // The stack is popped by hand: an exception must still find its depth, and
  // nothing between here and the pop may leave another way.
  try {
    py::object result = instance.run();
    stack.pop_back();
    return result;
  } catch (...) {
    stack.pop_back();
    throw;
  }
}

void Walker::runKernel(py::handle jitFunction, const py::dict &bound) {
  FunctionWalker instance(*this, jitFunction, bound);
  stack.push_back(&instance);
  try {
    instance.run();
    stack.pop_back();
  } catch (...) {
    stack.pop_back();
    throw;
  }
}

//===----------------------------------------------------------------------===//
// Python's exceptions
//===----------------------------------------------------------------------===//

static std::string textOf(py::handle object, const char *attribute) {
  return py::cast<std::string>(py::str(object.attr(attribute)));
}

/// One of our own errors that has been through Python, with all it carried.
static Error fromOwnException(py::handle exception, const ErrorEntry &entry) {
  Error error(entry.code, textOf(exception, "message"), textOf(exception, "help"));
  for (py::handle place : exception.attr("frames")) {
    SourceFrame frame;
    frame.file = textOf(place, "file");
    frame.function = textOf(place, "function");
    frame.line = py::cast<int>(place.attr("line"));
    frame.column = py::cast<int>(place.attr("column"));
    frame.endLine = py::cast<int>(place.attr("end_line"));
    frame.endColumn = py::cast<int>(place.attr("end_column"));
    frame.sourceLine = textOf(place, "source_line");
    error.addFrame(std::move(frame));
  }
  for (py::handle note : exception.attr("notes"))
    error.addNote(py::cast<std::string>(py::str(note)));
  error.setSentence(textOf(exception, "sentence"));
  return error;
}

Error Walker::translate(py::error_already_set &exception) {
  if (!exception.matches(PyExc_Exception))
    throw; // KeyboardInterrupt, SystemExit: not an answer to the kernel
  py::object value = exception.value();
  py::object code = py::getattr(value, "code", py::none());
  if (py::isinstance<py::str>(code) && py::hasattr(value, "frames"))
    if (const ErrorEntry *entry = findErrorEntry(py::cast<std::string>(code))) {
      // Our own error may have crossed Python twice; keep the first cause.
      if (py::object inner = py::getattr(value, "__cause__", py::none()); !inner.is_none())
        cause = inner;
      return fromOwnException(value, *entry);
    }
  if (exception.matches(PyExc_TypeError)) {
    py::object trace = exception.trace() ? py::object(exception.trace()) : py::none();
    py::object better = py::none();
    py::module_ basics = py::module_::import("tilewright.language.basics");
    if (py::cast<bool>(basics.attr("is_of_call")(trace)))
      better = py::module_::import("tilewright.language.core")
                   .attr("explain_type_error")(py::str(value));
    if (!better.is_none())
      return fromOwnException(better, *findErrorEntry(textOf(better, "code")));
  }
  cause = value;
  std::string kind = Py_TYPE(value.ptr())->tp_name;
  std::string message = py::cast<std::string>(py::str(value));
  return makeError(ErrorCode::E0117, fmt::arg("message", message.empty() ? kind : message),
                   fmt::arg("help", kind + " was raised by Python code that runs at compile time"));
}

} // namespace tilewright
