//===- KernelPlaces.h - Numbers for lines of kernels ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a small number for the line of the kernel that is running, which an access
// can keep. Every load and store asks for it. So code objects are compared by
// address, and lines are read from their tables only where a report needs them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_KERNELPLACES_H
#define TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_KERNELPLACES_H

#include "ir/support/Error.h"
#include "runtime/interpreter/AccessOrder.h"

#include <pybind11/pybind11.h>
#include <unordered_map>
#include <vector>

namespace tilewright {

class KernelPlaces {
public:
  /// The innermost line that is not one of the language's own functions.
  interpreter::PlaceId current();
  /// "kernel.py:12: tl.store(out, x)".
  std::string describe(interpreter::PlaceId place) const;
  SourceFrame frameOf(interpreter::PlaceId place) const;

private:
  /// What `current` looks at of a frame.
  struct Instruction {
    PyCodeObject *code;
    /// The place of the instruction, or of the line where Python does not tell the former.
    int position;
    bool operator==(const Instruction &other) const {
      return code == other.code && position == other.position;
    }
  };
  struct Hash {
    size_t operator()(const Instruction &of) const {
      return std::hash<const void *>()(of.code) * 31 + static_cast<size_t>(of.position);
    }
  };

  bool isOfLanguage(PyFrameObject *frame, PyCodeObject *code);

  std::unordered_map<Instruction, interpreter::PlaceId, Hash> numbers;
  std::vector<std::pair<pybind11::object, int>> instructions;
  /// By code object; `kept` holds them alive, so that no address means two of them.
  std::unordered_map<PyCodeObject *, bool> ofLanguage;
  std::vector<pybind11::object> kept;
};

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_KERNELPLACES_H
