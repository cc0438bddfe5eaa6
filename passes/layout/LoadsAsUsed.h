//===- LoadsAsUsed.h - Loading tiles as their users hold them ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what all users of loaded tiles want in one layout is loaded in it, where that
// costs less than to convert it (step 4 of RemoveConversions). What elementwise ops make
// of the tiles on the way is computed in that layout, too:
//
//     x = load p        : #a                    x = load p'  : #b
//     y = exp x         : #a                    y = exp x    : #b
//     z = convert y     : #a -> #b      =>
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_LAYOUT_LOADSASUSED_H
#define TILEWRIGHT_PASSES_LAYOUT_LOADSASUSED_H

#include "passes/Passes.h"
#include "passes/layout/TileMaterializer.h"

namespace tilewright::passes {

class LoadsAsUsed {
public:
  LoadsAsUsed(mlir::func::FuncOp function, const PassContext &context)
      : function(function), context(context) {}

  void run();
  int numRemoved() const { return removed; }
  int numRefused() const { return refused; }

private:
  /// Ops that take one layout together: each use of a result is one of them, or converts it.
  struct Slice {
    ir::LayoutAttr layout;
    llvm::SmallVector<ir::LoadOp> loads;
    llvm::SmallVector<mlir::Operation *> computations;
  };

  mlir::func::FuncOp function;
  const PassContext &context;
  TileMaterializer materializer;
  std::optional<AxisAnalysis> axes;
  /// The layout that each op should take, of those that can.
  llvm::DenseMap<mlir::Operation *, ir::LayoutAttr> wanted;
  int removed = 0, refused = 0;

  void findWanted();
  ir::LayoutAttr wantedByUsers(mlir::Value value) const;
  bool canRetype(mlir::Operation *op);
  bool hasOperandsFor(mlir::Operation *op);
  Slice sliceFrom(ir::LoadOp load, llvm::DenseSet<mlir::Operation *> &seen) const;
  bool shouldRetype(const Slice &slice);
  bool isStillLegal(const Slice &slice);
  double savedByLoads(const Slice &slice);
  double spentOnRows(const Slice &slice);
  void retype(const Slice &slice);
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_LAYOUT_LOADSASUSED_H
