//===- MatrixAccess.h - ldmatrix and stmatrix by layout ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: whether a tile in shared memory can be read with ldmatrix (or written
// with stmatrix) into a distributed layout, and the addresses and registers of
// each instruction.
//
// The instruction moves up to four 8x8 matrices of 16-bit units. Matrix m has
// eight rows of 16 bytes, anywhere; lane 8m + i gives the address of its row i.
// Lane t gets one 32-bit word of each matrix: units 2(t%4) and 2(t%4)+1 of row
// t/4, or with .trans unit t/4 of rows 2(t%4) and 2(t%4)+1.
//
// In columns (register and lane bits to offsets, 16-bit elements):
//
//                  plain                    transposed
//   in the word    1                        a row address
//   lane bits 0,1  2, 4                     row addresses
//   lane bits 2-4  row addresses            1, 2, 4
//   other bits     16-byte aligned          16-byte aligned
//
// where a row address is any aligned offset, so that swizzled memory is fine.
// Elements of 8 and 32 bits fill the words with more or fewer register bits;
// they have no transposed form.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_MATRIXACCESS_H
#define TILEWRIGHT_IR_LAYOUT_MATRIXACCESS_H

#include "ir/layout/LayoutAlgebra.h"

namespace tilewright {

/// One instruction. registers[m * elementsPerWord + e] is element e, from the
/// low end, of the word that matrix m moves.
struct MatrixAccess {
  /// To be XORed with the row and warp offsets, in elements.
  uint32_t offset = 0;
  std::vector<int> registers;
};

struct MatrixAccessPlan {
  bool transposed = false;
  /// 1, 2 or 4.
  int numMatrices = 1;
  int elementsPerWord = 1;
  /// The offset of the row whose address a lane gives: XOR of rowOffsets over
  /// the bits of the lane and of the others over those of its warp and block.
  /// Lanes beyond 8 * numMatrices repeat the addresses of those below.
  Columns rowOffsets, warpOffsets, blockOffsets;
  /// Registers that hold copies occur in none of them.
  std::vector<MatrixAccess> accesses;
  /// Wavefronts of one instruction beyond one per matrix.
  int extraWavefronts = 0;
};

/// Nothing where the layouts do not allow it. `memory` must begin at a 16-byte
/// boundary. Layouts of 32 lanes only.
std::optional<MatrixAccessPlan> planMatrixAccess(const LinearLayout &memory,
                                                 const LinearLayout &distributed, int elementBits,
                                                 bool transposed);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_MATRIXACCESS_H
