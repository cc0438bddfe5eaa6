//===- Module.cpp - The extension module tilewright._core -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/Bindings.h"

namespace py = pybind11;

// How threads share it is said in LaunchState.h; without Python's own lock, too.
PYBIND11_MODULE(_core, module, py::mod_gil_not_used()) {
  module.doc() = "Compiler, interpreter and launcher of Tilewright.";
  tilewright::bindRuntime(module); // first: errors of the others need it
  tilewright::bindLanguage(module);
  tilewright::bindInterpreter(module);
  tilewright::bindCompile(module);
  tilewright::bindCache(module);
  tilewright::bindAutotune(module);
  tilewright::bindLaunch(module);
  tilewright::bindProfile(module);
  tilewright::bindXlaCalls(module);
}
