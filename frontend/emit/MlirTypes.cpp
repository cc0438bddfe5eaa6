//===- MlirTypes.cpp - Language types as MLIR types -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/MlirTypes.h"

#include "ir/dialect/TileDialect.h"
#include "ir/support/Error.h"

namespace tilewright::emit {

using semantic::DType;
using semantic::ScalarKind;

mlir::Type toMlirType(mlir::MLIRContext *context, const DType &type) {
  mlir::Builder builder(context);
  switch (type.kind()) {
  case ScalarKind::Int1:
    return builder.getI1Type();
  case ScalarKind::Int8:
  case ScalarKind::UInt8:
  case ScalarKind::Float8E4B15: // opaque bytes, here and below
  case ScalarKind::Float8E4B8:
  case ScalarKind::Float8E5B16:
    return builder.getI8Type();
  case ScalarKind::Int16:
  case ScalarKind::UInt16:
    return builder.getI16Type();
  case ScalarKind::Int32:
  case ScalarKind::UInt32:
    return builder.getI32Type();
  case ScalarKind::Int64:
  case ScalarKind::UInt64:
    return builder.getI64Type();
  case ScalarKind::Float8E4M3:
    return builder.getFloat8E4M3FNType();
  case ScalarKind::Float8E5M2:
    return builder.getFloat8E5M2Type();
  case ScalarKind::Float16:
    return builder.getF16Type();
  case ScalarKind::BFloat16:
    return builder.getBF16Type();
  case ScalarKind::Float32:
    return builder.getF32Type();
  case ScalarKind::Float64:
    return builder.getF64Type();
  case ScalarKind::Pointer:
    return ir::PointerType::get(context, toMemoryType(context, type.pointee()),
                                static_cast<unsigned>(type.addressSpace()));
  case ScalarKind::Descriptor:
    return ir::DescriptorType::get(context, type.block(), toMemoryType(context, type.pointee()));
  case ScalarKind::Void:
    break;
  }
  throw makeError(ErrorCode::E0120, fmt::arg("message", "a value of type void cannot be used"),
                  fmt::arg("help", "give the value a type such as tl.float32"));
}

mlir::Type toMemoryType(mlir::MLIRContext *context, const DType &type) {
  // A pointer to void is an address of bytes.
  if (type.isBool() || type.kind() == ScalarKind::Void)
    return mlir::IntegerType::get(context, 8);
  return toMlirType(context, type);
}

mlir::Type tileOf(mlir::Type element, const std::vector<int64_t> &shape) {
  return shape.empty() ? element : mlir::RankedTensorType::get(shape, element);
}

mlir::Type toMlirType(mlir::MLIRContext *context, const semantic::Type &type) {
  return tileOf(toMlirType(context, type.scalar), type.shape);
}

} // namespace tilewright::emit
