//===- TileTree.h - Tile IR as plain Python objects --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a function of tile IR as nested tuples, for analyses in Python, which
// then need not read the text of the IR. The form of that text is not promised.
//
//   function   {"parameters": (name per argument), "arguments": (value...), "body": (op...)}
//   value      (number, type)
//   type       ("int", bits) | ("index",) | ("float", name, bits)
//              | ("pointer", type of the elements) | ("tile", shape, type of the elements)
//              | ("other", text)
//   op         (name, operand numbers, results as values, {attribute: value},
//              regions, frames)
//   region     (arguments as values, (op...))
//   frame      (file, function, line, column), innermost first
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_COMPILE_TILETREE_H
#define TILEWRIGHT_PYTHON_BINDINGS_COMPILE_TILETREE_H

#include "mlir/IR/BuiltinOps.h"

#include <pybind11/pybind11.h>

namespace tilewright {

/// The kernel's function in `module`: the public one, as the front end makes it.
pybind11::dict tileTree(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_COMPILE_TILETREE_H
