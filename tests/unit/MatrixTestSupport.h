//===- MatrixTestSupport.h - Kernels with matrix layouts as text -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: layouts as the text of #tw.layout and #tw.shared, and kernels written
// with $names in their place.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_MATRIXTESTSUPPORT_H
#define TILEWRIGHT_TESTS_UNIT_MATRIXTESTSUPPORT_H

#include "ir/layout/LayoutConstructors.h"

#include <sstream>
#include <string>

namespace tilewright::codegen::testing {

inline std::string columnsText(const Columns &columns) {
  std::string text = "[";
  for (size_t index = 0; index < columns.size(); ++index)
    text += (index ? ", " : "") + std::to_string(columns[index]);
  return text + "]";
}

inline std::string layoutText(const LinearLayout &layout) {
  return "#tw.layout<register = " + columnsText(layout.columns(InDim::Register)) +
         ", lane = " + columnsText(layout.columns(InDim::Lane)) +
         ", warp = " + columnsText(layout.columns(InDim::Warp)) + ", block = []>";
}

inline std::string sharedText(const LinearLayout &layout) {
  return "#tw.shared<offset = " + columnsText(layout.columns(InDim::Offset)) + ">";
}

/// A text with names to be filled in. A name that is the beginning of another is
/// set after it.
class TextTemplate {
public:
  explicit TextTemplate(std::string text) : text(std::move(text)) {}

  template <typename Value> TextTemplate &set(const std::string &name, const Value &value) {
    std::ostringstream stream;
    stream << value;
    return replace("$" + name, stream.str());
  }
  TextTemplate &replace(const std::string &from, const std::string &to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return *this;
  }
  std::string take() { return std::move(text); }

private:
  std::string text;
};

} // namespace tilewright::codegen::testing

#endif // TILEWRIGHT_TESTS_UNIT_MATRIXTESTSUPPORT_H
