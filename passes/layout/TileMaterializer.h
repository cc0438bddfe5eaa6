//===- TileMaterializer.h - A tile in a wanted layout -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives a value in the layout that a user of it wants, at the least cost:
// as it is, computed again, from a narrower or smaller value converted, or
// converted itself.
//
// How: ranges, constants and arithmetic on them are repeated up to a limit
// (CostModel.h). A broadcast is repeated on its converted source, which is
// smaller; a widening cast on its converted source, which is narrower; addresses
// and masks on the converted row or column that they are computed from. All else
// gets a convert_layout right after its definition, so that a value from
// outside a loop is converted outside.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_LAYOUT_TILEMATERIALIZER_H
#define TILEWRIGHT_PASSES_LAYOUT_TILEMATERIALIZER_H

#include "passes/analysis/AxisInfo.h"
#include "passes/analysis/CostModel.h"

namespace tilewright::passes {

class TileMaterializer {
public:
  /// `value`, which has a layout, in `layout`.
  mlir::Value get(mlir::Value value, ir::LayoutAttr layout);

  /// Whether computing `value` again is better than converting it: known before
  /// layouts are.
  bool isCheap(mlir::Value value);
  /// Whether a few ops on what is in `layout` already make `value` in it: they take back the
  /// conversions that it is computed from.
  bool isRestored(mlir::Value value, ir::LayoutAttr layout);
  /// Whether `value` is best made from a smaller or narrower one.
  static bool isExpansion(mlir::Value value);
  /// The row or column that `value` repeats, of few elements beside it; else null.
  static mlir::Value rowOf(mlir::Value value);
  /// Whether `get` repeats the op that makes `value`, where that op can have the layout, and
  /// does not convert its result.
  bool isRemade(mlir::Value value);

  int numConversions() const { return conversions; }
  int numRecomputed() const { return recomputed; }

private:
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> made;
  /// Instructions per element of the whole chain; infinite where not allowed. And the same where
  /// what cannot be computed again is converted, if it is a row or a column.
  llvm::DenseMap<mlir::Value, double> chainCosts, addressCosts;
  int conversions = 0, recomputed = 0;

  double chainCost(mlir::Value value, bool convertsLeaves);
  /// The same for `layout`, where conversions from it cost nothing.
  double restoringCost(mlir::Value value, ir::LayoutAttr layout);
  /// Whether addresses, or a mask, are best computed again from a row or a column that is
  /// converted, such as the pages that a table names.
  bool isCheapAddress(mlir::Value value);
  mlir::Value recompute(mlir::Value value, ir::LayoutAttr layout);
  mlir::Value convert(mlir::Value value, ir::LayoutAttr layout);
};

/// `value` converted to `layout` before `op`.
mlir::Value convertBefore(mlir::Operation *op, mlir::Value value, ir::LayoutAttr layout);

/// Erases pure ops without users, last first.
void eraseDead(mlir::Operation *root);

/// The layout in the type of a tile.
ir::LayoutAttr layoutOf(mlir::Value value);
/// Changes the layout in the type of a tile; constants keep their value.
void setLayout(mlir::Value value, ir::LayoutAttr layout);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_LAYOUT_TILEMATERIALIZER_H
