//===- LowerFma.cpp - Products by fma -------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.shared_dot, and the arithmetic that tw.dot with unit fma has in common
// with it.
//
// How: a loop along K. Each round reads a few columns of A for the thread's rows,
// as many rows of B for its columns, and adds their products:
//
//   for (first = 0; first < K; first += step)
//     a[rows][step], b[step][columns] = shared memory at K = first
//     acc[row][column] += a[row][k] * b[k][column] for all k < step
//
// The offset of an element is linear in the bits of its coordinates, so a round's
// addresses are those of round 0 XORed with the offset of K = `first`. K in one
// piece would be hundreds of registers at once.
//
// Sums of f16 and bf16 are made in f32 and rounded once.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/ElementwiseInternal.h"
#include "codegen/lower/FmaProductInternal.h"
#include "codegen/lower/SharedTile.h"
#include "ir/layout/LayoutConstructors.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Type FmaProduct::sumType() const {
  bool isNarrow = llvm::isa<FloatType>(accumulatorElement) && !accumulatorElement.isF64();
  return isNarrow ? lowering.builder.getF32Type() : accumulatorElement;
}

Registers FmaProduct::convertedTo(Type to, Type from, llvm::ArrayRef<Value> registers) {
  from = getElementTypeOrSelf(from);
  Registers values;
  for (Value value : registers)
    values.push_back(from == to ? value
                     : llvm::isa<FloatType>(from)
                         ? convertFloat(lowering, value, from, to)
                         : lowering.builder.create<LLVM::SExtOp>(lowering.loc, to, value));
  return values;
}

void FmaProduct::multiply(TileRegisters &acc, const TileRegisters &a, const TileRegisters &b,
                          uint32_t k) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  // K outside: an operand register is needed for a short while only.
  for (uint32_t step = 0; step < k; ++step)
    for (size_t reg = 0; reg < acc.registers.size(); ++reg) {
      Element element = acc.elementOf(static_cast<int>(reg));
      Value left = a.at({element.batch, element.row, step});
      Value right = b.at({element.batch, step, element.column});
      Value &total = acc.registers[reg];
      if (llvm::isa<FloatType>(accumulatorElement))
        total = builder.create<LLVM::FMAOp>(loc, left, right, total);
      else
        total = builder.create<LLVM::AddOp>(
            loc, total, builder.create<LLVM::MulOp>(loc, left, right).getResult());
    }
}

//===----------------------------------------------------------------------===//
// Operands in shared memory
//===----------------------------------------------------------------------===//

namespace {

/// Operand registers of one round: enough loads in flight, and room for the sums. A guess.
constexpr int roundRegisters = 96;
/// Elements of K per round: one vector of f32 at least.
constexpr int minLog2Round = 2, maxLog2Round = 4;

/// One operand: how a thread reads its part for 2^log2Round elements of K.
struct SharedOperand {
  ir::BufferType type;
  /// The thread's part for K < 2^log2Round; other elements of K are in no register.
  LinearLayout layout;
  SharedSide side;
  /// Offset of each bit of K, in elements.
  Columns offsetsOfK;
};

class SharedDotLowering {
public:
  SharedDotLowering(ir::SharedDotOp op, FunctionLowering &lowering)
      : op(op), lowering(lowering), builder(lowering.builder), loc(lowering.loc),
        product(lowering, getElementTypeOrSelf(op.getAcc())),
        accLayout(FunctionLowering::layoutOf(op.getAcc())) {}

  LogicalResult run();

private:
  ir::SharedDotOp op;
  FunctionLowering &lowering;
  OpBuilder &builder;
  Location loc;
  FmaProduct product;
  LinearLayout accLayout;
  int log2K = 0, log2Round = 0;
  SharedOperand a, b;

  void chooseRound();
  LogicalResult plan(SharedOperand &operand, DotOperand which, Value buffer);
  TileRegisters load(const SharedOperand &operand, Value buffer, Value firstK);
  Registers round(const Registers &sums, Value firstK);
};

} // namespace

static int registersOf(const LinearLayout &accumulator, DotOperand which, int log2K) {
  return 1 << makeFmaOperand(accumulator, which, log2K).numInBits(InDim::Register);
}

void SharedDotLowering::chooseRound() {
  int perElement =
      registersOf(accLayout, DotOperand::A, 0) + registersOf(accLayout, DotOperand::B, 0);
  log2Round = minLog2Round;
  while (log2Round < maxLog2Round && (perElement << (log2Round + 1)) <= roundRegisters)
    ++log2Round;
  log2Round = std::min(log2Round, log2K);
}

LogicalResult SharedDotLowering::plan(SharedOperand &operand, DotOperand which, Value buffer) {
  operand.type = llvm::cast<ir::BufferType>(buffer.getType());
  LinearLayout memory = operand.type.toLinear();
  operand.layout = makeFmaOperand(accLayout, which, log2K);
  // The low register bits are those of K.
  Columns &registers = operand.layout.columns(InDim::Register);
  registers.erase(registers.begin() + log2Round, registers.begin() + log2K);
  SharedSideOptions options;
  std::optional<SharedSide> side = planSharedSide(
      memory, operand.layout, ir::elementBits(operand.type.getElementType()), options);
  std::optional<ElementMap> places = rightInverse(memory);
  if (!side || !places)
    return op.emitOpError("memory lacks elements of the tile: ") << operand.type;
  operand.side = std::move(*side);
  int dimK = memory.rank() - (which == DotOperand::A ? 1 : 2);
  for (int bit = 0; bit < log2K; ++bit)
    operand.offsetsOfK.push_back(
        places->apply(uint32_t(1) << (memory.dimStartBit(dimK) + bit))[InDim::Offset]);
  return success();
}

TileRegisters SharedDotLowering::load(const SharedOperand &operand, Value buffer, Value firstK) {
  DynamicOffset offset;
  if (firstK) {
    offset.value = lowering.applyColumns(operand.offsetsOfK, firstK);
    for (uint32_t column : llvm::drop_begin(operand.offsetsOfK, log2Round))
      offset.bits |= column;
  }
  Type element = operand.type.getElementType();
  Registers read(size_t(1) << operand.layout.numInBits(InDim::Register));
  SharedTile(lowering, operand.side, lowering.getScalar(buffer), ir::elementBits(element), offset)
      .load(read, lowering.registerType(element));
  Registers values;
  for (int reg : operand.side.registerOf)
    values.push_back(read[reg]);
  return TileRegisters(operand.layout, product.convertedTo(product.sumType(), element, values));
}

/// The sums after one round; K is `firstK` (i32), null for 0.
Registers SharedDotLowering::round(const Registers &sums, Value firstK) {
  TileRegisters acc(accLayout, sums);
  product.multiply(acc, load(a, op.getA(), firstK), load(b, op.getB(), firstK), 1u << log2Round);
  return acc.registers;
}

LogicalResult SharedDotLowering::run() {
  if (accLayout !=
      makeMmaAccumulator(accLayout.log2Shape(), {op.getWarps().begin(), op.getWarps().end()}))
    return op.emitOpError("accumulator has another layout than mma's");
  log2K = llvm::Log2_64(op.getA().getType().getShape().back());
  chooseRound();
  if (failed(plan(a, DotOperand::A, op.getA())) || failed(plan(b, DotOperand::B, op.getB())))
    return failure();
  Registers sums =
      product.convertedTo(product.sumType(), op.getAcc().getType(), lowering.get(op.getAcc()));
  if (log2Round == log2K) {
    sums = round(sums, Value());
  } else {
    Block *before = builder.getInsertionBlock();
    Block *after = before->splitBlock(builder.getInsertionPoint());
    Block *body = builder.createBlock(after);
    llvm::SmallVector<Value> start{lowering.constantI32(0)};
    llvm::append_range(start, sums);
    for (Value value : start)
      body->addArgument(value.getType(), loc);
    builder.setInsertionPointToEnd(before);
    builder.create<LLVM::BrOp>(loc, start, body);
    builder.setInsertionPointToStart(body);
    Value first = body->getArgument(0);
    sums = round(Registers(body->args_begin() + 1, body->args_end()), first);
    llvm::SmallVector<Value> next{
        builder.create<LLVM::AddOp>(loc, first, lowering.constantI32(int64_t(1) << log2Round))};
    llvm::append_range(next, sums);
    Value more = builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::ult, next.front(),
                                              lowering.constantI32(int64_t(1) << log2K));
    auto branch = builder.create<LLVM::CondBrOp>(loc, more, body, next, after, ValueRange());
    // The optimiser would unroll short loops, which is what they are there to avoid.
    MLIRContext *context = builder.getContext();
    auto unroll =
        LLVM::LoopUnrollAttr::get(context, builder.getBoolAttr(true), {}, {}, {}, {}, {}, {});
    branch.setLoopAnnotationAttr(LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {},
                                                               {}, {}, {}, {}, {}, {}, {}, {}, {}));
    builder.setInsertionPointToStart(after);
  }
  Type element = getElementTypeOrSelf(op.getResult());
  lowering.set(op.getResult(), product.convertedTo(element, product.sumType(), sums));
  return success();
}

static LogicalResult lowerSharedDot(Operation *op, FunctionLowering &lowering) {
  return SharedDotLowering(llvm::cast<ir::SharedDotOp>(op), lowering).run();
}

void addFmaLowerings(LoweringTable &table) {
  table.add(ir::SharedDotOp::getOperationName(), lowerSharedDot);
}

} // namespace tilewright::codegen
