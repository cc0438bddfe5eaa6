//===- CallVisitor.cpp - Calls in a kernel --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: which callables a kernel may call, and how. Jit functions are inlined.
// Functions of the language run as Python functions, with this walker as their
// context. Functions that compute at compile time get compile-time arguments
// only.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/LanguageNames.h"

namespace py = pybind11;

namespace tilewright {

py::object FunctionWalker::visitCallee(Handle node) {
  Handle outer = currentNode;
  currentNode = node;
  NodeKind kind = nodes.kind(node);
  py::object callee = kind == NodeKind::Name        ? lookup(field(node, f.id))
                      : kind == NodeKind::Attribute ? visitAttribute(node, /*keepWrapper=*/true)
                                                    : visitRaw(node, kind);
  currentNode = outer;
  return callee;
}

py::tuple FunctionWalker::visitArguments(Handle node, py::dict &kwargs) {
  py::tuple args(visitElements(field(node, f.args)));
  for (Handle keyword : py::reinterpret_borrow<py::list>(field(node, f.keywords))) {
    py::object name = field(keyword, f.arg);
    if (name.is_none())
      refuse("KeywordArguments");
    kwargs[name] = visitExpression(field(keyword, f.value));
  }
  return args;
}

/// A call as a statement: its value is lost, which some functions refuse.
void FunctionWalker::visitCallStatement(Handle node) {
  Handle outer = currentNode;
  currentNode = node;
  py::object callee = visitCallee(field(node, f.func));
  py::object mustUse = py::getattr(callee, "_must_use_result", py::none());
  if (PyObject_IsTrue(mustUse.ptr()) == 1) {
    std::string name = unparse(field(node, f.func));
    Error error = makeError(
        ErrorCode::E0117, fmt::arg("message", fmt::format("the result of '{}' is not used", name)),
        fmt::arg("help", "assign it: the function changes nothing by itself"));
    if (py::isinstance<py::str>(mustUse)) {
      error.setHelp("");
      error.setSentence(fmt::format("The result of {} is not being used. {}", name,
                                    py::cast<std::string>(mustUse)));
    }
    throw error;
  }
  if (!look(callee, node)) {
    py::dict kwargs;
    py::tuple args = visitArguments(node, kwargs);
    call(callee, args, kwargs, node);
  }
  currentNode = outer;
}

py::object FunctionWalker::visitCall(Handle node) {
  py::object callee = visitCallee(field(node, f.func));
  if (std::optional<Object> looked = look(callee, node))
    return std::move(*looked);
  py::dict kwargs;
  py::tuple args = visitArguments(node, kwargs);
  return call(callee, args, kwargs, node);
}

//===----------------------------------------------------------------------===//
// Kinds of callables
//===----------------------------------------------------------------------===//

py::object FunctionWalker::callPython(Handle callee, const py::tuple &args,
                                      const py::dict &kwargs) {
  PyObject *result = PyObject_Call(callee.ptr(), args.ptr(), kwargs.ptr());
  if (!result)
    throw py::error_already_set(); // Walker::translate words wrong calls
  return unwrapConstexpr(py::reinterpret_steal<py::object>(result));
}

/// A call that runs now: all arguments must be known.
py::object FunctionWalker::callStatic(Handle callee, const py::tuple &args, const py::dict &kwargs,
                                      Handle node) {
  // The argument list and the nodes go in step unless something was spread.
  py::list argumentNodes(field(node, f.args));
  for (size_t i = 0; i < args.size(); ++i)
    requireStatic(args[i], args.size() == argumentNodes.size() ? Handle(argumentNodes[i]) : node);
  for (Handle keyword : py::reinterpret_borrow<py::list>(field(node, f.keywords)))
    requireStatic(kwargs[field(keyword, f.arg)], field(keyword, f.value));
  return callPython(callee, args, kwargs);
}

/// Whether `np.log2` or `torch.finfo` was written: what a module offers may
/// compute with constants, as its numbers may be read.
bool FunctionWalker::isReachedThroughModule(Handle calleeNode) {
  py::object node = py::reinterpret_borrow<py::object>(calleeNode);
  if (nodes.kind(node) != NodeKind::Attribute)
    return false;
  while (nodes.kind(node) == NodeKind::Attribute)
    node = field(node, f.value);
  if (nodes.kind(node) != NodeKind::Name || scope.find(field(node, f.id)))
    return false;
  return PyModule_Check(lookup(field(node, f.id)).ptr());
}

/// What lets a person look at values does nothing while a kernel is rehearsed, whatever it
/// is given; modules are imported.
std::optional<py::object> FunctionWalker::look(Handle callee, Handle node) {
  const LanguageNames &names = LanguageNames::get();
  if (!walker.isRehearsal() || !names.isForLooking(callee))
    return std::nullopt;
  if (!callee.is(names.importFunction))
    return py::none();
  py::dict kwargs;
  py::tuple args = visitArguments(node, kwargs);
  return callPython(callee, args, kwargs);
}

py::object FunctionWalker::call(Handle callee, const py::tuple &args, const py::dict &kwargs,
                                Handle node) {
  const LanguageNames &names = LanguageNames::get();
  py::object plain = unwrapConstexpr(callee);
  switch (names.kindOfCallee(callee)) {
  case CalleeKind::OfPython:
    return callBuiltin(plain, args, kwargs, node);
  case CalleeKind::ToConstant:
    // A run-time value stays one, as under the annotation.
    if (args.size() == 1 && kwargs.empty() && isTensor(args[0]))
      return args[0];
    callStatic(plain, args, kwargs, node);
    return unwrapConstexpr(args.empty() ? py::none() : py::object(args[0]));
  case CalleeKind::Language:
    return callPython(plain, args, kwargs);
  case CalleeKind::Library:
    return callPython(names.libraryFunction(plain), args, kwargs);
  case CalleeKind::Static:
    return callStatic(plain, args, kwargs, node);
  case CalleeKind::Kernel:
    return walker.callFunction(plain, args, kwargs);
  case CalleeKind::Foreign:
    break;
  }
  bool takesValues = false;
  for (Handle item : args)
    takesValues |= isTensor(item);
  if (PyCallable_Check(plain.ptr()) && !takesValues && isReachedThroughModule(field(node, f.func)))
    return callStatic(plain, args, kwargs, node);
  std::string text = unparse(field(node, f.func));
  Error error = makeError(ErrorCode::E0123, fmt::arg("n", text));
  if (py::isinstance(plain, names.dtypeClass))
    error.setHelp(py::cast<std::string>(py::module_::import("tilewright.language.elsewhere")
                                            .attr("instead_of_calling_dtype")(text)));
  throw error;
}

} // namespace tilewright
