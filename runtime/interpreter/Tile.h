//===- Tile.h - The storage of a tile on the CPU ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what a semantic::Value's handle points to in the interpreter: the
// elements of a scalar or tile, row-major and contiguous. Type and shape live
// in the Value, so a reshape, a new axis of extent 1, a hint or a bitcast
// shares the storage. A tile is never written after its builder method has
// returned: that is what makes sharing safe.
//
// Elements: booleans are one byte holding 0 or 1, 16- and 8-bit floats are
// their codes, pointers are 64-bit addresses.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_TILE_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_TILE_H

#include "frontend/semantic/Types.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace tilewright::interpreter {

using semantic::DType;
using semantic::ScalarKind;
using semantic::Type;
using semantic::Value;

struct Marks;

/// Index of an array in the Memory of a launch; unknownAllocation where a
/// pointer's origin is not known and must be looked up by address.
using AllocationId = int32_t;
constexpr AllocationId unknownAllocation = -1;

class Tile {
public:
  explicit Tile(size_t sizeInBytes) {
    if (sizeInBytes <= sizeof(inlineStorage)) {
      storage = inlineStorage;
      return;
    }
    // Whole cache lines, so that vector loops of neighbours never share one.
    storage = std::aligned_alloc(64, (sizeInBytes + 63) & ~size_t(63));
    if (!storage)
      throw std::bad_alloc();
  }
  ~Tile() {
    if (storage != inlineStorage)
      std::free(storage);
  }
  Tile(const Tile &) = delete;
  Tile &operator=(const Tile &) = delete;

  template <typename T> T *as() { return static_cast<T *>(storage); }
  template <typename T> const T *as() const { return static_cast<const T *>(storage); }

  /// For pointers: the array that every lane points into.
  AllocationId allocation = unknownAllocation;
  /// What is known of lanes that went wrong; null where all are well (Marks.h).
  std::shared_ptr<Marks> marks;

private:
  void *storage;
  alignas(16) unsigned char inlineStorage[16];
};

/// Bytes of one element as stored in a tile and in memory.
inline int elementSize(ScalarKind kind) {
  // Descriptors are of compiled kernels only.
  return kind == ScalarKind::Descriptor ? 0 : scalarFacts(kind).bytes();
}

inline int64_t countOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}
inline int64_t countOf(const Value &value) { return countOf(value.type.shape); }

inline const Tile &tileOf(const Value &value) {
  return *static_cast<const Tile *>(value.handle.get());
}
template <typename T> const T *elementsOf(const Value &value) { return tileOf(value).as<T>(); }

/// A value with storage for its elements, not yet written.
struct NewTile {
  Value value;
  int64_t count;

  explicit NewTile(Type type) : count(countOf(type.shape)) {
    value.handle =
        std::make_shared<Tile>(static_cast<size_t>(count) * elementSize(type.scalar.kind()));
    value.type = std::move(type);
  }
  Tile &tile() { return *static_cast<Tile *>(value.handle.get()); }
  template <typename T> T *elements() { return tile().template as<T>(); }
};

/// Element `i` as a scalar.
inline Value elementAt(const Value &tile, int64_t i) {
  NewTile result{Type(tile.type.scalar)};
  int size = elementSize(tile.type.scalar.kind());
  std::memcpy(result.elements<char>(), elementsOf<char>(tile) + i * size, size);
  result.tile().allocation = tileOf(tile).allocation;
  return std::move(result.value);
}

/// The same storage under another type of equal element size.
inline Value shareAs(const Value &value, Type type) { return {std::move(type), value.handle}; }

/// Calls `function` with a zero of the unsigned type that has `sizeInBytes`.
template <typename F> void dispatchWord(int sizeInBytes, F function) {
  switch (sizeInBytes) {
  case 1:
    return function(uint8_t());
  case 2:
    return function(uint16_t());
  case 4:
    return function(uint32_t());
  default:
    return function(uint64_t());
  }
}

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_TILE_H
