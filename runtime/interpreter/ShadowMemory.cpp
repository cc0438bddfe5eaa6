//===- ShadowMemory.cpp - Who touched which element last ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/ShadowMemory.h"

#include <algorithm>

namespace tilewright::interpreter {

static int log2Of(int size) {
  int result = 0;
  while ((1 << result) < size)
    ++result;
  return result;
}

// The start is rounded down: accesses are aligned to their size, up to eight bytes.
ShadowRegion::ShadowRegion(uint64_t low, uint64_t high, int cellSize)
    : start(low & ~uint64_t(7)), end(high), log2CellSize(log2Of(cellSize)) {
  allocate();
}

void ShadowRegion::allocate() {
  size_t count = (((end - start) >> log2CellSize) / cellsPerChunk) + 1;
  chunks.reset(static_cast<Chunk *>(std::calloc(count, sizeof(Chunk))));
  if (!chunks)
    throw std::bad_alloc();
}

ShadowCell *ShadowRegion::split(Chunk &chunk) {
  if (!unused.empty()) {
    chunk.cells = unused.back();
    unused.pop_back();
  } else {
    if (used % cellsPerPage == 0)
      pages.push_back(std::make_unique<Cells[]>(cellsPerPage));
    chunk.cells = ++used;
  }
  ShadowCell *cells = pool(chunk.cells);
  std::fill_n(cells, cellsPerChunk, chunk.all);
  return cells;
}

void ShadowRegion::join(Chunk &chunk) {
  const ShadowCell *cells = pool(chunk.cells);
  for (int64_t i = 1; i < cellsPerChunk; ++i)
    if (cells[i].writer != cells[0].writer || cells[i].reader != cells[0].reader ||
        cells[i].other != cells[0].other || cells[i].repeater != cells[0].repeater)
      return;
  chunk.all = cells[0];
  unused.push_back(chunk.cells);
  chunk.cells = 0;
}

ShadowCell ShadowRegion::at(uint64_t address) const {
  int64_t cell = (address - start) >> log2CellSize;
  const Chunk &chunk = chunks[cell / cellsPerChunk];
  return chunk.cells ? pool(chunk.cells)[cell % cellsPerChunk] : chunk.all;
}

void ShadowRegion::refine(int cellSize) {
  ShadowRegion finer(start, end, cellSize);
  uint64_t size = uint64_t(1) << log2CellSize;
  for (uint64_t address = start; address < end; address += size) {
    ShadowCell known = at(address);
    finer.visit(address, std::min(size, end - address), true,
                [&](ShadowCell &cell, uint64_t, uint64_t) { cell = known; });
  }
  *this = std::move(finer);
}

} // namespace tilewright::interpreter
