//===- ShadowMemory.h - Who touched which element last ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for each element of an array the last write, the last store of the bits that
// another program had written, and the last reads of two programs, as numbers of
// accesses.
//
// How: arrays that overlap share a region. A region is cut into chunks of sixteen
// cells, a cell being as wide as the smallest element. A chunk that was only ever
// touched as a whole has one entry; touched in part, it gets an entry per cell.
// So the rows of tiles cost a sixteenth of what single elements do, in time and in
// memory. Nothing is touched before its array is: the system hands out zeroed pages.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_SHADOWMEMORY_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_SHADOWMEMORY_H

#include "runtime/interpreter/AccessOrder.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace tilewright::interpreter {

/// What is known of one element. `other` is a read of another program than `reader`;
/// `repeater` stored the bits again that `writer`, a store of another program, had left.
struct ShadowCell {
  AccessId writer = 0, reader = 0, other = 0, repeater = 0;
};

class ShadowRegion {
public:
  static constexpr int64_t cellsPerChunk = 16;

  ShadowRegion(uint64_t low, uint64_t high, int cellSize);

  uint64_t low() const { return start; }
  uint64_t high() const { return end; }
  int cellSize() const { return 1 << log2CellSize; }
  /// Cells of a smaller size, where an access needs them.
  void refine(int cellSize);

  ShadowCell at(uint64_t address) const;

  /// Calls `visit(cell, address, sizeInBytes)` for pieces of [address, address + size):
  /// whole chunks where they have one entry, else single cells. `setsAlike` says that
  /// visit leaves equal entries in the cells of a chunk that it gets all of.
  template <typename F> void visit(uint64_t address, uint64_t size, bool setsAlike, F visit) {
    int64_t cell = (address - start) >> log2CellSize;
    int64_t last = (address + size - 1 - start) >> log2CellSize;
    while (cell <= last) {
      Chunk &chunk = chunks[cell / cellsPerChunk];
      int64_t first = cell % cellsPerChunk;
      int64_t count = std::min(cellsPerChunk - first, last - cell + 1);
      uint64_t place = start + (static_cast<uint64_t>(cell) << log2CellSize);
      if (count == cellsPerChunk && !chunk.cells) {
        visit(chunk.all, place, uint64_t(cellsPerChunk) << log2CellSize);
      } else {
        ShadowCell *cells = cellsOf(chunk);
        for (int64_t i = 0; i < count; ++i)
          visit(cells[first + i], place + (static_cast<uint64_t>(i) << log2CellSize),
                uint64_t(1) << log2CellSize);
        if (count == cellsPerChunk && setsAlike)
          join(chunk);
      }
      cell += count;
    }
  }

private:
  struct Chunk {
    ShadowCell all;
    /// One more than the index of the chunk's cells; 0 where `all` holds for each.
    uint32_t cells;
  };
  struct Cells {
    ShadowCell of[cellsPerChunk];
  };
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };

  void allocate();
  ShadowCell *cellsOf(Chunk &chunk) { return chunk.cells ? pool(chunk.cells) : split(chunk); }
  ShadowCell *pool(uint32_t number) const {
    return pages[(number - 1) / cellsPerPage][(number - 1) % cellsPerPage].of;
  }
  ShadowCell *split(Chunk &chunk);
  /// One entry for all cells, where they are equal.
  void join(Chunk &chunk);

  static constexpr uint32_t cellsPerPage = 64;
  uint64_t start, end;
  int log2CellSize;
  std::unique_ptr<Chunk[], Free> chunks;
  std::vector<std::unique_ptr<Cells[]>> pages;
  std::vector<uint32_t> unused;
  uint32_t used = 0;
};

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_SHADOWMEMORY_H
