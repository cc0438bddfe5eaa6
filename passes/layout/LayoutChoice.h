//===- LayoutChoice.h - Which layout each value should have --- -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the preferences of values, before any layout is in a type.
//
// How: forward, loads have a preferred layout, and so has what is computed from loaded
// values, by the rules of LayoutRules.h. Where preferences meet, the one with the least cost
// of conversion wins. Values that are cheap to compute again and broadcasts have no
// preference. Loops are repeated until their variables settle. Backward, values without a
// preference take what their users want; a store wants its value's layout or the coalesced
// one, whichever costs less.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_LAYOUT_LAYOUTCHOICE_H
#define TILEWRIGHT_PASSES_LAYOUT_LAYOUTCHOICE_H

#include "passes/layout/LayoutCandidates.h"
#include "passes/layout/TileMaterializer.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>

namespace tilewright::passes {

/// A tile of the shape that an op works on whose tiles have one layout.
mlir::Value tileOf(mlir::Operation *op);

class LayoutChoice {
public:
  LayoutChoice(mlir::func::FuncOp function, const LayoutCandidates &candidates,
               TileMaterializer &materializer);

  /// The layout a value is known to prefer or to be wanted in; null for none.
  ir::LayoutAttr known(mlir::Value value) const;
  /// The known one, or the default.
  ir::LayoutAttr layoutFor(mlir::Value value) const;
  /// The layout decided for a store or an atomic; null for other ops.
  ir::LayoutAttr decidedFor(mlir::Operation *op) const { return decided.lookup(op); }
  /// Without a preference of its own: computed again wherever it is needed.
  bool isFlexible(mlir::Value value) const { return materializer.isCheap(value); }

private:
  void prefer(mlir::Value value, ir::LayoutAttr layout);
  void want(mlir::Value value, ir::LayoutAttr layout);
  void wantOperand(mlir::Operation *op, unsigned index, ir::LayoutAttr result,
                   mlir::Value resultTile);
  /// The cheapest layout for all operands with a preference, the access
  /// included; `possible` come in order of merit where costs are equal.
  ir::LayoutAttr cheapest(llvm::ArrayRef<ir::LayoutAttr> possible, mlir::ValueRange operands,
                          const MemoryAccess *access);
  /// What a Same op should have: one of its operands' preferences, or for an
  /// access the coalesced layout.
  ir::LayoutAttr chooseSame(mlir::Operation *op);
  void forwardBlock(mlir::Block &block);
  void forward(mlir::Operation *op);
  void forwardSame(mlir::Operation *op);
  /// The layout of a scan whose operands come in `layout`: that, or one in which each thread
  /// has neighbours along the axis, where it saves more than conversions to it and back cost.
  ir::LayoutAttr chooseScan(ir::ScanOp scan, ir::LayoutAttr layout);
  void forwardShape(mlir::Operation *op);
  /// The layout that the reduction had whose results `broadcast` repeats; null for other tiles.
  ir::LayoutAttr reducedFrom(ir::BroadcastOp broadcast) const;
  /// A reduction decides the layout of a source that has none: no later op
  /// can say what it should be. It takes that of the last reduction of such a shape, because
  /// results often meet: a sort carries indices beside its keys.
  void forwardReduce(ir::ReduceOp reduce);
  void forwardRegion(mlir::Operation *op);
  /// Gives the preferences of the operands of a loop, or of the end of one of its regions, to
  /// what they are carried into; what comes round the loop counts more than what comes in
  /// once. True if any argument of `into` changed.
  bool carryFrom(mlir::Operation *source, mlir::Region *into);
  void forwardLoop(mlir::Operation *loop);
  void backwardBlock(mlir::Block &block);
  void backward(mlir::Operation *op);
  /// Makes all values of one loop variable want what any of them has.
  void tie(llvm::ArrayRef<mlir::Value> values);
  void backwardRegion(mlir::Operation *op);
  void tieVariables(mlir::Operation *loop);

  const LayoutCandidates &candidates;
  TileMaterializer &materializer;
  /// Forward: what a value has by itself. Backward: what users want of a value
  /// that has none.
  llvm::DenseMap<mlir::Value, ir::LayoutAttr> preferred, wanted;
  llvm::DenseMap<mlir::Operation *, ir::LayoutAttr> decided;
  /// By shape, what the last reduction of a tile with a preference had.
  std::map<std::vector<int64_t>, ir::LayoutAttr> reduced;
  /// What tiles come in that repeat the results of a reduction for all that was reduced. Asked
  /// only where no operand has a preference, because a vector that is repeated costs less to
  /// convert than a tile.
  llvm::DenseMap<mlir::Value, ir::LayoutAttr> restored;
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_LAYOUT_LAYOUTCHOICE_H
