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

/// How the registers of a value cross blocks: as they are; 16-bit elements two to a word, as
/// matrix instructions have them; or each element in a word of its own.
enum class Crossing : uint8_t { Plain, Packed, Widened };
using Crossings = llvm::SmallVector<Crossing>;

/// Words of a product in flight must not be taken apart and put together again; and the
/// rounding of a carried operand would be moved after the start of the next product, whose
/// accumulator it reads.
static Crossings crossingsOf(TypeRange types) {
  return llvm::map_to_vector(types, [](Type type) {
    Type element = getElementTypeOrSelf(type);
    bool isPacked =
        (element.isF16() || element.isBF16()) && FunctionLowering::numRegisters(type) > 1;
    return isPacked ? Crossing::Packed : Crossing::Plain;
  });
}

/// Whether a later iteration gets what `variable` loads in this one, element by element.
static bool isLoadedAhead(scf::ForOp loop, BlockArgument variable) {
  Value value = variable;
  // Loaded several iterations ahead, it passes through a variable for each of them.
  for (unsigned hops = 0; hops < loop.getNumRegionIterArgs(); ++hops) {
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != loop.getBody() || argument.getArgNumber() == 0)
      break;
    value = loop.getTiedLoopYieldedValue(argument)->get();
  }
  auto load = value.getDefiningOp<ir::LoadOp>();
  return load && !load->hasAttr(ir::vectorElementsAttr);
}

/// Packing what is loaded ahead would wait for it, before there is a use. So does the assembler
/// at the end of an iteration, where it moves registers of less than a word.
static Crossings crossingsOf(FunctionLowering &lowering, scf::ForOp loop) {
  Crossings crossings = crossingsOf(loop.getResultTypes());
  // Products leave no registers for words that are half empty.
  if (lowering.hasProducts)
    return crossings;
  for (auto [crossing, variable] : llvm::zip(crossings, loop.getRegionIterArgs()))
    if (ir::elementBits(getElementTypeOrSelf(variable)) == 16 && isLoadedAhead(loop, variable))
      crossing = Crossing::Widened;
  return crossings;
}

/// A 16-bit element in a word: what is above it does not matter.
static Value widen(FunctionLowering &lowering, Value element) {
  OpBuilder &builder = lowering.builder;
  Value bits = builder.createOrFold<LLVM::BitcastOp>(lowering.loc, builder.getI16Type(), element);
  if (auto cast = element.getDefiningOp<LLVM::BitcastOp>())
    bits = cast.getArg();
  if (auto narrow = bits.getDefiningOp<LLVM::TruncOp>();
      narrow && narrow.getArg().getType().isInteger(32))
    return narrow.getArg(); // as it has been loaded
  return builder.create<LLVM::ZExtOp>(lowering.loc, builder.getI32Type(), bits);
}

/// The registers of several values, one after the other.
static llvm::SmallVector<Value> flatten(FunctionLowering &lowering, ValueRange values,
                                        const Crossings &crossings) {
  llvm::SmallVector<Value> all;
  for (auto [value, crossing] : llvm::zip(values, crossings)) {
    Registers registers = lowering.get(value);
    if (crossing == Crossing::Packed)
      registers = packForMatrix(lowering, registers);
    if (crossing == Crossing::Widened)
      for (Value &element : registers)
        element = widen(lowering, element);
    llvm::append_range(all, registers);
  }
  return all;
}
static llvm::SmallVector<Value> flatten(FunctionLowering &lowering, ValueRange values) {
  return flatten(lowering, values, crossingsOf(values.getTypes()));
}

/// A new block after the current one with an argument per register of `types`.
static Block *addBlock(FunctionLowering &lowering, TypeRange types, const Crossings &crossings,
                       llvm::ArrayRef<Type> leading = {}) {
  OpBuilder::InsertionGuard guard(lowering.builder);
  Block *block = lowering.builder.createBlock(&lowering.function.getBody());
  for (Type type : leading)
    block->addArgument(type, lowering.loc);
  for (auto [type, crossing] : llvm::zip(types, crossings)) {
    Type registerType = crossing == Crossing::Plain
                            ? lowering.registerType(getElementTypeOrSelf(type))
                            : lowering.builder.getI32Type();
    int count = FunctionLowering::numRegisters(type) / (crossing == Crossing::Packed ? 2 : 1);
    for (; count > 0; --count)
      block->addArgument(registerType, lowering.loc);
  }
  return block;
}
static Block *addBlock(FunctionLowering &lowering, TypeRange types) {
  return addBlock(lowering, types, crossingsOf(types));
}

/// Sets `values` from the arguments of `block`, starting at `first`.
static void bind(FunctionLowering &lowering, ValueRange values, Block *block,
                 const Crossings &crossings, unsigned first = 0) {
  OpBuilder &builder = lowering.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(block);
  for (auto [value, crossing] : llvm::zip(values, crossings)) {
    Type registerType = lowering.registerType(getElementTypeOrSelf(value.getType()));
    int count =
        FunctionLowering::numRegisters(value.getType()) / (crossing == Crossing::Packed ? 2 : 1);
    auto arguments = block->getArguments().slice(first, count);
    Registers registers(arguments.begin(), arguments.end());
    if (crossing == Crossing::Packed)
      registers = unpackFromMatrix(lowering, registers, registerType);
    if (crossing == Crossing::Widened)
      for (Value &element : registers)
        element = builder.create<LLVM::BitcastOp>(
            lowering.loc, registerType,
            builder.create<LLVM::TruncOp>(lowering.loc, builder.getI16Type(), element));
    lowering.set(value, std::move(registers));
    first += count;
  }
}
static void bind(FunctionLowering &lowering, ValueRange values, Block *block) {
  bind(lowering, values, block, crossingsOf(values.getTypes()));
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

  Crossings crossings = crossingsOf(lowering, loop);
  Block *header = addBlock(lowering, loop.getResultTypes(), crossings, {lower.getType()});
  Block *body = addBlock(lowering, {});
  Block *exit = addBlock(lowering, {});
  llvm::SmallVector<Value> entry{lower};
  llvm::append_range(entry, flatten(lowering, loop.getInitArgs(), crossings));
  builder.create<LLVM::BrOp>(loc, entry, header);

  builder.setInsertionPointToEnd(header);
  Value induction = header->getArgument(0);
  Value more = builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::slt, induction, upper);
  builder.create<LLVM::CondBrOp>(loc, more, body, exit);

  lowering.set(loop.getInductionVar(), {induction});
  bind(lowering, loop.getRegionIterArgs(), header, crossings, 1);
  if (failed(lowerInto(lowering, *loop.getBody(), body)))
    return failure();
  // Wraps only where the last value lies within one step of the type's end,
  // where the language leaves the loop's behaviour open.
  Value next = builder.create<LLVM::AddOp>(loc, induction, step, LLVM::IntegerOverflowFlags::nsw);
  llvm::SmallVector<Value> again{next};
  llvm::append_range(again,
                     flatten(lowering, loop.getBody()->getTerminator()->getOperands(), crossings));
  builder.create<LLVM::BrOp>(loc, again, header);

  builder.setInsertionPointToEnd(exit);
  bind(lowering, loop.getResults(), header, crossings, 1);
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
