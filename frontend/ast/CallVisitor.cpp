//===- CallVisitor.cpp - Calls in a kernel --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: which callables a kernel may call, and how: jit functions are inlined;
// functions of the language run as Python with this walker as context; what
// computes at compile time gets compile-time arguments only.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/ast/LanguageNames.h"

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
  py::dict kwargs;
  py::tuple args = visitArguments(node, kwargs);
  call(callee, args, kwargs, node);
  currentNode = outer;
}

py::object FunctionWalker::visitCall(Handle node) {
  py::object callee = visitCallee(field(node, f.func));
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

/// Whether a bound method belongs to a value of the kernel: a tensor or record,
/// a type, or another object of the language.
static bool isMethodOfValue(py::handle self) {
  return isTensor(self) || LanguageNames::isOfLanguage(py::type::of(self)) ||
         PyObject_HasAttrString(self.ptr(), "__tilewright_flatten__");
}

/// `_replace` and `_asdict` of a namedtuple move values without looking at them.
static bool isNamedTupleHelper(py::handle self, py::handle callee) {
  if (!PyTuple_Check(self.ptr()) || !py::hasattr(self, "_fields"))
    return false;
  std::string name = py::cast<std::string>(py::str(py::getattr(callee, "__name__", py::str())));
  return name == "_replace" || name == "_asdict";
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

static bool isMathFunction(py::handle callee) {
  py::object module = py::getattr(callee, "__module__", py::none());
  if (!py::isinstance<py::str>(module))
    return false;
  std::string name = py::cast<std::string>(module);
  return name == "math" || name == "copy";
}

/// Classes that may be instantiated: those of the language, and namedtuples.
static bool isRecordClass(py::handle callee) {
  if (!PyType_Check(callee.ptr()))
    return false;
  bool isNamedTuple =
      PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(callee.ptr()), &PyTuple_Type) &&
      py::hasattr(callee, "_fields");
  return isNamedTuple || LanguageNames::isOfLanguage(callee) ||
         py::hasattr(callee, "__tilewright_flatten__");
}

py::object FunctionWalker::call(Handle callee, const py::tuple &args, const py::dict &kwargs,
                                Handle node) {
  const LanguageNames &names = LanguageNames::get();
  if (std::optional<Object> result = callBuiltin(callee, args, kwargs, node))
    return std::move(*result);
  if (names.isMarked(callee, names.builtinMark))
    return callPython(callee, args, kwargs);
  if (names.isConstexprObject(callee)) {
    // `constexpr(f)` declares a plain Python function as compile-time code.
    py::object inner = unwrapConstexpr(callee);
    if (PyFunction_Check(inner.ptr()) && !names.isMarked(inner, names.constexprFunctionMark))
      return callStatic(inner, args, kwargs, node);
    return call(inner, args, kwargs, node);
  }
  if (callee.is(names.constexprClass)) {
    callStatic(callee, args, kwargs, node);
    return unwrapConstexpr(args.empty() ? py::none() : py::object(args[0]));
  }
  if (names.isMarked(callee, names.constexprFunctionMark))
    return callStatic(callee, args, kwargs, node);
  if (py::object function = names.innerJitFunction(callee))
    return walker.callFunction(function, args, kwargs);
  if (isRecordClass(callee))
    return callPython(callee, args, kwargs);
  if (isMathFunction(callee))
    return callStatic(callee, args, kwargs, node);
  py::object self = py::getattr(callee, "__self__", py::none());
  if (!self.is_none() && !PyModule_Check(self.ptr()))
    return isMethodOfValue(self) || isNamedTupleHelper(self, callee)
               ? callPython(callee, args, kwargs)
               : callStatic(callee, args, kwargs, node);
  // Helpers of the language package that compute with types and shapes.
  bool isCallable = PyCallable_Check(callee.ptr()) != 0;
  if (isCallable && LanguageNames::isOfLanguage(callee))
    return callPython(callee, args, kwargs);
  bool takesValues = false;
  for (Handle item : args)
    takesValues |= isTensor(item);
  if (isCallable && !takesValues && isReachedThroughModule(field(node, f.func)))
    return callStatic(callee, args, kwargs, node);
  throw makeError(ErrorCode::E0123, fmt::arg("n", unparse(field(node, f.func))));
}

} // namespace tilewright
