//===- LayoutRules.h - How layouts pass through each op ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for every op on tiles the relation between the layouts of its operands
// and of its results, in both directions. AssignLayouts, RemoveConversions and
// VerifyLayouts all ask here, and code generation relies on exactly these rules
// (Rationale.md, section "Layout rules").
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_LAYOUTRULES_H
#define TILEWRIGHT_PASSES_ANALYSIS_LAYOUTRULES_H

#include "ir/dialect/TileDialect.h"

#include <optional>

namespace tilewright::passes {

/// The tile type of a value; null for scalars.
mlir::RankedTensorType tileType(mlir::Value value);
bool isTile(mlir::Value value);
/// Whether all elements are one scalar, by a splat or a constant.
bool isSplat(mlir::Value value);
/// The scalar that fills such a tile, made anew for a constant; null where there is none.
mlir::Value splatScalar(mlir::Value value, mlir::OpBuilder &builder);
/// Registers of 32 bits that a tile takes of a thread.
int64_t wordsPerThread(mlir::RankedTensorType type);
/// Bytes of all elements.
int64_t tileBytes(mlir::RankedTensorType type);

/// The dimension along which a thread holds neighbouring elements.
int fastestDimension(const LinearLayout &layout);

/// How an op relates layouts. Region ops (scf) are handled by their users.
enum class LayoutRule : uint8_t {
  NoTiles, ///< nothing to relate
  Source,  ///< no tile operand; any layout of the result: range, splat, constant
  Same,    ///< all tile operands and results have one layout
  Shape,   ///< expand_dims, broadcast, reshape, permute, join, split, concat
  Reduce,  ///< result is the source without the axis
  Dot,     ///< accumulator and result as the unit has them, operands as below
  Free,    ///< every operand for itself, no tile result: print, assert, return,
           ///< shared_store
  Convert, ///< convert_layout
  Fixed,   ///< the layout of the result is its maker's choice: shared_load, wgmma
  Region,  ///< scf ops and their terminators
  Unknown,
};
LayoutRule layoutRule(mlir::Operation *op);

/// The layout of tile results that follows from that of the tile operands (of
/// operand 0 for ops with several), for Same, Shape and Reduce; nothing where
/// the op cannot take such an operand, or where it does not determine the result
/// (broadcast).
std::optional<LinearLayout> resultLayout(mlir::Operation *op, const LinearLayout &operand);

/// The layout that the tile operand `index` must have for the results to have
/// `result`; nothing where no operand layout gives this result (join, concat,
/// split with another register order) or where it is not determined (reduce).
std::optional<LinearLayout> operandLayout(mlir::Operation *op, unsigned index,
                                          const LinearLayout &result);

/// The layout of a product's result and accumulator.
LinearLayout accumulatorLayout(ir::DotOp dot);
/// The layout in registers of operand 0 or 1 of a product; for wgmma that of
/// operand 0 where it is not in shared memory.
LinearLayout dotOperandLayout(ir::DotOp dot, unsigned index);
/// Whether PromoteShared will put the operands into shared memory, in whatever
/// layout they are: those of wgmma, and of fma where they would take many registers.
bool readsOperandsFromShared(ir::DotOp dot);

bool isProduct(mlir::Operation *op);
/// Whether a tile has one long dimension.
bool isRow(mlir::RankedTensorType type);
/// Words of a thread in the tiles that `loop` carries, and in the results of its products.
int64_t carriedWords(mlir::scf::ForOp loop);
int64_t productWords(mlir::scf::ForOp loop);

/// Whether a product takes from registers `tile`, or what becomes of it element by element: any
/// operand by mma, the left one by wgmma where it has its layout.
bool feedsMma(mlir::Value tile);

/// The nearest layout to `operand` that resultLayout accepts.
LinearLayout acceptableOperandLayout(mlir::Operation *op, const LinearLayout &operand);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_LAYOUTRULES_H
