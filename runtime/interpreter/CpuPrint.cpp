//===- CpuPrint.cpp - Printing and assertions of CPU tiles ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/FloatChunks.h"

#include <cmath>

namespace tilewright::interpreter {

/// Axes longer than this show their first and last few elements only.
constexpr int64_t longestPrintedAxis = 64;
constexpr int64_t printedAtEachEnd = 4;

static int64_t signedElement(const Value &value, int64_t i) {
  switch (elementSize(value.type.scalar.kind())) {
  case 1:
    return elementsOf<int8_t>(value)[i];
  case 2:
    return elementsOf<int16_t>(value)[i];
  case 4:
    return elementsOf<int32_t>(value)[i];
  default:
    return elementsOf<int64_t>(value)[i];
  }
}

static uint64_t unsignedElement(const Value &value, int64_t i) {
  switch (elementSize(value.type.scalar.kind())) {
  case 1:
    return elementsOf<uint8_t>(value)[i];
  case 2:
    return elementsOf<uint16_t>(value)[i];
  case 4:
    return elementsOf<uint32_t>(value)[i];
  default:
    return elementsOf<uint64_t>(value)[i];
  }
}

static std::string formatFloat(ScalarKind kind, double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  if (kind == ScalarKind::Float64)
    return fmt::format("{}", value);
  // The shortest digits that read back as the same f32.
  std::string text = fmt::format("{}", static_cast<float>(value));
  return text;
}

static std::string formatElement(const Value &value, int64_t i, bool hex) {
  ScalarKind kind = value.type.scalar.kind();
  if (hex || kind == ScalarKind::Pointer)
    return fmt::format("{:#0{}x}", unsignedElement(value, i), 2 + 2 * elementSize(kind));
  if (kind == ScalarKind::Int1)
    return elementsOf<uint8_t>(value)[i] ? "True" : "False";
  if (kind >= ScalarKind::Int8 && kind <= ScalarKind::Int64)
    return fmt::format("{}", signedElement(value, i));
  if (kind >= ScalarKind::UInt8 && kind <= ScalarKind::UInt64)
    return fmt::format("{}", unsignedElement(value, i));
  return formatFloat(kind, decodeFloat(kind, tileOf(value).as<void>(), i));
}

static std::string formatAxis(const Value &value, size_t axis, int64_t start, bool hex) {
  const std::vector<int64_t> &shape = value.type.shape;
  if (axis == shape.size())
    return formatElement(value, start, hex);
  int64_t stride = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i)
    stride *= shape[i];
  std::string separator = axis + 1 == shape.size() ? ", " : ",\n" + std::string(axis + 1, ' ');
  std::string out = "[";
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (i)
      out += separator;
    if (shape[axis] > longestPrintedAxis && i == printedAtEachEnd) {
      out += "...";
      i = shape[axis] - printedAtEachEnd - 1;
      continue;
    }
    out += formatAxis(value, axis + 1, start + i * stride, hex);
  }
  return out + "]";
}

std::string formatTile(const Value &value, bool hex) { return formatAxis(value, 0, 0, hex); }

/// As C's printf writes it on the GPU: "%f", "%d", "%u", "0x%08x" or "%p".
static std::string printedElement(const Value &value, int64_t i, bool hex) {
  ScalarKind kind = value.type.scalar.kind();
  if (kind == ScalarKind::Pointer)
    return fmt::format("{:#x}", unsignedElement(value, i));
  if (hex)
    return fmt::format("0x{:0{}x}", unsignedElement(value, i), 2 * elementSize(kind));
  if (kind == ScalarKind::Int1)
    return elementsOf<uint8_t>(value)[i] ? "1" : "0";
  if (kind >= ScalarKind::Int8 && kind <= ScalarKind::Int64)
    return fmt::format("{}", signedElement(value, i));
  if (kind >= ScalarKind::UInt8 && kind <= ScalarKind::UInt64)
    return fmt::format("{}", unsignedElement(value, i));
  return fmt::format("{:f}", decodeFloat(kind, tileOf(value).as<void>(), i));
}

/// " idx ( 1, 2)" of an element, each index as wide as the largest; " idx ()" of a scalar.
static std::string printedIndex(const Value &value, int64_t i) {
  std::vector<std::string> index(value.type.shape.size());
  for (size_t axis = index.size(); axis-- > 0; i /= value.type.shape[axis])
    index[axis] = fmt::format("{:{}}", i % value.type.shape[axis],
                              std::to_string(value.type.shape[axis] - 1).size());
  return fmt::format(" idx ({})", fmt::join(index, ", "));
}

/// A line per element in the form of codegen/lower/LowerDebug.cpp, so that what a kernel
/// prints here can be compared with what it prints on a GPU.
void CpuTileBuilder::print(const std::string &prefix, const std::vector<Value> &values, bool hex) {
  valueWasRead();
  std::string start = fmt::format("pid ({}, {}, {})", program.id[0], program.id[1], program.id[2]);
  if (values.empty())
    host.writeLine(start + prefix);
  for (size_t position = 0; position < values.size(); ++position) {
    const Value &value = values[position];
    std::string operand = values.size() > 1 ? fmt::format("(operand {}) ", position) : "";
    for (int64_t i = 0, count = countOf(value); i < count; ++i)
      host.writeLine(start + printedIndex(value, i) + prefix + operand +
                     printedElement(value, i, hex));
  }
}

void CpuTileBuilder::failAssertion(const std::string &message, const Value &condition,
                                   int64_t lane) {
  SourceFrame frame = host.currentFrame();
  Error error =
      makeError(ErrorCode::E0403, fmt::arg("message", message), fmt::arg("file", frame.file),
                fmt::arg("line", frame.line), fmt::arg("x", program.id[0]),
                fmt::arg("y", program.id[1]), fmt::arg("z", program.id[2]));
  if (condition.type.isTile())
    error.addNote(fmt::format("false in element {} of a tile of {}", lane,
                              semantic::shapeName(condition.type.shape)));
  error.setHelp("use breakpoint() before the assertion to look at the values");
  throw error;
}

void CpuTileBuilder::deviceAssert(const Value &condition, const std::string &message,
                                  const std::optional<Value> &mask) {
  valueWasRead();
  const uint8_t *bits = elementsOf<uint8_t>(condition);
  const uint8_t *active = mask ? elementsOf<uint8_t>(*mask) : nullptr;
  for (int64_t i = 0, count = countOf(condition); i < count; ++i)
    if (!bits[i] && (!active || active[i]))
      failAssertion(message.empty() ? "assertion failed" : message, condition, i);
}

} // namespace tilewright::interpreter
