//===- TileOps.td - The tw dialect -------------------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what a tile language adds to arith, math, scf and func. Elementwise
// arithmetic is arith and math on tensors; control flow is scf; this dialect
// has program indices, shapes, pointers, memory, reductions, layouts.
//
// Levels: at tile level tensors have no encoding. At layout level every tensor
// carries #tw.layout and ConvertLayout appears. Rationale.md has the decisions.
//
// The operations stand by topic in the files that are included below.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_TILEOPS_TD
#define TILEWRIGHT_IR_DIALECT_TILEOPS_TD

include "ir/dialect/ElementOps.td"
include "ir/dialect/LayoutOps.td"
include "ir/dialect/MemoryOps.td"

#endif // TILEWRIGHT_IR_DIALECT_TILEOPS_TD
