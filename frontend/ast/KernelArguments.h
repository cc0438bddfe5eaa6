//===- KernelArguments.h - Parameters as arguments of a function -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the arguments of a kernel's function, and the values that its parameters
// have inside. A scalar or pointer is one argument. A tuple has the arguments of
// its elements. A descriptor has a tensor map where the target copies by TMA,
// then base, extents (i32) and strides (i64). The launch passes them in this
// order (python/bindings/launch/CompositeArguments.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_AST_KERNELARGUMENTS_H
#define TILEWRIGHT_FRONTEND_AST_KERNELARGUMENTS_H

#include "frontend/semantic/Types.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace tilewright {

class KernelArguments {
public:
  /// `constants` and `divisibility` hold elements of tuples under "name[2][0]"; the
  /// divisibility of a descriptor is that of its last extent in bytes.
  KernelArguments(pybind11::dict constants, pybind11::dict divisibility, bool hasTma)
      : constants(std::move(constants)), divisibility(std::move(divisibility)), hasTma(hasTma) {}

  /// Adds the arguments of one signature entry: a type, or a tuple of entries, in
  /// which "constexpr" stands for a constant.
  void add(pybind11::handle entry, const std::string &name);

  size_t size() const { return arguments.size(); }
  llvm::SmallVector<mlir::Type> types(mlir::MLIRContext *context) const;
  void setAttributes(mlir::func::FuncOp function) const;

  /// The value of an entry; entries are bound in the order they were added.
  pybind11::object bind(pybind11::handle entry, const std::string &name, mlir::Block &block);

private:
  struct Argument {
    semantic::Type type;
    int64_t divisibility = 0;
    /// Set for the base of a descriptor: the argument with its tensor map, -1 for none.
    std::optional<int> tensorMap;
  };
  /// "tensordesc<fp16[128,64],nan>" taken apart.
  struct DescriptorEntry {
    semantic::DType element;
    std::vector<int64_t> block;
    bool padsWithNan = false;
    bool isNative = false;
    /// Whether the last extent is a multiple of 16 bytes.
    bool hasWholeRows = false;
  };

  DescriptorEntry parseDescriptor(const std::string &text, const std::string &name) const;
  void addDescriptor(const DescriptorEntry &descriptor);
  int64_t divisibilityOf(const std::string &name) const;
  pybind11::object bindDescriptor(const DescriptorEntry &descriptor, mlir::Block &block);
  pybind11::object next(mlir::Block &block);

  pybind11::dict constants, divisibility;
  bool hasTma;
  std::vector<Argument> arguments;
  size_t position = 0;
};

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_AST_KERNELARGUMENTS_H
