//===- TileDialect.h - The tw dialect ---------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the dialect, its types and attributes, its ops, and the attribute names
// that modules and functions carry.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_TILEDIALECT_H
#define TILEWRIGHT_IR_DIALECT_TILEDIALECT_H

#include "ir/layout/LinearLayout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/dialect/TileDialect.h.inc"
#include "ir/dialect/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/dialect/TileAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/dialect/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "ir/dialect/TileOps.h.inc"

namespace tilewright::ir {

/// Attributes of the module (i32 unless said otherwise). A kernel module holds
/// one public func.func.
constexpr llvm::StringLiteral numWarpsAttr = "tw.num_warps";
constexpr llvm::StringLiteral numStagesAttr = "tw.num_stages";
constexpr llvm::StringLiteral numBlocksAttr = "tw.num_ctas";
/// On the module (i32): threads that should be resident on a multiprocessor, where a pass
/// has made room for more than usual.
constexpr llvm::StringLiteral wantedThreadsAttr = "tw.wanted_threads";
constexpr llvm::StringLiteral maxRegistersAttr = "tw.max_registers";
/// Bytes of shared memory, set by AllocateShared.
constexpr llvm::StringLiteral sharedBytesAttr = "tw.shared_bytes";
/// Bytes (i64) of global memory that the launch provides for each program, with the
/// last argument of the function. Set by PlaceTensorMaps.
constexpr llvm::StringLiteral globalScratchAttr = "tw.global_scratch_bytes";
/// On the module (unit): pointer arguments of the launch may point into each other's memory.
constexpr llvm::StringLiteral argumentsOverlapAttr = "tw.arguments_overlap";
/// On the module (unit), set by AliasInfo where the one above is absent: the code is right
/// only where what the kernel writes through one argument is not read or written through another.
constexpr llvm::StringLiteral needsDistinctArgumentsAttr = "tw.needs_distinct_arguments";
/// On the module (unit): results of exp and exp2 below 2^-126 are kept.
constexpr llvm::StringLiteral keepDenormalsAttr = "tw.keep_denormals";
/// Function argument: the value is divisible by it (i64).
constexpr llvm::StringLiteral divisibilityAttr = "tw.divisibility";
/// Function argument, a pointer: index (i32) of the descriptor argument of the
/// same array.
constexpr llvm::StringLiteral descriptorBaseAttr = "tw.descriptor_base";
/// Function argument, a descriptor that the launch makes from other arguments
/// (dictionary: base, element, nan, shape, strides; frontend/emit/MakeDescriptor.cpp).
constexpr llvm::StringLiteral tensorMapAttr = "tw.tensor_map";
/// Function: descriptors made inside that are accessed by pointers, as pairs of a
/// location and a reason. PlaceTensorMaps makes them remarks.
constexpr llvm::StringLiteral pointerDescriptorsAttr = "tw.pointer_descriptors";
/// Any op that needs scratch: its byte offset in shared memory (i32), set by
/// AllocateShared.
constexpr llvm::StringLiteral scratchOffsetAttr = "tw.scratch_offset";
/// On a tw.reduce that crosses blocks (i32): the number of its barrier in the ring that
/// has the same attribute, as the number of barriers. Set by PrepareExchanges.
constexpr llvm::StringLiteral exchangeAttr = "tw.exchange";
/// On tw.convert_layout (i32): bytes of scratch to stay within, by going through
/// them in pieces. Set by AllocateShared where the whole does not fit.
constexpr llvm::StringLiteral scratchLimitAttr = "tw.scratch_limit";
/// On tw.load, tw.store, tw.atomic_rmw (i32): how many consecutive elements along
/// the fastest dimension are proven contiguous, aligned to their total size and
/// equal in mask. Set by AssignLayouts from the axis analysis; codegen may use
/// vectors up to it. Absent means 1.
constexpr llvm::StringLiteral vectorElementsAttr = "tw.vector_elements";
/// Beside it (i32): the dimension along which those elements run, where it is
/// not the last one.
constexpr llvm::StringLiteral vectorDimensionAttr = "tw.vector_dimension";
/// On elementwise ops of integers (i32): bits of the flat element that may be
/// cleared without changing the value. Set by MarkConstancy.
constexpr llvm::StringLiteral constantBitsAttr = "tw.constant_bits";
/// On remainders of integers (i32): neighbouring bits of the flat element, all of one dimension,
/// whose number is what an element's value is beyond that of the element without them. Set by
/// MarkConstancy.
constexpr llvm::StringLiteral countingBitsAttr = "tw.counting_bits";
/// On tw.broadcast (unit): a few copies of each element, which its thread shall hold. Set by
/// CompactLoads.
constexpr llvm::StringLiteral repeatsAttr = "tw.repeats";
/// On scf.for: what tl.range asked for (the first two i32, the others units). What has no
/// effect here, PipelineLoops says in a remark.
constexpr llvm::StringLiteral loopStagesAttr = "tw.loop_stages";
constexpr llvm::StringLiteral loopUnrollAttr = "tw.loop_unroll";
constexpr llvm::StringLiteral loopFlattenAttr = "tw.loop_flatten";
constexpr llvm::StringLiteral loopWarpSpecializeAttr = "tw.loop_warp_specialize";
constexpr llvm::StringLiteral loopNoLicmAttr = "tw.loop_no_licm";
/// One copy of a product's accumulator only.
constexpr llvm::StringLiteral loopSingleAccumulatorAttr = "tw.loop_single_accumulator";

/// The layout of a tensor type; null where it has none (tile level).
LayoutAttr getLayout(mlir::RankedTensorType type);
/// The linear layout of a tensor type of the layout level.
LinearLayout getLinearLayout(mlir::RankedTensorType type);
/// `type` with another layout.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, LayoutAttr layout);
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, const LinearLayout &layout);
/// log2 of the extents; all are powers of two by verification.
std::vector<int> log2Shape(llvm::ArrayRef<int64_t> shape);
/// Bits of one element in registers and memory: 8 for i1, 64 for pointers.
unsigned elementBits(mlir::Type elementType);
bool isFp8(mlir::Type elementType);
/// Whether a value is a constant zero, every element of it where it is a tile: of either
/// sign, or with no bit set.
bool isZero(mlir::Value value);
bool isZeroBits(mlir::Value value);

/// Whether an op acts on each element by itself with operands and results of
/// one shape: arith, math, and the elementwise ops of tw.
bool isElementwise(mlir::Operation *op);

/// A ring of buffers that TMA fills with blocks of `descriptor`: rows of at most
/// 128 bytes, swizzled (ir/support/TmaBox.h).
BufferType tmaBuffer(DescriptorType descriptor, int64_t slots = 1);
/// The same for a tile with the elements of a block (isBlockOf).
BufferType tmaBuffer(mlir::RankedTensorType tile);
/// Whether a tile of this shape has the elements of a block in their order: the shapes are
/// equal but for dimensions of extent 1 before the last one.
bool isBlockOf(llvm::ArrayRef<int64_t> shape, DescriptorType descriptor);

int numWarps(mlir::ModuleOp module);
/// Stages of loops that name no number of their own: what the launch asks for, or 3.
int numStages(mlir::ModuleOp module);
/// The stages of a loop: what it asks for itself, else what its module does.
int stagesOf(mlir::Operation *loop);
/// Blocks of one program: 1, or the size of its cluster.
int numBlocks(mlir::ModuleOp module);
/// The bits of the block index that tell copies of a tile apart: those that the
/// layout says and those that it does not mention.
uint32_t duplicateBlockMask(const LinearLayout &layout, int numBlocks);

} // namespace tilewright::ir

#endif // TILEWRIGHT_IR_DIALECT_TILEDIALECT_H
