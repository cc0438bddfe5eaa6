//===- BindingHeaders.h - Precompiled headers of the bindings ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers that nearly every binding includes, compiled once for each
// interpreter. No file may rely on it: each includes what it uses.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_BINDINGHEADERS_H
#define TILEWRIGHT_PYTHON_BINDINGS_BINDINGHEADERS_H

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#endif // TILEWRIGHT_PYTHON_BINDINGS_BINDINGHEADERS_H
