//===- KernelArguments.cpp - Parameters as arguments of a function --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/KernelArguments.h"

#include "frontend/emit/MlirBuilder.h"
#include "frontend/emit/MlirTypes.h"
#include "frontend/python/PythonValue.h"
#include "ir/dialect/TileDialect.h"
#include "ir/support/Error.h"
#include "ir/support/TmaBox.h"

#include "llvm/ADT/StringRef.h"

namespace py = pybind11;

namespace tilewright {

using semantic::DType;
using semantic::ScalarKind;

/// What a launch has checked of every descriptor.
static constexpr int64_t descriptorAlignment = 16;
static constexpr llvm::StringLiteral descriptorPrefix = "tensordesc<";

[[noreturn]] static void refuseType(const std::string &name, const std::string &text) {
  throw makeError(ErrorCode::E0204, fmt::arg("a", name), fmt::arg("t", text));
}

static DType parseType(const std::string &text, const std::string &name) {
  DType type;
  if (!DType::parse(text, type))
    refuseType(name, text);
  return type;
}

static std::string textOf(py::handle entry) { return py::cast<std::string>(py::str(entry)); }

static std::string elementName(const std::string &name, size_t index) {
  return fmt::format("{}[{}]", name, index);
}

/// 1 where nothing is known.
int64_t KernelArguments::divisibilityOf(const std::string &name) const {
  return divisibility.contains(name) ? py::cast<int64_t>(divisibility[name.c_str()]) : 1;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

KernelArguments::DescriptorEntry KernelArguments::parseDescriptor(const std::string &text,
                                                                  const std::string &name) const {
  DescriptorEntry result;
  llvm::StringRef rest(text);
  if (!rest.consume_front(descriptorPrefix) || !rest.consume_back(">"))
    refuseType(name, text);
  auto [element, afterElement] = rest.split('[');
  auto [extents, flags] = afterElement.split(']');
  result.element = parseType(element.str(), name);
  llvm::SmallVector<llvm::StringRef, 5> parts;
  extents.split(parts, ',');
  for (llvm::StringRef part : parts) {
    int64_t extent;
    if (part.trim().getAsInteger(10, extent) || extent < 1)
      refuseType(name, text);
    result.block.push_back(extent);
  }
  result.padsWithNan = flags.contains("nan");
  result.hasWholeRows = divisibilityOf(name) % descriptorAlignment == 0;
  // TMA knows NaN of the wider floats only, and no type whose bytes mean a boolean.
  bool canPad = !result.padsWithNan || (result.element.isFloating() && !result.element.isFloat8());
  result.isNative = hasTma && canPad && !result.element.isBool() && !result.element.isPointer() &&
                    canCopyByTma(result.block, result.element.sizeInBytes());
  return result;
}

void KernelArguments::addDescriptor(const DescriptorEntry &descriptor) {
  int tensorMap = -1;
  if (descriptor.isNative) {
    tensorMap = static_cast<int>(arguments.size());
    arguments.push_back({DType::descriptorOf(descriptor.element, descriptor.block), 0, {}});
  }
  arguments.push_back({DType::pointerTo(descriptor.element), descriptorAlignment, tensorMap});
  int64_t divisor = descriptorAlignment / descriptor.element.sizeInBytes();
  size_t last = descriptor.block.size() - 1;
  for (size_t dim = 0; dim <= last; ++dim)
    arguments.push_back(
        {DType(ScalarKind::Int32), dim == last && descriptor.hasWholeRows ? divisor : 0, {}});
  for (size_t dim = 0; dim <= last; ++dim)
    arguments.push_back({DType(ScalarKind::Int64), dim == last ? 0 : divisor, {}});
}

py::object KernelArguments::bindDescriptor(const DescriptorEntry &descriptor, mlir::Block &block) {
  size_t rank = descriptor.block.size();
  py::object handle = descriptor.isNative ? next(block) : py::none();
  py::object base = next(block);
  py::tuple shape(rank), strides(rank), extents(rank);
  for (size_t dim = 0; dim < rank; ++dim)
    shape[dim] = next(block);
  for (size_t dim = 0; dim < rank; ++dim) {
    strides[dim] = next(block);
    extents[dim] = py::int_(descriptor.block[dim]);
  }
  // Checked by the launch, and as a constant it costs no multiplication.
  strides[rank - 1] = py::int_(1);
  return py::module_::import("tilewright.language.descriptors")
      .attr("tensor_descriptor")(base, shape, strides, extents,
                                 descriptor.padsWithNan ? "nan" : "zero", handle);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void KernelArguments::add(py::handle entry, const std::string &name) {
  if (PyTuple_Check(entry.ptr())) {
    size_t index = 0;
    for (py::handle item : py::reinterpret_borrow<py::tuple>(entry))
      add(item, elementName(name, index++));
    return;
  }
  std::string text = textOf(entry);
  if (text == "constexpr")
    return;
  if (llvm::StringRef(text).starts_with(descriptorPrefix))
    return addDescriptor(parseDescriptor(text, name));
  arguments.push_back({parseType(text, name), divisibilityOf(name), {}});
}

llvm::SmallVector<mlir::Type> KernelArguments::types(mlir::MLIRContext *context) const {
  llvm::SmallVector<mlir::Type> result;
  for (const Argument &argument : arguments)
    result.push_back(emit::toMlirType(context, argument.type));
  return result;
}

void KernelArguments::setAttributes(mlir::func::FuncOp function) const {
  mlir::Builder builder(function.getContext());
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    if (argument.divisibility > 1)
      function.setArgAttr(index, ir::divisibilityAttr,
                          builder.getI64IntegerAttr(argument.divisibility));
    if (argument.tensorMap)
      function.setArgAttr(index, ir::descriptorBaseAttr,
                          builder.getI32IntegerAttr(*argument.tensorMap));
  }
}

py::object KernelArguments::next(mlir::Block &block) {
  mlir::Value value = block.getArgument(static_cast<unsigned>(position));
  return wrapValue(emit::MlirBuilder::wrap(arguments[position++].type, value));
}

py::object KernelArguments::bind(py::handle entry, const std::string &name, mlir::Block &block) {
  if (!PyTuple_Check(entry.ptr())) {
    std::string text = textOf(entry);
    if (text == "constexpr")
      return unwrapConstexpr(constants[name.c_str()]);
    if (llvm::StringRef(text).starts_with(descriptorPrefix))
      return bindDescriptor(parseDescriptor(text, name), block);
    return next(block);
  }
  py::tuple items = py::reinterpret_borrow<py::tuple>(entry);
  py::tuple bound(items.size());
  for (size_t index = 0; index < items.size(); ++index)
    bound[index] = bind(items[index], elementName(name, index), block);
  // A namedtuple keeps its names.
  py::handle type(reinterpret_cast<PyObject *>(Py_TYPE(entry.ptr())));
  return py::hasattr(type, "_make") ? py::object(type.attr("_make")(bound))
                                    : py::object(std::move(bound));
}

} // namespace tilewright
