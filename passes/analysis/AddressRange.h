//===- AddressRange.h - Which elements an access touches --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the addresses of an access as scalars times constants plus an interval with a step:
//
//     base + 1 * start + [0, 1022] in steps of 2 elements
//
// so that two accesses, also of different iterations of a loop, can be shown not
// to overlap: a loop that goes along a row in place needs no barriers, and neither
// do the even and the odd elements of a row.
//
// Not handled: offsets with an unknown factor per element (a row stride). They
// have no such form, and then nothing is known.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_ADDRESSRANGE_H
#define TILEWRIGHT_PASSES_ANALYSIS_ADDRESSRANGE_H

#include "ir/dialect/TileDialect.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace tilewright::passes {

struct AddressRange {
  /// Factors of scalars, loop variables and base pointers.
  llvm::SmallMapVector<mlir::Value, int64_t, 4> factors;
  /// What is added, over all elements, in elements; both ends included.
  int64_t low = 0, high = 0;
  /// They lie multiples of this from `low`, as `high` does; 0 where there is only one.
  int64_t step = 0;
};

/// The elements that a pointer or an integer, tile or scalar, may be.
std::optional<AddressRange> addressRange(mlir::Value value);

/// Whether the two are disjoint when computed in one iteration of all loops.
bool areDisjoint(const AddressRange &lhs, const AddressRange &rhs);
/// Whether they are disjoint when computed in different iterations of `loop`.
bool areDisjointAcross(mlir::Operation *loop, const AddressRange &lhs, const AddressRange &rhs);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_ADDRESSRANGE_H
