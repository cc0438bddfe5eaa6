//===- LanguageArguments.h - The arguments of a function ------ -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the arguments of one call of a function of the language, as the kinds that it
// wants, and functions that combine elements (tl.reduce), by name or of the user.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LANGUAGE_LANGUAGEARGUMENTS_H
#define TILEWRIGHT_PYTHON_BINDINGS_LANGUAGE_LANGUAGEARGUMENTS_H

#include "frontend/python/EvaluationContext.h"
#include "frontend/python/PythonValue.h"

namespace tilewright {

/// The arguments of one call, already bound to positions.
class Arguments {
public:
  Arguments(EvaluationContext &context, const char *function, PyObject *const *values)
      : context(context), function(function), values(values) {}

  semantic::Semantic &language() const { return context.semantic(); }
  EvaluationContext &evaluator() const { return context; }
  pybind11::handle raw(int i) const { return values[i]; }
  bool isNone(int i) const { return unwrapConstexpr(values[i]).is_none(); }

  semantic::Operand operand(int i, const char *name) const {
    if (isTensor(values[i]))
      return semantic::Operand(unwrapValue(values[i]));
    return toOperand(values[i], text(name));
  }
  std::optional<semantic::Operand> optionalOperand(int i, const char *name) const {
    if (values[i] == Py_None || isNone(i))
      return std::nullopt;
    return operand(i, name);
  }
  semantic::Value value(int i, const char *name) const {
    if (isTensor(values[i]))
      return unwrapValue(values[i]);
    return toValue(language(), values[i], text(name));
  }
  int64_t integer(int i, const char *name) const {
    return PyLong_CheckExact(values[i]) ? PyLong_AsLongLong(values[i])
                                        : toInt(values[i], text(name));
  }
  bool flag(int i) const {
    if (values[i] == Py_True || values[i] == Py_False)
      return values[i] == Py_True;
    int result = PyObject_IsTrue(unwrapConstexpr(values[i]).ptr());
    if (result < 0)
      throw pybind11::error_already_set();
    return result != 0;
  }
  std::string string(int i) const {
    pybind11::object object = unwrapConstexpr(values[i]);
    return object.is_none() ? std::string() : pybind11::cast<std::string>(pybind11::str(object));
  }
  std::vector<int64_t> integers(int i, const char *name) const {
    return toIntList(values[i], text(name));
  }
  semantic::DType dtype(int i, const char *name) const { return toDType(values[i], text(name)); }
  semantic::NanMode nanMode(int i) const {
    return flag(i) ? semantic::NanMode::All : semantic::NanMode::None;
  }

  std::vector<semantic::Operand> operandTuple(int i, const char *name) const {
    std::vector<semantic::Operand> result;
    for (pybind11::handle item : pybind11::reinterpret_borrow<pybind11::tuple>(values[i]))
      result.push_back(toOperand(item, text(name)));
    return result;
  }
  std::vector<semantic::Value> valueTuple(int i, const char *name) const {
    std::vector<semantic::Value> result;
    for (pybind11::handle item : pybind11::reinterpret_borrow<pybind11::tuple>(values[i]))
      result.push_back(toValue(language(), item, text(name)));
    return result;
  }

private:
  std::string text(const char *name) const { return std::string(function) + ": " + name; }

  EvaluationContext &context;
  const char *function;
  PyObject *const *values;
};

/// Argument `i`, a name of the library's steps or a function of the user.
semantic::CombineFunction combineOf(const Arguments &arguments, int i);

/// What a jit function or builtin returned, as values.
std::vector<semantic::Value>
combineResults(semantic::Semantic &language, const pybind11::object &returned,
               const char *what = "the result of the combine function");

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LANGUAGE_LANGUAGEARGUMENTS_H
