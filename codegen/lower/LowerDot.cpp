//===- LowerDot.cpp - Products by mma.sync and by fma ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.dot with unit mma or fma, whose operands are in the registers that
// makeDotOperand or makeFmaOperand give them.
//
// How: lanes and warps mean the same coordinates in all three tiles, so it is
// enough to think of lane 0 of warp 0. Its accumulator registers are grouped
// into instructions; the operand registers of each are found by coordinates.
// Where a tile is smaller than an instruction:
//  - rows or columns that the tile lacks are copies of those that it has: their
//    results are copies too and are dropped,
//  - elements of K that it lacks are zero in both operands.
//
// f32 operands are cut into parts of fewer bits, part 0 the leading ones; with
// p parts the products i x j with i + j < p are summed, all but 0 x 0 apart (the
// interpreter does the same). One part is the register as it is: the hardware
// ignores the bits below tf32. All products of one step of K stand together, so
// that no more parts than those of a step are in registers.
//
//   tf32x3, bf16x3   2 parts, 3 products       bf16x6   3 parts, 6 products
//
// An operand that is read in pieces (tw.shared_load) has been read by the time the product
// is lowered; each ldmatrix, and what unpacks it, moves before the first mma that
// needs it. Not across barriers and writes, those to scratch included: the memory may be
// another's then.
//
// fp8 products by mma with an f16 accumulator are made in f32 and rounded once.
// The arithmetic of fma is in LowerFma.cpp.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/ElementwiseInternal.h"
#include "codegen/lower/FmaProductInternal.h"
#include "codegen/lower/MatrixInternal.h"
#include "codegen/lower/SharedTile.h"
#include "ir/dialect/MatrixInstruction.h"
#include "ir/layout/LayoutConstructors.h"
#include "ir/support/SplitPrecision.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

#include <optional>

using namespace mlir;

namespace tilewright::codegen {

namespace {

/// How a precision takes f32 operands apart. The hardware cuts those of tf32.
OperandSplit splitOf(ir::DotPrecision precision) {
  switch (precision) {
  case ir::DotPrecision::tf32x3:
    return tf32x3Split;
  case ir::DotPrecision::bf16x3:
    return bf16x3Split;
  case ir::DotPrecision::bf16x6:
    return bf16x6Split;
  case ir::DotPrecision::tf32:
  case ir::DotPrecision::ieee:
    break;
  }
  return {};
}

/// Whether an operand is to be read in pieces, and is the same until the product. Another
/// user, such as a product whose equal load was made one with this, may need it before.
bool isReadInPieces(ir::DotOp dot, Value operand) {
  auto load = operand.getDefiningOp<ir::SharedLoadOp>();
  if (!load || !load.getInPieces() || !load->hasOneUse() || load->getBlock() != dot->getBlock())
    return false;
  for (Operation *op = load->getNextNode(); op != dot; op = op->getNextNode()) {
    bool onlyReads = isMemoryEffectFree(op) || hasSingleEffect<MemoryEffects::Read>(op);
    if (!onlyReads || op->hasAttr(ir::scratchOffsetAttr))
      return false;
  }
  return true;
}

class DotLowering {
public:
  DotLowering(ir::DotOp op, FunctionLowering &lowering)
      : op(op), lowering(lowering), builder(lowering.builder), loc(lowering.loc),
        acc(FunctionLowering::layoutOf(op.getAcc()), lowering.get(op.getAcc())),
        a(FunctionLowering::layoutOf(op.getA()), lowering.get(op.getA())),
        b(FunctionLowering::layoutOf(op.getB()), lowering.get(op.getB())), k(a.numColumns()),
        isInPiecesA(isReadInPieces(op, op.getA())), isInPiecesB(isReadInPieces(op, op.getB())) {}

  LogicalResult run();

private:
  LogicalResult checkLayouts(bool isMma);
  void convertAccumulator(Type from, Type to);
  void multiplyByFma();

  //===--- mma ------------------------------------------------------------===//
  using Words = llvm::SmallVector<Value, 4>;
  /// The words of one instruction's operand: rows (A) or columns (B) from `mn`,
  /// the k step `step`, of one part. Made once.
  const Words &fragment(bool isA, int part, uint32_t batch, uint32_t mn, int step);
  Value wordOf(bool isA, int part, uint32_t batch, uint32_t mn, uint32_t firstK);
  Value zeroBeyondK(Value word);
  /// Moves what reads `value` from shared memory to here; whether anything does.
  bool readHere(Value value);
  /// sums += part `partA` of A x part `partB` of B over some steps of K.
  void multiply(int partA, int partB, int firstStep, int numSteps, Registers &sums);
  void emitInstruction(const Element &corner, const Words &wordsA, const Words &wordsB,
                       Registers &sums);
  LogicalResult runMma();
  void multiplyInParts();
  void multiplyPromoted(int stepsAtATime);
  /// The part of an operand's register.
  Value partOf(Value value, int part);
  Registers zeros() { return Registers(acc.registers.size(), lowering.zero(sumType())); }
  Type sumType() { return acc.registers.front().getType(); }
  bool isDouble() const { return instruction.a == "f64"; }
  int numSteps() const { return std::max(1, static_cast<int>(k) / instruction.k); }

  ir::DotOp op;
  FunctionLowering &lowering;
  OpBuilder &builder;
  Location loc;
  TileRegisters acc, a, b;
  uint32_t k;
  bool isInPiecesA, isInPiecesB;

  ir::MatrixInstruction instruction;
  OperandSplit split;
  /// Elements of a 32-bit word, and how far apart in K they are.
  int perWord = 1, elementStride = 1;
  std::map<std::tuple<bool, int, uint32_t, uint32_t, int>, Words> fragments;
  /// What was asked by readHere.
  llvm::DenseMap<Operation *, bool> readers;
  /// The first row and column of each instruction.
  std::vector<Element> corners;
  /// Whether this lane's part of K exists (i1); null where every lane's does.
  Value laneHasK;
};

//===----------------------------------------------------------------------===//
// Both units
//===----------------------------------------------------------------------===//

LogicalResult DotLowering::checkLayouts(bool isMma) {
  if (!op.getWarps())
    return op.emitOpError("has no warps");
  std::vector<int> warps(op.getWarps()->begin(), op.getWarps()->end());
  LinearLayout accLayout = FunctionLowering::layoutOf(op.getAcc());
  int rank = accLayout.rank();
  if (isMma && accLayout != makeMmaAccumulator(accLayout.log2Shape(), warps))
    return op.emitOpError("accumulator has another layout than mma's");
  for (auto [operand, value] :
       {std::pair(DotOperand::A, op.getA()), std::pair(DotOperand::B, op.getB())}) {
    LinearLayout layout = FunctionLowering::layoutOf(value);
    int dimK = operand == DotOperand::A ? rank - 1 : rank - 2;
    LinearLayout expected =
        isMma ? makeDotOperand(operand, layout.log2Shape(), warps,
                               static_cast<int>(ir::elementBits(getElementTypeOrSelf(value))))
              : makeFmaOperand(accLayout, operand, layout.log2Shape()[dimK]);
    if (layout != expected)
      return op.emitOpError("operand has another layout than its unit's: ") << value.getType();
  }
  return success();
}

void DotLowering::convertAccumulator(Type from, Type to) {
  if (from == to)
    return;
  for (Value &value : acc.registers)
    value = convertFloat(lowering, value, from, to);
}

void DotLowering::multiplyByFma() {
  FmaProduct product(lowering, getElementTypeOrSelf(op.getAcc()));
  acc.registers = product.convertedTo(product.sumType(), op.getAcc().getType(), acc.registers);
  a.registers = product.convertedTo(product.sumType(), op.getA().getType(), a.registers);
  b.registers = product.convertedTo(product.sumType(), op.getB().getType(), b.registers);
  product.multiply(acc, a, b, k);
  convertAccumulator(product.sumType(), getElementTypeOrSelf(op.getAcc()));
}

//===----------------------------------------------------------------------===//
// mma: operands
//===----------------------------------------------------------------------===//

Value DotLowering::partOf(Value value, int part) {
  Value rest = value;
  for (int index = 0;; ++index) {
    // The last part is cut by the hardware, or where it is packed.
    if (index == split.parts - 1)
      return rest;
    Value bits =
        builder.create<LLVM::AndOp>(loc, lowering.toBits(rest), lowering.constantI32(split.mask));
    Value leading = lowering.fromBits(bits, rest.getType());
    if (index == part)
      return leading;
    // Exact, or NaN where the value is infinite.
    rest = builder.create<LLVM::FSubOp>(loc, rest, leading);
  }
}

/// K shorter than what the lanes of a word row hold: some lanes hold copies.
Value DotLowering::zeroBeyondK(Value word) {
  uint32_t lanesOfK = std::max<uint32_t>(1, k / (split.isBf16() ? 1 : perWord));
  if (lanesOfK >= 4)
    return word;
  if (!laneHasK) {
    Value lane = builder.create<LLVM::AndOp>(loc, lowering.laneId(), lowering.constantI32(3));
    laneHasK = builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::ult, lane,
                                            lowering.constantI32(lanesOfK));
  }
  return builder.create<LLVM::SelectOp>(loc, laneHasK, word, lowering.zero(word.getType()));
}

bool DotLowering::readHere(Value value) {
  Operation *reader = value.getDefiningOp();
  if (!reader || reader->getBlock() != builder.getInsertionBlock())
    return false;
  if (auto known = readers.find(reader); known != readers.end())
    return known->second;
  bool reads = isMatrixLoad(reader);
  if (!reads)
    for (Value operand : reader->getOperands())
      reads |= readHere(operand);
  if (reads)
    reader->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  readers[reader] = reads;
  return reads;
}

Value DotLowering::wordOf(bool isA, int part, uint32_t batch, uint32_t mn, uint32_t firstK) {
  const TileRegisters &tile = isA ? a : b;
  if (firstK >= k)
    return isDouble() ? lowering.zero(builder.getF64Type()) : lowering.constantI32(0);
  Registers elements;
  for (int index = 0; index < perWord; ++index) {
    uint32_t position = firstK + index * elementStride;
    Element element = isA ? Element{batch, mn, position} : Element{batch, position, mn};
    Value whole = tile.registers[tile.indexOf(element)];
    if (isA ? isInPiecesA : isInPiecesB)
      readHere(whole);
    Value value = partOf(whole, part);
    elements.push_back(position < k ? value : lowering.zero(value.getType()));
  }
  if (isDouble())
    return zeroBeyondK(elements.front());
  if (!split.isBf16())
    return zeroBeyondK(lowering.toBits(packForMatrix(lowering, elements).front()));
  // The upper halves of two f32.
  Value low =
      builder.create<LLVM::LShrOp>(loc, lowering.toBits(elements[0]), lowering.constantI32(16));
  Value high = builder.create<LLVM::AndOp>(loc, lowering.toBits(elements[1]),
                                           lowering.constantI32(0xffff0000));
  return zeroBeyondK(builder.create<LLVM::OrOp>(loc, low, high));
}

const DotLowering::Words &DotLowering::fragment(bool isA, int part, uint32_t batch, uint32_t mn,
                                                int step) {
  Words &words = fragments[{isA, part, batch, mn, step}];
  if (!words.empty())
    return words;
  uint32_t firstK = step * instruction.k;
  int rows = isA && !isDouble() ? 2 : 1, chunks = isDouble() ? 1 : 2;
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int row = 0; row < rows; ++row)
      words.push_back(wordOf(isA, part, batch, mn + 8 * row, firstK + chunk * instruction.k / 2));
  return words;
}

//===----------------------------------------------------------------------===//
// mma: instructions
//===----------------------------------------------------------------------===//

void DotLowering::emitInstruction(const Element &corner, const Words &wordsA, const Words &wordsB,
                                  Registers &sums) {
  // Accumulator registers: two columns of the upper, then of the lower rows.
  llvm::SmallVector<int, 4> places;
  for (uint32_t row = 0; row < (isDouble() ? 8u : 16u); row += 8)
    for (uint32_t column : {0, 1})
      places.push_back(acc.indexOf({corner.batch, corner.row + row, corner.column + column}));
  Registers before;
  for (int place : places)
    before.push_back(sums[place]);
  Type element = before.front().getType();
  before = packForMatrix(lowering, before);

  size_t next = before.size();
  std::string constraints;
  llvm::SmallVector<Value> operands;
  auto group = [&](llvm::ArrayRef<Value> values) {
    std::string list = AsmBuilder::operandList(next, values.size());
    next += values.size();
    for (Value value : values) {
      constraints += std::string(",") + constraintOf(value.getType());
      operands.push_back(value);
    }
    return list;
  };
  llvm::SmallVector<Type> types;
  std::string outputs;
  for (Value word : before) {
    types.push_back(word.getType());
    outputs += std::string(outputs.empty() ? "=" : ",=") + constraintOf(word.getType());
  }
  std::string text =
      llvm::formatv("mma.sync.aligned.m{0}n8k{1}.row.col.{2}.{3}.{4}.{2} {5}, ",
                    isDouble() ? 8 : 16, instruction.k, instruction.accumulator, instruction.a,
                    instruction.b, AsmBuilder::operandList(0, before.size()));
  text += group(wordsA) + ", ";
  text += group(wordsB) + ", ";
  text += group(before) + ";";
  Registers after =
      unpackFromMatrix(lowering,
                       lowering.inlineAsmResults(types, operands, text, outputs + constraints,
                                                 /*hasSideEffects=*/false),
                       element);
  for (auto [place, value] : llvm::zip(places, after))
    sums[place] = value;
}

void DotLowering::multiply(int partA, int partB, int firstStep, int steps, Registers &sums) {
  for (int step = firstStep; step < firstStep + steps; ++step)
    for (const Element &corner : corners)
      emitInstruction(corner, fragment(/*isA=*/true, partA, corner.batch, corner.row, step),
                      fragment(/*isA=*/false, partB, corner.batch, corner.column, step), sums);
}

void DotLowering::multiplyInParts() {
  bool hasParts = split.parts > 1;
  Registers small = hasParts ? zeros() : Registers();
  for (int step = 0; step < numSteps(); ++step) {
    forEachSmallProduct(split,
                        [&](int partA, int partB) { multiply(partA, partB, step, 1, small); });
    multiply(0, 0, step, 1, acc.registers);
  }
  if (!hasParts)
    return;
  // A NaN is infinity times a part that is zero: the main product decides.
  for (auto [sum, value] : llvm::zip(acc.registers, small)) {
    Value isNumber = builder.create<LLVM::FCmpOp>(loc, LLVM::FCmpPredicate::oeq, value, value);
    Value number = builder.create<LLVM::SelectOp>(loc, isNumber, value, lowering.zero(sumType()));
    sum = builder.create<LLVM::FAddOp>(loc, sum, number);
  }
}

/// Tensor cores add fp8 products with few bits: after some steps the sums go to
/// accumulators of the ordinary adder.
void DotLowering::multiplyPromoted(int stepsAtATime) {
  for (int step = 0; step < numSteps(); step += stepsAtATime) {
    Registers products = zeros();
    multiply(0, 0, step, std::min(stepsAtATime, numSteps() - step), products);
    for (auto [sum, product] : llvm::zip(acc.registers, products))
      sum = builder.create<LLVM::FAddOp>(loc, sum, product);
  }
}

LogicalResult DotLowering::runMma() {
  Type elementA = getElementTypeOrSelf(op.getA()), elementB = getElementTypeOrSelf(op.getB());
  Type elementAcc = getElementTypeOrSelf(op.getAcc());
  auto found = ir::mmaInstruction(elementA, elementB, elementAcc, lowering.target);
  if (!found)
    return op.emitOpError("has no instruction for ")
           << elementA << " x " << elementB << " to " << elementAcc << " on "
           << lowering.target.name;
  instruction = *found;
  bool isF32Sum = instruction.accumulator == "f32";
  Type sum = isF32Sum ? builder.getF32Type() : elementAcc;
  convertAccumulator(elementAcc, sum);

  if (elementA.isF32())
    split = splitOf(op.getPrecision());
  perWord = elementsPerWord(lowering.registerType(elementA));
  if (split.isBf16()) {
    // Two tf32 chunks of four make one word row of bf16: K is only reordered, in
    // both operands alike.
    instruction.a = instruction.b = "bf16";
    instruction.k = 16;
    perWord = 2;
    elementStride = 4;
  }

  for (size_t reg = 0; reg < acc.registers.size(); ++reg) {
    Element element = acc.elementOf(static_cast<int>(reg));
    if (element.column % 2 == 0 && (isDouble() || element.row % 16 == 0))
      corners.push_back(element);
  }
  int stepsAtATime = op.getMaxImprecise() / instruction.k;
  if (instruction.takesFp8() && stepsAtATime > 0 && stepsAtATime < numSteps())
    multiplyPromoted(stepsAtATime);
  else
    multiplyInParts();
  convertAccumulator(sum, elementAcc);
  return success();
}

LogicalResult DotLowering::run() {
  bool isMma = op.getUnit() == ir::MatrixUnit::mma;
  if (!isMma && op.getUnit() != ir::MatrixUnit::fma)
    return op.emitOpError("has no unit that works on registers");
  if (failed(checkLayouts(isMma)))
    return failure();
  if (!isMma)
    multiplyByFma();
  else if (failed(runMma()))
    return failure();
  lowering.set(op.getResult(), acc.registers);
  return success();
}

LogicalResult lowerDot(Operation *op, FunctionLowering &lowering) {
  return DotLowering(cast<ir::DotOp>(op), lowering).run();
}

} // namespace

void addDotLowerings(LoweringTable &table) { table.add(ir::DotOp::getOperationName(), lowerDot); }

} // namespace tilewright::codegen
