//===- Builtins.cpp - Python's functions in a kernel ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the built-in functions of Python that a kernel may call. `min`, `max`,
// `abs`, `sum` work on tensors too; `print` becomes a print on the device; the
// others compute at compile time.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/LanguageNames.h"

namespace py = pybind11;

namespace tilewright {

static bool anyTensor(const py::tuple &args) {
  for (py::handle item : args)
    if (isTensor(item))
      return true;
  return false;
}

bool FunctionWalker::isInstance(Handle object, Handle classes) {
  if (PyTuple_Check(classes.ptr())) {
    for (Handle item : py::reinterpret_borrow<py::tuple>(classes))
      if (isInstance(object, item))
        return true;
    return false;
  }
  // constexpr objects are held bare: every scalar known now is one.
  if (classes.is(LanguageNames::get().constexprClass))
    return !isTensor(object) && !PyTuple_Check(object.ptr());
  int result = PyObject_IsInstance(object.ptr(), classes.ptr());
  if (result < 0)
    throw py::error_already_set();
  return result == 1;
}

/// The sum of a tuple, from the start that may follow it; that of a tile is tl.sum.
py::object FunctionWalker::addElements(const py::tuple &args) {
  py::object total = args.size() > 1 ? py::object(args[1]) : py::int_(0);
  for (Handle item : py::reinterpret_borrow<py::tuple>(args[0]))
    total = binaryOperator(NodeKind::Add, total, item);
  return total;
}

/// min and max of tensors by Semantic, pair by pair; one alone is itself.
py::object FunctionWalker::foldExtremum(bool isMinimum, const py::tuple &args) {
  if (args.size() == 1)
    return args[0];
  std::string what = isMinimum ? "argument of 'min'" : "argument of 'max'";
  semantic::Operand result = toOperand(args[0], what);
  for (size_t i = 1; i < args.size(); ++i) {
    semantic::Operand next = toOperand(args[i], what);
    result = isMinimum ? semantic().minimum(result, next, semantic::NanMode::None)
                       : semantic().maximum(result, next, semantic::NanMode::None);
  }
  return wrapValue(std::get<semantic::Value>(result));
}

void FunctionWalker::devicePrint(const py::tuple &args) {
  std::string prefix;
  std::vector<semantic::Operand> values;
  for (Handle item : args) {
    // Text between values has no place in the one-line-per-element form.
    if (py::isinstance<py::str>(item))
      prefix += (prefix.empty() ? "" : " ") + py::cast<std::string>(item);
    else
      values.push_back(toOperand(item, "argument of 'print'"));
  }
  semantic().print(prefix, values, /*hex=*/false);
}

py::object FunctionWalker::callBuiltin(Handle callee, const py::tuple &args, const py::dict &kwargs,
                                       Handle node) {
  Builtin builtin = LanguageNames::get().builtin(callee);
  // The commonest error would be a message of Python about the wrong thing.
  bool takesOne = builtin == Builtin::Abs || builtin == Builtin::Len;
  bool isStatic = LanguageNames::get().isStaticBuiltin(callee);
  if (isStatic || (takesOne && args.size() != 1))
    return callStatic(callee, args, kwargs, node);
  switch (builtin) {
  case Builtin::Print:
    if (!kwargs.empty())
      throw makeError(ErrorCode::E0122, fmt::arg("name", "print"),
                      fmt::arg("problem", "no keyword arguments are taken"),
                      fmt::arg("sig", "print(prefix, *values)"));
    devicePrint(args);
    return py::none();
  case Builtin::IsInstance:
    if (args.size() != 2)
      return callPython(callee, args, kwargs);
    return py::bool_(isInstance(args[0], args[1]));
  case Builtin::GetAttr:
  case Builtin::HasAttr:
    return callPython(callee, args, kwargs);
  case Builtin::Len:
    // A tile has a length: that of its first dimension.
    if (isTensor(args[0]))
      return args[0].attr("shape")[py::int_(0)];
    return callPython(callee, args, kwargs);
  case Builtin::List:
    return py::tuple(callPython(callee, args, kwargs)); // tuples and lists are one thing here
  case Builtin::Tuple:
    return callPython(callee, args, kwargs);
  case Builtin::Min:
  case Builtin::Max: {
    py::tuple items = args.size() == 1 && PyTuple_Check(args[0].ptr()) ? py::tuple(args[0]) : args;
    return anyTensor(items) ? foldExtremum(builtin == Builtin::Min, items)
                            : callPython(callee, args, kwargs);
  }
  case Builtin::Abs:
    if (isTensor(args[0]))
      return wrapValue(semantic().abs(unwrapValue(args[0])));
    return callPython(callee, args, kwargs);
  case Builtin::Sum:
    if (args.empty() || !PyTuple_Check(args[0].ptr()))
      return callStatic(callee, args, kwargs, node);
    return addElements(args);
  case Builtin::Zip:
  case Builtin::Enumerate:
    return py::tuple(callPython(callee, args, kwargs));
  case Builtin::Range:
    return py::tuple(callStatic(callee, args, kwargs, node)); // outside `for`: its values
  default:
    break;
  }
  return callPython(callee, args, kwargs);
}

} // namespace tilewright
