//===- LaneValues.h - One lane as a number ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: single lanes of any type, for checks that look at few of them and for
// messages. Operations have loops of their own.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_LANEVALUES_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_LANEVALUES_H

#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/Tile.h"

#include <string>

namespace tilewright::interpreter {

/// The lane of an integer, boolean or pointer tile; unsigned 64-bit numbers above int64
/// come out negative.
inline int64_t laneAsInteger(const Value &value, int64_t lane) {
  const Tile &tile = tileOf(value);
  bool isSigned = value.type.scalar.isSigned();
  switch (elementSize(value.type.scalar.kind())) {
  case 1:
    return isSigned ? int64_t(tile.as<int8_t>()[lane]) : int64_t(tile.as<uint8_t>()[lane]);
  case 2:
    return isSigned ? int64_t(tile.as<int16_t>()[lane]) : int64_t(tile.as<uint16_t>()[lane]);
  case 4:
    return isSigned ? int64_t(tile.as<int32_t>()[lane]) : int64_t(tile.as<uint32_t>()[lane]);
  default:
    return tile.as<int64_t>()[lane];
  }
}

inline double laneAsFloat(const Value &value, int64_t lane) {
  return decodeFloat(value.type.scalar.kind(), tileOf(value).as<void>(), lane);
}

/// "-3", "1.5", "nan"
inline std::string laneAsText(const Value &value, int64_t lane) {
  if (value.type.scalar.isFloating())
    return fmt::format("{:g}", laneAsFloat(value, lane));
  if (value.type.scalar.isSigned())
    return std::to_string(laneAsInteger(value, lane));
  return std::to_string(static_cast<uint64_t>(laneAsInteger(value, lane)));
}

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_LANEVALUES_H
