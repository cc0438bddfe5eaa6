//===- LowerControlFlow.cpp - scf to blocks -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: scf.for, scf.if and scf.while become blocks. A carried tile becomes one
// block argument per register, a phi each.
//
// How: conditions are scalars and equal in all threads, so branches are uniform
// and barriers inside a region are reached by all threads or by none.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/MatrixInternal.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::codegen {

/// Whether the registers of a tile cross blocks two to a word, as matrix
/// instructions have them. Words of a product in flight must not be taken apart
/// and put together again; and the rounding of a carried operand would be moved
/// after the start of the next product, whose accumulator it reads.
static bool crossesPacked(Type type) {
  Type element = getElementTypeOrSelf(type);
  return (element.isF16() || element.isBF16()) && FunctionLowering::numRegisters(type) > 1;
}

/// The registers of several values, one after the other.
static llvm::SmallVector<Value> flatten(FunctionLowering &lowering, ValueRange values) {
  llvm::SmallVector<Value> all;
  for (Value value : values)
    llvm::append_range(all, crossesPacked(value.getType())
                                ? packForMatrix(lowering, lowering.get(value))
                                : lowering.get(value));
  return all;
}

/// A new block after the current one with an argument per register of `types`.
static Block *addBlock(FunctionLowering &lowering, TypeRange types,
                       llvm::ArrayRef<Type> leading = {}) {
  OpBuilder::InsertionGuard guard(lowering.builder);
  Block *block = lowering.builder.createBlock(&lowering.function.getBody());
  for (Type type : leading)
    block->addArgument(type, lowering.loc);
  for (Type type : types) {
    Type registerType = lowering.registerType(getElementTypeOrSelf(type));
    int count = FunctionLowering::numRegisters(type);
    if (crossesPacked(type)) {
      registerType = lowering.builder.getI32Type();
      count /= 2;
    }
    for (; count > 0; --count)
      block->addArgument(registerType, lowering.loc);
  }
  return block;
}

/// Sets `values` from the arguments of `block`, starting at `first`.
static void bind(FunctionLowering &lowering, ValueRange values, Block *block, unsigned first = 0) {
  OpBuilder::InsertionGuard guard(lowering.builder);
  lowering.builder.setInsertionPointToStart(block);
  for (Value value : values) {
    bool isPacked = crossesPacked(value.getType());
    int count = FunctionLowering::numRegisters(value.getType()) / (isPacked ? 2 : 1);
    auto arguments = block->getArguments().slice(first, count);
    Registers registers(arguments.begin(), arguments.end());
    if (isPacked)
      registers = unpackFromMatrix(lowering, registers,
                                   lowering.registerType(getElementTypeOrSelf(value.getType())));
    lowering.set(value, std::move(registers));
    first += count;
  }
}

/// Lowers a region's block at the start of `block`; afterwards the builder is at
/// the end of it.
static LogicalResult lowerInto(FunctionLowering &lowering, Block &source, Block *block) {
  lowering.builder.setInsertionPointToEnd(block);
  return lowering.lowerBlockBody(source);
}

static LogicalResult lowerFor(Operation *op, FunctionLowering &lowering) {
  auto loop = llvm::cast<scf::ForOp>(op);
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Value lower = lowering.getScalar(loop.getLowerBound());
  Value upper = lowering.getScalar(loop.getUpperBound());
  Value step = lowering.getScalar(loop.getStep());

  Block *header = addBlock(lowering, loop.getResultTypes(), {lower.getType()});
  Block *body = addBlock(lowering, {});
  Block *exit = addBlock(lowering, {});
  llvm::SmallVector<Value> entry{lower};
  llvm::append_range(entry, flatten(lowering, loop.getInitArgs()));
  builder.create<LLVM::BrOp>(loc, entry, header);

  builder.setInsertionPointToEnd(header);
  Value induction = header->getArgument(0);
  Value more = builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::slt, induction, upper);
  builder.create<LLVM::CondBrOp>(loc, more, body, exit);

  lowering.set(loop.getInductionVar(), {induction});
  bind(lowering, loop.getRegionIterArgs(), header, 1);
  if (failed(lowerInto(lowering, *loop.getBody(), body)))
    return failure();
  // Wraps only where the last value lies within one step of the type's end,
  // where the language leaves the loop's behaviour open.
  Value next = builder.create<LLVM::AddOp>(loc, induction, step, LLVM::IntegerOverflowFlags::nsw);
  llvm::SmallVector<Value> again{next};
  llvm::append_range(again, flatten(lowering, loop.getBody()->getTerminator()->getOperands()));
  builder.create<LLVM::BrOp>(loc, again, header);

  builder.setInsertionPointToEnd(exit);
  bind(lowering, loop.getResults(), header, 1);
  lowering.loc = loc;
  return success();
}

/// Whether `branch` only starts asynchronous copies, beside products. Each copy then
/// gets the condition for itself: a branch would be a wall for the assembler, which
/// spreads the copies among the products by mma otherwise, and the arithmetic of their
/// addresses among those by wgmma.
static bool isPredicated(scf::IfOp branch) {
  if (branch.elseBlock() || branch->getNumResults() != 0)
    return false;
  for (Operation &op : branch.thenBlock()->without_terminator())
    if (!llvm::isa<ir::AsyncCopyOp>(op))
      return false;
  Block *block = branch->getBlock();
  return llvm::any_of(*block, llvm::IsaPred<ir::DotOp, ir::WgmmaOp>);
}

static LogicalResult lowerIf(Operation *op, FunctionLowering &lowering) {
  auto branch = llvm::cast<scf::IfOp>(op);
  if (isPredicated(branch)) {
    lowering.copyCondition = lowering.getScalar(branch.getCondition());
    LogicalResult result = lowering.lowerBlockBody(*branch.thenBlock());
    lowering.copyCondition = {};
    return result;
  }
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Value condition = lowering.getScalar(branch.getCondition());
  Block *merge = addBlock(lowering, branch.getResultTypes());
  Block *thenBlock = addBlock(lowering, {});
  Block *elseBlock = branch.elseBlock() ? addBlock(lowering, {}) : merge;
  builder.create<LLVM::CondBrOp>(loc, condition, thenBlock, elseBlock);

  auto lowerArm = [&](Block &source, Block *block) -> LogicalResult {
    if (failed(lowerInto(lowering, source, block)))
      return failure();
    builder.create<LLVM::BrOp>(loc, flatten(lowering, source.getTerminator()->getOperands()),
                               merge);
    return success();
  };
  if (failed(lowerArm(*branch.thenBlock(), thenBlock)))
    return failure();
  if (branch.elseBlock() && failed(lowerArm(*branch.elseBlock(), elseBlock)))
    return failure();
  builder.setInsertionPointToEnd(merge);
  bind(lowering, branch.getResults(), merge);
  lowering.loc = loc;
  return success();
}

static LogicalResult lowerWhile(Operation *op, FunctionLowering &lowering) {
  auto loop = llvm::cast<scf::WhileOp>(op);
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Block *header = addBlock(lowering, loop.getInits().getTypes());
  Block *body = addBlock(lowering, loop.getResultTypes());
  Block *exit = addBlock(lowering, loop.getResultTypes());
  builder.create<LLVM::BrOp>(loc, flatten(lowering, loop.getInits()), header);

  bind(lowering, loop.getBeforeArguments(), header);
  if (failed(lowerInto(lowering, *loop.getBeforeBody(), header)))
    return failure();
  auto condition = loop.getConditionOp();
  llvm::SmallVector<Value> passed = flatten(lowering, condition.getArgs());
  builder.create<LLVM::CondBrOp>(loc, lowering.getScalar(condition.getCondition()), body, passed,
                                 exit, passed);

  bind(lowering, loop.getAfterArguments(), body);
  if (failed(lowerInto(lowering, *loop.getAfterBody(), body)))
    return failure();
  builder.create<LLVM::BrOp>(
      loc, flatten(lowering, loop.getAfterBody()->getTerminator()->getOperands()), header);

  builder.setInsertionPointToEnd(exit);
  bind(lowering, loop.getResults(), exit);
  lowering.loc = loc;
  return success();
}

void addControlFlowLowerings(LoweringTable &table) {
  table.add(scf::ForOp::getOperationName(), lowerFor);
  table.add(scf::IfOp::getOperationName(), lowerIf);
  table.add(scf::WhileOp::getOperationName(), lowerWhile);
}

} // namespace tilewright::codegen
