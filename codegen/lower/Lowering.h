//===- Lowering.h - Tile IR to the LLVM dialect -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: lowers one kernel of the layout level to an llvm.func.
//
// How: one walk over the structured IR. A tile becomes a list of LLVM values,
// one per register of its layout; a scalar a list of one. The lists live in a
// table beside the IR, never in LLVM structs: packing and unpacking structs of
// n registers costs n^2, and that is what makes large tiles slow to compile
// elsewhere. scf.for, scf.if and scf.while become blocks whose arguments are
// the registers.
//
// Each family of ops has one file, which registers its functions in a table.
//
// Not handled: optimisation. LLVM's own pipeline removes the address arithmetic
// of registers that no access uses.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_LOWERING_H
#define TILEWRIGHT_CODEGEN_LOWER_LOWERING_H

#include "ir/dialect/TileDialect.h"
#include "ir/support/Remark.h"
#include "ir/support/TargetInfo.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

#include <map>
#include <memory>

namespace tilewright::codegen {

/// One LLVM value per register of a tile, in the order of the register index;
/// one value for a scalar.
using Registers = llvm::SmallVector<mlir::Value>;

class FunctionLowering;
/// Lowers one op: reads operands with `lowering.get`, sets results with
/// `lowering.set`. On failure it has emitted an error at the op.
using OpLowering = mlir::LogicalResult (*)(mlir::Operation *, FunctionLowering &);

/// The lowering of each op, by name.
class LoweringTable {
public:
  explicit LoweringTable(mlir::MLIRContext *context) : context(context) {}

  void add(llvm::StringRef name, OpLowering lower) {
    lowerings[mlir::OperationName(name, context)] = lower;
  }
  /// Null for an op that has none.
  OpLowering find(mlir::OperationName name) const { return lowerings.lookup(name); }

private:
  mlir::MLIRContext *context;
  llvm::DenseMap<mlir::OperationName, OpLowering> lowerings;
};

/// The accesses of shared memory that were lowered, for reports.
struct SharedTraffic {
  int tiles = 0;       ///< lists of accesses that move a tile in or out
  int conflicting = 0; ///< of these, with bank conflicts
  int unexamined = 0;  ///< partial results of reductions and scans, and what an index chooses
};

/// The state of lowering one kernel.
class FunctionLowering {
public:
  FunctionLowering(mlir::LLVM::LLVMFuncOp function, const LoweringTable &table,
                   const TargetInfo &target, RemarkCollector *remarks);

  mlir::OpBuilder builder;
  mlir::LLVM::LLVMFuncOp function;
  const TargetInfo &target;
  /// May be null.
  RemarkCollector *remarks;
  /// Warps of one block.
  int numWarps = 4;
  /// Blocks of one program.
  int numBlocks = 1;
  /// Whether exponentials keep results below 2^-126.
  bool keepsDenormals = false;
  /// Whether it has matrix products, whose operands and sums take most of its registers.
  bool hasProducts = false;
  /// Where the barriers of reductions across blocks lie in shared memory.
  int64_t exchangeBarriers = 0;
  SharedTraffic sharedTraffic;
  /// While a branch is lowered whose copies are predicated instead: its condition.
  mlir::Value copyCondition;

  //===--- values -------------------------------------------------------===//
  const Registers &get(mlir::Value value) const;
  mlir::Value getScalar(mlir::Value value) const { return get(value).front(); }
  void set(mlir::Value value, Registers registers);
  /// How an element is held in a register: f32 as f32, a pointer as !llvm.ptr
  /// of its address space, fp8 as i8, i1 as i1. A tile or barrier in shared
  /// memory is its address.
  mlir::Type registerType(mlir::Type elementType) const;
  /// Number of registers per thread of a type: 1 for scalars.
  static int numRegisters(mlir::Type type);
  /// The layout of a tile value.
  static LinearLayout layoutOf(mlir::Value tile);

  //===--- regions ------------------------------------------------------===//
  /// Lowers all ops of a block but its terminator at the insertion point.
  mlir::LogicalResult lowerBlockBody(mlir::Block &block);
  /// Inlines a combine region on scalars (operands in order left, right) at the
  /// insertion point; returns what it yields.
  mlir::FailureOr<Registers> inlineCombine(mlir::Region &combine,
                                           llvm::ArrayRef<mlir::Value> operands);

  //===--- thread indices (i32, computed once in the entry block) --------===//
  mlir::Value threadId();
  mlir::Value laneId();
  mlir::Value warpId();
  /// The same, in a form that the assembler knows to be equal in all lanes.
  mlir::Value uniformWarpId();
  /// The rank of this block in its cluster (i32); only in programs of several.
  mlir::Value blockRank();
  /// The element (i32) that a register of this thread holds: the XOR of the
  /// lane's, warp's and block's columns, computed once per layout and cached, and the
  /// register's constant.
  mlir::Value elementIndex(const LinearLayout &layout, int registerIndex);
  /// The XOR (i32) of `lanes` over the bits of the lane, of `warps` over those of the
  /// warp and of `blocks` over those of the block, computed once per kernel in the
  /// entry block.
  mlir::Value applyThreadColumns(const Columns &lanes, const Columns &warps,
                                 const Columns &blocks = {});
  /// The XOR of `columns` over the set bits of `index` (i32): the building
  /// block of every layout-derived address.
  mlir::Value applyColumns(llvm::ArrayRef<uint32_t> columns, mlir::Value index);

  //===--- shared memory and synchronisation ------------------------------===//
  /// Address (ptr addrspace 3) of byte `offset` of the kernel's shared memory.
  mlir::Value sharedAddress(int64_t offset);
  /// The scratch that AllocateShared gave to `op`.
  int64_t scratchOffset(mlir::Operation *op) const;
  /// Counts accesses that move a tile, each of which takes `least` wavefronts and `extra` more by
  /// bank conflicts, and remarks on the latter. `how` is a sentence's end: "written by stmatrix".
  void noteSharedTile(const std::string &how, int least, int extra);
  /// All threads of the block wait for each other, or all of the program.
  void barrier();
  /// The same by the instruction that all threads of a block take, even where they are one warp.
  void barrierOfBlock();
  void barrierOfBlocks();
  /// Where `address` (ptr addrspace 3) of this block lies in the window of shared
  /// memory of the cluster (i32), for the block of this rank.
  mlir::Value addressInBlock(mlir::Value address, mlir::Value rank);
  /// shfl.sync.idx / .bfly of any register type: packs or splits to 32 bits.
  mlir::Value shuffleIndex(mlir::Value value, mlir::Value sourceLane);
  mlir::Value shuffleXor(mlir::Value value, int laneMask);

  //===--- small builders -------------------------------------------------===//
  /// Constants are made once per kernel, in the entry block.
  mlir::Value constantI32(int64_t value);
  mlir::Value constantI64(int64_t value);
  mlir::Value constantInt(mlir::Type integerType, int64_t value);
  mlir::Value constantFloat(mlir::Type floatType, double value);
  mlir::Value constant(mlir::TypedAttr value);
  /// The zero of any register type.
  mlir::Value zero(mlir::Type registerType);
  /// An i32 that is 0, which neither LLVM nor the assembler knows.
  mlir::Value hiddenZero();
  /// The bits of a register as an integer of its width (a pointer: i64), and
  /// back.
  mlir::Value toBits(mlir::Value value);
  mlir::Value fromBits(mlir::Value bits, mlir::Type registerType);
  static unsigned bitWidth(mlir::Type registerType);
  /// Whether this thread is the first among those that hold copies of the same
  /// elements; null where no two threads hold copies. For scalars: thread 0 of the
  /// program.
  mlir::Value ownsElements(mlir::Type type);
  /// The same within each block.
  mlir::Value ownsElementsInBlock(mlir::Type type);
  /// Calls a function that emitPtx links in: "__tw_..." of our device library,
  /// "__nv_..." of libdevice, or one that the driver provides.
  mlir::Value callExternal(llvm::StringRef name, mlir::Type result,
                           llvm::ArrayRef<mlir::Value> operands);
  /// Address (generic) of a zero-terminated constant string.
  mlir::Value stringConstant(llvm::StringRef text);

  /// Inline assembly with LLVM constraint syntax; no result type for none.
  /// Without side effects it is a pure function of its operands, or, with the
  /// clobber ~{memory} among the constraints, one that also reads memory.
  mlir::Value inlineAsm(mlir::Type result, llvm::ArrayRef<mlir::Value> operands,
                        llvm::StringRef assembly, llvm::StringRef constraints, bool hasSideEffects);
  /// The same with any number of results.
  Registers inlineAsmResults(llvm::ArrayRef<mlir::Type> results,
                             llvm::ArrayRef<mlir::Value> operands, llvm::StringRef assembly,
                             llvm::StringRef constraints, bool hasSideEffects);
  mlir::Location loc;

  /// Appends to the entry block, whose values all others may use.
  mlir::OpBuilder entryBuilder;
  /// Joins the entry block to the body; called once, at the end.
  void finish();

private:
  /// Whether none of these bits of thread index and block rank is set; null for no bits.
  mlir::Value isFirstOf(uint32_t threadMask, uint32_t blockMask);
  uint32_t duplicateThreads(mlir::Type type) const;

  const LoweringTable &table;
  /// Behind pointers, so that a reference from `get` survives a `set`.
  llvm::DenseMap<mlir::Value, std::unique_ptr<Registers>> values;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  /// The thread's part of elementIndex by lane, warp and block columns.
  std::map<std::vector<uint32_t>, mlir::Value> threadElements, owners;
  mlir::Block *bodyBlock = nullptr;
  mlir::Value threadIdValue, laneIdValue, warpIdValue, uniformWarpIdValue, blockRankValue,
      sharedBase, hiddenZeroValue;
};

//===--- one function per family (one file each) ---------------------------===//
void addElementwiseLowerings(LoweringTable &table);
void addCastLowerings(LoweringTable &table);
void addShapeLowerings(LoweringTable &table);
void addMemoryLowerings(LoweringTable &table);
void addAtomicLowerings(LoweringTable &table);
void addReduceLowerings(LoweringTable &table);
void addScanLowerings(LoweringTable &table);
void addConvertLayoutLowerings(LoweringTable &table);
void addSharedTileLowerings(LoweringTable &table);
void addGatherLowerings(LoweringTable &table);
void addAsyncCopyLowerings(LoweringTable &table);
void addControlFlowLowerings(LoweringTable &table);
void addUserCodeLowerings(LoweringTable &table);
void addDebugLowerings(LoweringTable &table);
void addBarrierLowerings(LoweringTable &table);
void addDotLowerings(LoweringTable &table);
void addFmaLowerings(LoweringTable &table);
void addWgmmaLowerings(LoweringTable &table);
void addTmaLowerings(LoweringTable &table);

void addMathLowerings(LoweringTable &table);

/// The index of this program (i32): that of its block or cluster in the grid.
mlir::Value programId(FunctionLowering &lowering, int axis);

/// Fetches the tensor map at this generic address into the descriptor cache.
void prefetchDescriptor(FunctionLowering &lowering, mlir::Value address);

/// Replaces the module's tile functions by llvm.func kernels. The module must
/// be at layout level with shared memory allocated (passes/pipeline).
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module, const TargetInfo &target,
                                RemarkCollector *remarks);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_LOWERING_H
