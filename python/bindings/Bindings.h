//===- Bindings.h - The parts of the extension module -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_BINDINGS_H
#define TILEWRIGHT_PYTHON_BINDINGS_BINDINGS_H

#include <pybind11/pybind11.h>

#include <string>

namespace tilewright {

/// A function of any of CPython's calling conventions as its method tables hold
/// it. By way of void (*)(), the type that compilers let stand for all others.
template <typename Function> PyCFunction asMethod(Function *function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

/// Error translation, knobs, driver, assembler.
void bindRuntime(pybind11::module_ &module);
/// `kernel[grid]` and the dispatcher behind it.
void bindLaunch(pybind11::module_ &module);
/// The submodule `language`: tensor and the functions of the language.
void bindLanguage(pybind11::module_ &module);
/// dtype, pointer_type and block_type, into that submodule.
void bindLanguageTypes(pybind11::module_ &language);
/// The context of a natively running kernel and its memory.
void bindInterpreter(pybind11::module_ &module);
/// The log of launches that a profile keeps.
void bindProfile(pybind11::module_ &module);
/// Handlers of XLA's for kernels in programs of JAX.
void bindXlaCalls(pybind11::module_ &module);
/// The cache on disk.
void bindCache(pybind11::module_ &module);
/// The tuner's decisions.
void bindAutotune(pybind11::module_ &module);
/// compile_kernel and IR tools.
void bindCompile(pybind11::module_ &module);

/// A digest of the linked library: part of every key, so that a kernel is never
/// taken for one of another compiler build.
std::string buildId();

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_BINDINGS_H
