//===- Marks.h - Lanes that went wrong, until it matters --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a lane whose value is not what the kernel's text says (a product that
// wrapped, a quotient by zero, an element that no load has filled) is a mistake
// only where the value is used: lanes of a tail are computed and thrown away.
// So the operation that spoils a lane leaves a mark in it, operations carry
// marks on, and a report is made where a marked lane becomes an address or is
// stored. It names both places.
//
// How: a tile without marked lanes has no marks at all, and the operations on it
// look at one pointer. Each channel of marks is itself a tile of numbers, so
// that a transpose carries marks by transposing them. Beside a wrapped number
// stands what it would be without the wrap; a lane that comes back to that, as
// (a - b) + b does, is clean again.
//
// What ends a mark: a selection of another value, and a comparison. The mark of a
// wrapped number also ends at `%`, `&`, `|`, `^` and `>>`, with which hashes and
// generators use wrapping on purpose. The mark of a NaN or infinity ends at any
// operation with a finite result.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_MARKS_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_MARKS_H

#include "frontend/semantic/TileBuilder.h"
#include "runtime/interpreter/Checks.h"
#include "runtime/interpreter/Memory.h"

#include <functional>
#include <unordered_map>

namespace tilewright::interpreter {

class InterpreterHost;

/// The marks of a tile: per channel a uint32 tile of origins, 0 for clean lanes; an
/// empty Value where all lanes are clean.
struct Marks {
  enum Channel { Wrapped, Undefined, Spoiled, ChannelCount };
  std::array<Value, ChannelCount> origins;
  /// int64, beside the wrapped ones: the number without the wrap, or the largest or
  /// smallest one where it does not fit. Of pointers it is absent.
  Value exact;
};

/// Where and how a lane was spoiled.
struct Origin {
  Check check;
  SourceFrame place;
  /// "50000 * 50000 in lane [3] of int32", for messages.
  std::string what;
  /// A NaN or an infinity: the mark ends with a finite result.
  bool endsWhenFinite = false;
  /// A number of 64 bits that wrapped: addresses wrap as it does, so it is right as one.
  bool isRightAsAddress = false;
};

inline const Marks *marksOf(const Value &value) { return tileOf(value).marks.get(); }
inline bool isMarked(const Value &value) { return marksOf(value) != nullptr; }

class Marker {
public:
  Marker(Checks &checks, InterpreterHost &host, const ProgramPosition &program)
      : checks(checks), host(host), program(program) {}

  /// For operations that move lanes: `move` makes of tiles in the shapes of `from` one in
  /// the shape of `to`. It must make no marks itself.
  template <typename F> void carry(const std::vector<const Value *> &from, Value &to, F move) {
    for (int channel = 0; anyMarked(from) && channel <= exactChannel; ++channel) {
      if (!hasChannel(from, channel))
        continue;
      std::vector<Value> parts;
      for (const Value *value : from)
        parts.push_back(channelOf(*value, channel));
      setChannel(to, channel, move(parts));
    }
  }
  /// For operations on lanes that have no rule of their own.
  void afterElementwise(const std::vector<const Value *> &operands, Value &result);
  void afterUnary(semantic::UnaryOp op, const Value &operand, Value &result);
  void afterBinary(semantic::BinaryOp op, const Value &lhs, const Value &rhs, Value &result);
  void afterFma(const Value &x, const Value &y, const Value &z, Value &result);
  void afterExtern(const std::string &symbol, const std::vector<Value> &operands, Value &result);
  void afterCompare(const Value &lhs, const Value &rhs, Value &result);
  /// A selection by what is undefined is undefined, too.
  void afterCondition(const Value &condition, Value &result);
  void afterCast(semantic::CastOp op, const Value &operand, Value &result);
  void afterAddPointer(const Value &pointer, const Value &offset, Value &result);
  void afterDot(const Value &a, const Value &b, const Value &acc, Value &result);
  void afterLoad(const uint8_t *mask, const std::optional<Value> &other, Value &result);

  /// Whether `extent` elements at a time of the tile may be combined by `op` without
  /// looking at each step: nothing can be spoiled by it.
  bool mayCombineBlindly(semantic::BinaryOp op, const Value &tile, int64_t extent) const;

  /// Reports marks of active lanes: of addresses and the mask before an access is made, of
  /// what is stored.
  void checkAccess(const Access &access, const std::optional<Value> &mask, const Memory &memory);
  void checkStored(const Access &access, const Value &value, const Memory &memory);

private:
  static constexpr int exactChannel = Marks::ChannelCount;
  bool looksFor(Check check) const { return checks.looksFor(check); }
  bool tracksWraps() const { return looksFor(Check::Wraps) || looksFor(Check::Overflow); }
  bool tracksFloats() const { return looksFor(Check::Nan) || looksFor(Check::Overflow); }

  static bool anyMarked(const std::vector<const Value *> &values);
  static bool hasChannel(const std::vector<const Value *> &values, int channel);
  static Value channelOf(const Value &value, int channel);
  static void setChannel(Value &value, int channel, Value tile);
  /// Sets a channel to what `originOf` says of each lane, unless all are clean.
  static void markLanes(Value &result, int channel,
                        const std::function<uint32_t(int64_t)> &originOf);

  uint32_t newOrigin(Check check, std::string what, bool endsWhenFinite = false);
  /// Marks the lanes of `born` as spoiled by something new, where they are clean.
  void spoil(Value &result, const std::vector<uint8_t> &born, uint32_t origin);
  bool isLeftAlone() const;
  void wrapIntegers(semantic::BinaryOp op, const Value &lhs, const Value &rhs, Value &result);
  void findZeroDivisor(semantic::BinaryOp op, const Value &lhs, const Value &rhs, Value &result);
  void findWholeShift(semantic::BinaryOp op, const Value &lhs, const Value &rhs, Value &result);
  void findNotFinite(const std::string &name, const std::vector<const Value *> &operands,
                     Value &result, bool isPole);
  void wrapCast(semantic::CastOp op, const Value &operand, Value &result);
  void findOverflowOfDot(const Value &a, const Value &b, const Value &acc, Value &result);
  void findLossyCast(semantic::CastOp op, const Value &operand, Value &result);
  void report(uint32_t number, ErrorCode code, const Access &access, int64_t lane,
              const std::string &use, const Memory &memory);

  Checks &checks;
  InterpreterHost &host;
  const ProgramPosition &program;
  /// Number n stands at n - 1.
  std::vector<Origin> origins;
  /// How often the operation at a place wrapped (InterpreterHost::currentPlace).
  std::unordered_map<uint64_t, int> wrapsOfPlace;
};

/// The operator as kernels write it; for those without a sign "minimum or maximum".
const char *symbolOf(semantic::BinaryOp op);

/// Whether a signed sum or product of `extent` elements of the tile may leave its type.
bool mayWrapCombined(semantic::BinaryOp op, const Value &tile, int64_t extent);

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_MARKS_H
