//===- F2.cpp - Small linear algebra over F2 ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/F2.h"

namespace tilewright::f2 {

/// The highest set bit of a nonzero vector.
static uint32_t leadingBit(uint32_t vector) {
  while (vector & (vector - 1))
    vector &= vector - 1;
  return vector;
}

//===--- Basis ------------------------------------------------------------===//
//
// Invariant: vector i has no bit at the leading positions of the vectors before
// it. So one pass in order of insertion clears every leading bit: what a later
// vector adds does not bring back the leading bit of an earlier one.

Basis::Basis(const Columns &columns) {
  for (uint32_t column : columns)
    insert(column);
}

bool Basis::insert(uint32_t column) {
  uint64_t combination = uint64_t(1) << inserted++;
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (column & leadingBit(vectors[i])) {
      column ^= vectors[i];
      combination ^= combinations[i];
    }
  }
  if (column == 0) {
    kernelMasks.push_back(combination);
    return false;
  }
  vectors.push_back(column);
  combinations.push_back(combination);
  return true;
}

uint32_t Basis::reduce(uint32_t vector) const {
  for (uint32_t member : vectors)
    if (vector & leadingBit(member))
      vector ^= member;
  return vector;
}

std::optional<uint64_t> Basis::solve(uint32_t vector) const {
  uint64_t mask = 0;
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (vector & leadingBit(vectors[i])) {
      vector ^= vectors[i];
      mask ^= combinations[i];
    }
  }
  if (vector != 0)
    return std::nullopt;
  return mask;
}

//===--- free functions ---------------------------------------------------===//

uint32_t multiply(const Columns &columns, uint64_t mask) {
  uint32_t result = 0;
  for (size_t i = 0; i < columns.size() && mask >> i; ++i)
    if (mask >> i & 1)
      result ^= columns[i];
  return result;
}

uint32_t parity(uint32_t bits) {
  for (int shift = 16; shift > 0; shift /= 2)
    bits ^= bits >> shift;
  return bits & 1;
}

int floorLog2(uint64_t value) {
  int result = 0;
  while (value >>= 1)
    ++result;
  return result;
}

int rank(const Columns &columns) { return Basis(columns).rank(); }

bool inSpan(const Columns &columns, uint32_t vector) { return Basis(columns).contains(vector); }

std::vector<uint64_t> kernelBasis(const Columns &columns) { return Basis(columns).kernel(); }

Columns independentColumns(const Columns &columns) {
  Basis basis;
  Columns result;
  for (uint32_t column : columns)
    if (basis.insert(column))
      result.push_back(column);
  return result;
}

std::optional<Columns> rightInverse(const Columns &columns, int numBits) {
  Basis basis(columns);
  Columns result;
  for (int bit = 0; bit < numBits; ++bit) {
    std::optional<uint64_t> mask = basis.solve(uint32_t(1) << bit);
    if (!mask)
      return std::nullopt;
    result.push_back(static_cast<uint32_t>(*mask));
  }
  return result;
}

std::optional<Columns> inverse(const Columns &columns, int numBits) {
  if (static_cast<int>(columns.size()) != numBits)
    return std::nullopt;
  return rightInverse(columns, numBits);
}

Columns complementBasis(const Columns &columns, int numBits) {
  Basis basis(columns);
  Columns result;
  for (int bit = 0; bit < numBits; ++bit)
    if (basis.insert(uint32_t(1) << bit))
      result.push_back(uint32_t(1) << bit);
  return result;
}

Columns intersection(const Columns &a, const Columns &b) {
  Basis spanB(b);
  Columns candidates;
  for (uint32_t column : a)
    if (spanB.contains(column))
      candidates.push_back(column);
  // A column of `a` that is dependent on `b` and the columns of `a` before it
  // gives a combination whose `a` part lies in both spans.
  Columns first = independentColumns(b);
  Columns second = independentColumns(a);
  for (uint64_t mask : kernelBasis(concat(first, second)))
    candidates.push_back(multiply(second, mask >> first.size()));
  return independentColumns(candidates);
}

int intersectionRank(const Columns &a, const Columns &b) {
  return rank(a) + rank(b) - rank(concat(a, b));
}

Columns identityColumns(int numBits, int shift) {
  Columns result;
  for (int bit = 0; bit < numBits; ++bit)
    result.push_back(uint32_t(1) << (bit + shift));
  return result;
}

Columns concat(const Columns &a, const Columns &b) {
  Columns result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

} // namespace tilewright::f2
