//===- LayoutTransforms.h - Layouts through shape operations ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: how the layout of a tile follows reshape, permute, expand_dims, reduce,
// broadcast, join, split and cat, so that none of them moves data between
// threads.
//
// Why here: elements are numbered row-major as one integer, so a shape
// operation is a rearrangement of the bits of the columns. Registers keep their
// numbers unless a function below says otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_LAYOUTTRANSFORMS_H
#define TILEWRIGHT_IR_LAYOUT_LAYOUTTRANSFORMS_H

#include "ir/layout/LinearLayout.h"

namespace tilewright {

/// The same columns under another shape of the same size.
LinearLayout reshapeLayout(const LinearLayout &layout, std::vector<int> newLog2Shape);

/// Dimension i of the result is dimension order[i] of `layout`.
LinearLayout permuteDims(const LinearLayout &layout, const std::vector<int> &order);
/// The operand layout that permuteDims(., order) turns into `result`.
LinearLayout permuteOperandLayout(const LinearLayout &result, const std::vector<int> &order);

/// Inserts a dimension of extent 1 before `axis`.
LinearLayout expandDims(const LinearLayout &layout, int axis);
/// Removes the dimension `axis` of extent 1.
LinearLayout squeezeDim(const LinearLayout &layout, int axis);

/// The layout of a reduction's result: the element bits of `axis` are gone
/// (with keepDim the dimension stays, with extent 1), register columns that
/// became zero are dropped, other zero columns stay and mean copies.
LinearLayout sliceDim(const LinearLayout &layout, int axis, bool keepDim);
/// For each register of `layout`, the register of sliceDim(layout, axis, .)
/// that has its other coordinates.
std::vector<int> sliceRegisters(const LinearLayout &layout, int axis);

/// The layout that the operand of a broadcast to `result` must have for the
/// broadcast to be register renaming. `operandLog2Shape` has the rank of
/// `result`, and 0 where it is broadcast.
LinearLayout broadcastOperandLayout(const LinearLayout &result,
                                    const std::vector<int> &operandLog2Shape);
/// That renaming: for each register of `result` the operand's register.
std::vector<int> broadcastRegisters(const LinearLayout &result,
                                    const std::vector<int> &operandLog2Shape);
/// A layout of a broadcast's result that `operand` is the operand layout of: the repeated elements
/// are in the threads that have them already, first in those that hold copies.
LinearLayout repeatInThreads(const LinearLayout &operand, const std::vector<int> &resultLog2Shape);
/// Each element along `dim` becomes a run of 2^log2Run of them, in the lowest registers of its
/// thread.
LinearLayout withRunsInThread(const LinearLayout &layout, int dim, int log2Run);

/// The result of joining two tiles of `layout` along a new last dimension of
/// extent 2, which is the lowest register bit: registers 2r and 2r+1 of the
/// result are register r of the two operands.
LinearLayout joinLayout(const LinearLayout &layout);
/// What splitting a tile along its last dimension of extent 2 gives, and which
/// bit of the register index tells the halves apart.
struct SplitLayout {
  LinearLayout layout;
  int registerBit;
};
/// Nothing where the last dimension is not one register bit of its own.
std::optional<SplitLayout> splitLayout(const LinearLayout &operand);
/// `operand` where splitLayout accepts it, else the nearest layout that it
/// does.
LinearLayout splitOperandLayout(const LinearLayout &operand);

/// Concatenation of two tiles of `layout` along `axis`: the new top bit of that
/// dimension is the highest register bit.
LinearLayout catLayout(const LinearLayout &layout, int axis = 0);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_LAYOUTTRANSFORMS_H
