//===- LanguageNames.h - Objects the walker must recognise ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the few Python objects whose calls or uses have a meaning of their own
// in the walker (`range`, `tl.constexpr`, `print`, ...), looked up once, and the
// classes of callables.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_LANGUAGENAMES_H
#define TILEWRIGHT_FRONTEND_PYTHON_LANGUAGENAMES_H

#include <pybind11/pybind11.h>

#include <set>
#include <string>
#include <unordered_map>

namespace tilewright {

/// Python's own functions that a kernel may call.
enum class Builtin {
  None,
  Print,
  Range,
  Len,
  Float,
  Int,
  Bool,
  Str,
  List,
  Tuple,
  IsInstance,
  GetAttr,
  HasAttr,
  Min,
  Max,
  Abs,
  Round,
  Any,
  All,
  Sum,
  Zip,
  Enumerate,
};

/// How a kernel calls something.
enum class CalleeKind {
  OfPython,   // one of Builtin
  Language,   // runs while the kernel is evaluated, and takes run-time values
  Library,    // as Language, of a library that has marked it as Triton marks its own
  ToConstant, // tl.constexpr, which gives back what is known at compile time
  Static,     // computes with what is known at compile time
  Kernel,     // a jit function, perhaps inside of tuners
  Foreign,    // of the host: as Static where it is written module.name, else refused
};

class LanguageNames {
public:
  static const LanguageNames &get();

  pybind11::object constexprClass, rangeClass, staticRangeClass, dtypeClass, tensorClass;
  pybind11::object deviceAssert, importFunction;
  pybind11::object typeOf; // of values that have no attribute `type`
  pybind11::object builtinMark, tritonMark, constexprFunctionMark; // interned attribute names
  pybind11::object libraryFunction;                                // basics.function_of_a_library

  Builtin builtin(pybind11::handle callee) const;
  CalleeKind kindOfCallee(pybind11::handle callee) const;
  /// Whether this function of Python computes with what is known at compile time alone.
  bool isStaticBuiltin(pybind11::handle callee) const;
  /// Whether it is a function that lets a person look at values: print, breakpoint, those
  /// of debuggers.
  bool isForLooking(pybind11::handle callee) const;
  bool isDebugger(const std::string &module) const;
  bool isJitFunction(pybind11::handle object) const;
  /// The jit function inside tuning and heuristics wrappers, or null.
  pybind11::object innerJitFunction(pybind11::handle object) const;
  bool isMarked(pybind11::handle object, pybind11::handle mark) const;
  bool isConstexprObject(pybind11::handle object) const;
  /// Whether an object or its class is defined in the language package.
  static bool isOfLanguage(pybind11::handle object);
  /// (what to call it, alternative) of a construct that kernels may not use;
  /// `key` is an AST class name or one of the table's own keys.
  static std::pair<std::string, std::string> forbidden(const std::string &key);

private:
  LanguageNames();
  std::unordered_map<PyObject *, Builtin> builtins;
  std::set<PyObject *> forLooking;
  std::set<std::string> debuggers;
};

/// Whether the annotation (a node) of a name in `jitFunction` declares a compile-time value:
/// tl.constexpr under any name, or a text or subscript that speaks of it.
bool isConstexprAnnotation(pybind11::handle jitFunction, pybind11::handle annotation);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_LANGUAGENAMES_H
