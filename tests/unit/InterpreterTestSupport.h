//===- InterpreterTestSupport.h - Tiles from and to vectors -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_INTERPRETERTESTSUPPORT_H
#define TILEWRIGHT_TESTS_UNIT_INTERPRETERTESTSUPPORT_H

#include "runtime/interpreter/CpuTileBuilder.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace tilewright::interpreter::testing {

/// Keeps what a kernel prints.
class RecordingHost : public InterpreterHost {
public:
  void writeLine(const std::string &line) override { lines.push_back(line); }
  SourceFrame currentFrame() override { return {"kernel.py", "kernel", 7, 0, 0, 0, ""}; }
  std::vector<std::string> lines;
};

class InterpreterTest : public ::testing::Test {
protected:
  RecordingHost host;
  CpuTileBuilder builder{host};

  template <typename T>
  static Value tile(ScalarKind kind, const std::vector<T> &elements,
                    std::vector<int64_t> shape = {}) {
    if (shape.empty())
      shape = {static_cast<int64_t>(elements.size())};
    NewTile result{Type(kind, std::move(shape))};
    std::copy(elements.begin(), elements.end(), result.elements<T>());
    return std::move(result.value);
  }

  template <typename T> static std::vector<T> elements(const Value &value) {
    return {elementsOf<T>(value), elementsOf<T>(value) + countOf(value)};
  }

  static Value i32(const std::vector<int32_t> &elements, std::vector<int64_t> shape = {}) {
    return tile(ScalarKind::Int32, elements, std::move(shape));
  }
  static Value f32(const std::vector<float> &elements, std::vector<int64_t> shape = {}) {
    return tile(ScalarKind::Float32, elements, std::move(shape));
  }
  static Value mask(const std::vector<uint8_t> &elements) {
    return tile(ScalarKind::Int1, elements);
  }

  /// Registers `data` as array `name` and returns base + offsets.
  template <typename T>
  Value pointers(const std::string &name, std::vector<T> &data, ScalarKind kind,
                 const std::vector<int32_t> &offsets, bool writable = true) {
    AllocationId id =
        builder.memory.add(name, reinterpret_cast<uint64_t>(data.data()), kind,
                           {static_cast<int64_t>(data.size())}, {sizeof(T)}, writable);
    return offsetBy(builder.pointerTo(id, DType::pointerTo(kind)), offsets);
  }
  Value offsetBy(const Value &base, const std::vector<int32_t> &offsets) {
    Value tileOfBase = builder.splat(base, {static_cast<int64_t>(offsets.size())});
    return builder.addPointer(tileOfBase, i32(offsets));
  }

  /// The text of the error that `action` raises.
  template <typename F> static std::string errorOf(F action) {
    try {
      action();
    } catch (const Error &error) {
      return error.render();
    }
    return "no error";
  }
};

} // namespace tilewright::interpreter::testing

#endif // TILEWRIGHT_TESTS_UNIT_INTERPRETERTESTSUPPORT_H
