//===- EmitModule.h - A kernel as a module of tile IR -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the front end's entry: a jit function with the types and constants of
// one specialisation becomes a verified module with one public func.func.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_AST_EMITMODULE_H
#define TILEWRIGHT_FRONTEND_AST_EMITMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <pybind11/pybind11.h>

#include <string>

namespace tilewright {

/// `signature` maps parameters to short types ("*fp32", "i32",
/// "tensordesc<fp16[128,64]>"), or to tuples of them; `constexprs` to values;
/// `divisibility` to what an argument is known to be divisible by. Both name an
/// element of a tuple "t[0]"; a constant one has the type "constexpr". Every
/// parameter is in one of the first two or has a default.
/// `options` are the launch options: num_warps, num_stages, num_ctas and maxnreg
/// become attributes where present, the others can be asked by the language.
///
/// The dialects of tile IR (tw, arith, math, scf, func) must be loaded.
///
/// Raises tilewright::Error with its frames; a Python exception that caused it
/// is left as Python's current error, where the translation to a Python
/// exception finds it as the cause.
mlir::OwningOpRef<mlir::ModuleOp>
emitModule(mlir::MLIRContext &context, pybind11::handle jitFunction,
           const pybind11::dict &signature, const pybind11::dict &constexprs,
           const pybind11::dict &divisibility, const pybind11::dict &options,
           const std::string &target);

/// Raises what emitModule would raise, and makes nothing: the interpreter asks this before
/// it runs a kernel, so that it takes the kernels that the compiler takes. `arguments` maps
/// every parameter to its value there; of run-time values only the types matter.
void rehearseKernel(mlir::MLIRContext &context, pybind11::handle jitFunction,
                    const pybind11::dict &arguments, pybind11::dict options);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_AST_EMITMODULE_H
