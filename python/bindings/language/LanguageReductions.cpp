//===- LanguageReductions.cpp - Functions that combine elements -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/support/Error.h"
#include "python/bindings/language/LanguageArguments.h"

namespace py = pybind11;

namespace tilewright {

using semantic::Arithmetic;
using semantic::CombineFunction;
using semantic::NanMode;
using semantic::Semantic;
using semantic::Value;

namespace {

/// The combine steps of the library, done here so that neither evaluator runs
/// Python for a sum. Results keep the type of their input.
using NativeStep = Value (*)(Semantic &, const Value &, const Value &);

Value keepType(Semantic &language, Value result, const Value &like) {
  return result.type.scalar == like.type.scalar ? result : language.cast(result, like.type.scalar);
}

template <Arithmetic op>
Value arithmeticStep(Semantic &language, const Value &lhs, const Value &rhs) {
  return language.arithmetic(op, lhs, rhs);
}
template <NanMode mode> Value maximumStep(Semantic &language, const Value &lhs, const Value &rhs) {
  return keepType(language, language.maximum(lhs, rhs, mode), lhs);
}
template <NanMode mode> Value minimumStep(Semantic &language, const Value &lhs, const Value &rhs) {
  return keepType(language, language.minimum(lhs, rhs, mode), lhs);
}

NativeStep findStep(const std::string &name) {
  static const std::pair<const char *, NativeStep> steps[] = {
      {"sum", arithmeticStep<Arithmetic::Add>}, {"prod", arithmeticStep<Arithmetic::Mul>},
      {"or", arithmeticStep<Arithmetic::Or>},   {"and", arithmeticStep<Arithmetic::And>},
      {"xor", arithmeticStep<Arithmetic::Xor>}, {"max", maximumStep<NanMode::None>},
      {"min", minimumStep<NanMode::None>},      {"max_nan", maximumStep<NanMode::All>},
      {"min_nan", minimumStep<NanMode::All>}};
  for (const auto &[candidate, step] : steps)
    if (name == candidate)
      return step;
  return nullptr;
}

CombineFunction nativeCombine(const std::string &name) {
  NativeStep step = findStep(name);
  if (!step) {
    std::string message = fmt::format("tl.reduce: no combine function is called '{}'", name);
    throw makeError(ErrorCode::E0117, fmt::arg("message", message),
                    fmt::arg("help", "pass a function of two values, such as a @jit function"));
  }
  return [step](const std::vector<Value> &lhs, const std::vector<Value> &rhs) {
    Semantic &language = requireContext("tl.reduce").semantic();
    std::vector<Value> results;
    for (size_t i = 0; i < lhs.size(); ++i)
      results.push_back(step(language, lhs[i], rhs[i]));
    return results;
  };
}

CombineFunction pythonCombine(py::object function) {
  return [function = std::move(function)](const std::vector<Value> &lhs,
                                          const std::vector<Value> &rhs) {
    EvaluationContext &context = requireContext("tl.reduce");
    py::tuple arguments(lhs.size() + rhs.size());
    size_t position = 0;
    for (const std::vector<Value> *side : {&lhs, &rhs})
      for (const Value &value : *side)
        arguments[position++] = wrapValue(value);
    // A function of the language itself needs no instance of its own.
    bool isBuiltin = py::hasattr(function, "__tilewright_builtin__");
    py::object returned = isBuiltin ? py::object(function(*arguments))
                                    : context.callFunction(function, arguments, py::dict());
    return combineResults(context.semantic(), returned);
  };
}

} // namespace

std::vector<Value> combineResults(Semantic &language, const py::object &returned,
                                  const char *what) {
  std::vector<Value> results;
  if (!PyTuple_Check(returned.ptr())) {
    results.push_back(toValue(language, returned, what));
    return results;
  }
  for (py::handle result : py::reinterpret_borrow<py::tuple>(returned))
    results.push_back(toValue(language, result, what));
  return results;
}

CombineFunction combineOf(const Arguments &a, int i) {
  py::object function = unwrapConstexpr(a.raw(i));
  return PyUnicode_Check(function.ptr()) ? nativeCombine(py::cast<std::string>(function))
                                         : pythonCombine(std::move(function));
}

} // namespace tilewright
