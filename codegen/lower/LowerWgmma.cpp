//===- LowerWgmma.cpp - Products by warpgroups ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.wgmma and tw.wgmma_wait.
//
// How: each tw.wgmma is one piece of inline assembly: a fence, the instructions
// of every k step, row block and column part of this warpgroup, and a commit.
// Between instructions of one piece LLVM can put nothing, neither a copy of an
// accumulator, which would make the assembler wait after every instruction, nor
// a write to shared memory. The waits name the registers that they make
// readable, so that no read moves above them.
//
// A matrix descriptor is 64 bits, of which only the start address changes
// (ir/layout/WgmmaOperand.h): the low half comes in a register that is equal in
// all lanes, steps add constants to it, and the high half is a constant.
//
// Not handled: products of three dimensions, for which SelectMatrixUnit takes another unit.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/MatrixInternal.h"
#include "ir/dialect/MatrixInstruction.h"
#include "ir/layout/F2.h"
#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/WgmmaOperand.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/FormatVariadic.h"

#include <optional>

using namespace mlir;

namespace tilewright::codegen {

namespace {

/// Whether `value` is needed when `op` starts, or later, by another op.
bool isUsedFrom(Operation *op, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *place = op->getBlock()->findAncestorOpInBlock(*user);
    return place && place != op && op->isBeforeInBlock(place);
  });
}

/// Rows of one instruction.
constexpr int log2InstructionM = 6;
constexpr int maxLog2InstructionN = 8;
/// Words of a register operand A that one instruction takes.
constexpr int wordsOfA = 4;
/// Warps of a warpgroup: the lowest warp bits.
constexpr int log2WarpsOfGroup = 2;

/// An operand in shared memory: the layout's plan and the low half of the
/// descriptor of this warpgroup's first instruction.
struct SharedOperand {
  WgmmaOperand plan;
  Value low;
};

class WgmmaLowering {
public:
  WgmmaLowering(ir::WgmmaOp op, FunctionLowering &lowering)
      : op(op), lowering(lowering), accLayout(FunctionLowering::layoutOf(op.getAcc())) {}

  LogicalResult run();

private:
  //===--- decisions ------------------------------------------------------===//
  LogicalResult chooseInstruction();
  LogicalResult checkLayouts();
  /// log2 of the most columns of one instruction, whose results then take at most half of a
  /// thread's registers. Assemblers refuse an instruction whose results do not fit, and keep
  /// other values elsewhere while it runs.
  int mostColumns();
  LogicalResult planShared(SharedOperand &operand, Value buffer, bool isA);
  int stepsOfK() const { return k / instruction.k; }

  //===--- addresses ------------------------------------------------------===//
  Value descriptorLow(const SharedOperand &operand, Value buffer, bool isA);
  /// The row or column where the instructions of an accumulator register begin.
  uint32_t startOf(size_t firstRegister, int dim) const;

  //===--- assembly -------------------------------------------------------===//
  struct Batch {
    int firstStep, numSteps;
    bool startsAtZero, isWaited;
    /// Where given, whether the first step adds to the accumulator (i1).
    Value addsFirst = {};
    /// The accumulator is needed afterwards as it was: LLVM would copy it when another
    /// product is in flight, so that the assembler makes all products wait for each other.
    bool copiesSums = false;
  };
  /// Accumulator words in, words out; `words` is not read where the batch
  /// starts at zero.
  Registers emitBatch(const Batch &batch, const Registers &words);
  void emitStep(AsmBuilder &code, const Batch &batch, int step, size_t numWords);
  std::string descriptor(AsmBuilder &code, const char *name, const SharedOperand &operand,
                         llvm::StringRef low, uint32_t mn, int step);
  Registers addInFull(const Registers &sums, const Registers &products);
  /// Whether another op needs the accumulator that was computed by a product.
  bool isKeptByAnother();

  ir::WgmmaOp op;
  FunctionLowering &lowering;
  LinearLayout accLayout;
  ir::MatrixInstruction instruction;
  int k = 0;
  SharedOperand a, b;
  /// The registers of `a` where it is a tile and not a buffer.
  Registers aWords;
  int log2InstructionN = 0;
  Type wordType;
  /// Operands' texts in the batch being emitted.
  std::string aLowText, bLowText;
  llvm::SmallVector<std::string> aTexts;
};

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

LogicalResult WgmmaLowering::chooseInstruction() {
  Type elementA = llvm::isa<ir::BufferType>(op.getA().getType())
                      ? llvm::cast<ir::BufferType>(op.getA().getType()).getElementType()
                      : getElementTypeOrSelf(op.getA());
  Type elementB = op.getB().getType().getElementType();
  Type elementAcc = getElementTypeOrSelf(op.getAcc());
  auto found = ir::wgmmaInstruction(elementA, elementB, elementAcc, lowering.target);
  if (!found)
    return op.emitOpError("has no instruction for ")
           << elementA << " x " << elementB << " to " << elementAcc << " on "
           << lowering.target.name;
  instruction = *found;
  k = static_cast<int>(op.getB().getType().getShape()[0]);
  if (k < instruction.k)
    return op.emitOpError("needs ") << instruction.k << " elements of K, got " << k;
  return success();
}

LogicalResult WgmmaLowering::checkLayouts() {
  if (accLayout.rank() != 2)
    return op.emitOpError("takes two dimensions, got ") << accLayout.rank();
  ArrayRef<int32_t> warps = op.getWarps();
  const std::vector<int> &shape = accLayout.log2Shape();
  if (warps[0] < log2WarpsOfGroup || shape[0] < log2InstructionM || shape[1] < 3)
    return op.emitOpError("needs four warps along M, 64 rows and 8 columns");
  if (accLayout != makeWgmmaAccumulator(shape, warps[0], warps[1]))
    return op.emitOpError("accumulator has another layout than wgmma's");
  if (auto tile = llvm::dyn_cast<RankedTensorType>(op.getA().getType())) {
    LinearLayout layout = ir::getLinearLayout(tile);
    if (layout != makeDotOperand(DotOperand::A, layout.log2Shape(), {warps[0], warps[1]},
                                 static_cast<int>(ir::elementBits(tile.getElementType()))))
      return op.emitOpError("first operand has another layout than wgmma's");
  }
  return success();
}

int WgmmaLowering::mostColumns() {
  int64_t threads = int64_t(lowering.numWarps) << lowering.target.log2WarpSize;
  int64_t registers = lowering.target.multiprocessor.registers / threads;
  int perWord = elementsPerWord(lowering.registerType(getElementTypeOrSelf(op.getAcc())));
  // N columns are N / 2 elements of a thread.
  return std::min<int>(maxLog2InstructionN, llvm::Log2_64(registers * perWord));
}

LogicalResult WgmmaLowering::planShared(SharedOperand &operand, Value buffer, bool isA) {
  auto type = llvm::cast<ir::BufferType>(buffer.getType());
  int wanted = log2InstructionM;
  if (!isA) {
    // Columns that one warpgroup has: those of its registers and lanes.
    uint32_t columns = 0;
    for (InDim dim : {InDim::Register, InDim::Lane})
      for (uint32_t column : accLayout.columns(dim))
        columns |= column & accLayout.dimMask(1);
    wanted = std::min(mostColumns(), f2::floorLog2(uint64_t(columns) + 1));
  }
  auto plan = planWgmmaOperand(type.toLinear(), /*dimK=*/isA ? 1 : 0,
                               static_cast<int>(ir::elementBits(type.getElementType())), wanted);
  if (!plan || (isA && plan->log2InstructionMn != log2InstructionM))
    return op.emitOpError("cannot read an operand in this layout: ") << type;
  operand.plan = std::move(*plan);
  if (!isA)
    log2InstructionN = operand.plan.log2InstructionMn;
  operand.low = descriptorLow(operand, buffer, isA);
  return success();
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// The address of the part that this warpgroup reads, in units of 16 bytes, and
/// the constant fields:
///   low = (buffer + offset of the warpgroup's rows or columns) / 16 + fields
Value WgmmaLowering::descriptorLow(const SharedOperand &operand, Value buffer, bool isA) {
  OpBuilder &builder = lowering.builder;
  Value address = builder.create<LLVM::PtrToIntOp>(lowering.loc, builder.getI32Type(),
                                                   lowering.getScalar(buffer));
  Columns offsets;
  bool moves = false;
  const Columns &warps = accLayout.columns(InDim::Warp);
  for (size_t bit = 0; bit < warps.size(); ++bit) {
    // Warps of one warpgroup share the descriptor: the hardware gives each its
    // 16 rows.
    bool isInGroup = bit < log2WarpsOfGroup;
    uint32_t mn =
        (warps[bit] & accLayout.dimMask(isA ? 0 : 1)) >> accLayout.dimStartBit(isA ? 0 : 1);
    offsets.push_back(isInGroup ? 0 : static_cast<uint32_t>(operand.plan.startOf(mn, 0)));
    moves |= offsets.back() != 0;
  }
  if (moves)
    address = builder.create<LLVM::AddOp>(lowering.loc, address,
                                          lowering.applyColumns(offsets, lowering.uniformWarpId()));
  Value units = builder.create<LLVM::LShrOp>(lowering.loc, address, lowering.constantI32(4));
  if (uint32_t fields = operand.plan.descriptorLow())
    units = builder.create<LLVM::OrOp>(lowering.loc, units, lowering.constantI32(fields));
  return units;
}

uint32_t WgmmaLowering::startOf(size_t firstRegister, int dim) const {
  uint32_t element = accLayout.apply(InDim::Register, static_cast<uint32_t>(firstRegister));
  return (element & accLayout.dimMask(dim)) >> accLayout.dimStartBit(dim);
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

std::string WgmmaLowering::descriptor(AsmBuilder &code, const char *name,
                                      const SharedOperand &operand, llvm::StringRef low,
                                      uint32_t mn, int step) {
  int64_t offset = operand.plan.startOf(mn, static_cast<uint32_t>(step * instruction.k)) / 16;
  code.line("add.u32 word, " + low + ", " + std::to_string(offset) + ";");
  code.line(llvm::Twine("mov.b64 ") + name + ", {word, " +
            std::to_string(operand.plan.descriptorHigh()) + "};");
  return name;
}

/// The instructions of one k step, all row blocks and column parts. Registers of
/// one instruction are neighbours: N / 2 of them, in words.
void WgmmaLowering::emitStep(AsmBuilder &code, const Batch &batch, int step, size_t numWords) {
  bool is16Bit = instruction.k == 16, isInteger = instruction.accumulator == "s32";
  int perWord = elementsPerWord(lowering.registerType(getElementTypeOrSelf(op.getAcc())));
  size_t wordsPerInstruction = (size_t(1) << (log2InstructionN - 1)) / perWord;
  bool aIsTile = !aWords.empty();
  std::string mnemonic =
      llvm::formatv("wgmma.mma_async.sync.aligned.m64n{0}k{1}.{2}.{3}.{4}", 1 << log2InstructionN,
                    instruction.k, instruction.accumulator, instruction.a, instruction.b);
  bool isFirst = step == batch.firstStep;
  std::string flags = isFirst && batch.startsAtZero ? ", zero"
                      : isFirst && batch.addsFirst  ? ", first"
                                                    : ", add";
  if (!isInteger)
    flags += ", 1, 1";
  if (is16Bit && !aIsTile)
    flags += a.plan.isMnMajor ? ", 1" : ", 0";
  if (is16Bit)
    flags += b.plan.isMnMajor ? ", 1" : ", 0";

  // Words of A: those of a k step, k steps, then row blocks.
  int rowBlock = -1;
  uint32_t lastRow = ~0u;
  for (size_t word = 0; word < numWords; word += wordsPerInstruction) {
    uint32_t row = startOf(word * perWord, 0), column = startOf(word * perWord, 1);
    if (row != lastRow)
      ++rowBlock;
    lastRow = row;
    std::string textA;
    if (aIsTile) {
      size_t first = (size_t(rowBlock) * stepsOfK() + step) * wordsOfA;
      textA = "{" + llvm::join(ArrayRef(aTexts).slice(first, wordsOfA), ", ") + "}";
    } else {
      textA = descriptor(code, "descA", a, aLowText, row, step);
    }
    std::string textB = descriptor(code, "descB", b, bLowText, column, step);
    code.line(mnemonic + " " + AsmBuilder::operandList(word, wordsPerInstruction) + ", " + textA +
              ", " + textB + flags + ";");
  }
}

Registers WgmmaLowering::emitBatch(const Batch &batch, const Registers &words) {
  AsmBuilder code(lowering);
  bool hasOwnRegisters = batch.startsAtZero || batch.copiesSums;
  if (hasOwnRegisters)
    code.addResults(llvm::SmallVector<Type>(words.size(), wordType));
  else
    code.addTiedResults(words);
  aTexts.clear();
  for (Value word : aWords)
    // tf32 operands too are untyped words.
    aTexts.push_back(code.addInput(lowering.toBits(word)));
  if (aWords.empty())
    aLowText = code.addInput(a.low);
  bLowText = code.addInput(b.low);
  std::string addsFirst;
  if (batch.addsFirst)
    addsFirst = code.addInput(lowering.builder.create<LLVM::ZExtOp>(
        lowering.loc, lowering.builder.getI32Type(), batch.addsFirst));

  code.line("{");
  code.line(".reg .pred zero, add, first; .reg .b32 word; .reg .b64 descA, descB;");
  code.line("setp.ne.b32 zero, 0, 0; setp.eq.b32 add, 0, 0;");
  if (batch.addsFirst)
    code.line("setp.ne.b32 first, " + addsFirst + ", 0;");
  if (batch.copiesSums)
    for (auto [index, word] : llvm::enumerate(words))
      code.line("mov.b32 $" + llvm::Twine(index) + ", " + code.addInput(word) + ";");
  // Registers that other instructions wrote are visible after this.
  code.line("wgmma.fence.sync.aligned;");
  for (int step = batch.firstStep; step < batch.firstStep + batch.numSteps; ++step)
    emitStep(code, batch, step, words.size());
  code.line("wgmma.commit_group.sync.aligned;");
  if (batch.isWaited)
    code.line("wgmma.wait_group.sync.aligned 0;");
  code.line("}");
  return code.finish();
}

Registers WgmmaLowering::addInFull(const Registers &sums, const Registers &products) {
  Type element = lowering.registerType(getElementTypeOrSelf(op.getAcc()));
  Registers left = unpackFromMatrix(lowering, sums, element);
  Registers right = unpackFromMatrix(lowering, products, element);
  for (auto [sum, product] : llvm::zip(left, right))
    sum = lowering.builder.create<LLVM::FAddOp>(lowering.loc, sum, product);
  return packForMatrix(lowering, left);
}

bool WgmmaLowering::isKeptByAnother() {
  Operation *source = op.getAcc().getDefiningOp();
  return (!source || isa<ir::WgmmaOp, ir::WgmmaWaitOp>(source)) && isUsedFrom(op, op.getAcc());
}

LogicalResult WgmmaLowering::run() {
  if (failed(chooseInstruction()) || failed(checkLayouts()))
    return failure();
  bool aIsBuffer = llvm::isa<ir::BufferType>(op.getA().getType());
  if ((aIsBuffer && failed(planShared(a, op.getA(), /*isA=*/true))) ||
      failed(planShared(b, op.getB(), /*isA=*/false)))
    return failure();
  if (!aIsBuffer)
    aWords = packForMatrix(lowering, lowering.get(op.getA()));

  const Registers &accumulator = lowering.get(op.getAcc());
  Registers words = packForMatrix(lowering, accumulator);
  wordType = words.front().getType();
  int promoted = op.getMaxImprecise() / instruction.k;
  bool accIsZero = ir::isZeroBits(op.getAcc());
  if (!instruction.takesFp8() || promoted <= 0 || promoted >= stepsOfK()) {
    Value useAcc = op.getUseAcc() ? lowering.getScalar(op.getUseAcc()) : Value();
    bool isAsync = op.getIsAsync(), copiesSums = !accIsZero && isAsync && isKeptByAnother();
    words = emitBatch({0, stepsOfK(), accIsZero, !isAsync, useAcc, copiesSums}, words);
  } else {
    // Tensor cores add fp8 products with few bits: after every part of K the sum
    // goes to an accumulator of the ordinary adder. It must be waited for.
    if (op.getUseAcc())
      for (Value &word : words)
        word = lowering.builder.create<LLVM::SelectOp>(
            lowering.loc, lowering.getScalar(op.getUseAcc()), word, lowering.zero(wordType));
    for (int step = 0; step < stepsOfK(); step += promoted) {
      int count = std::min(promoted, stepsOfK() - step);
      Registers products = emitBatch({step, count, /*startsAtZero=*/true, true}, words);
      words = step == 0 && accIsZero ? products : addInFull(words, products);
    }
  }
  lowering.set(op.getResult(), unpackFromMatrix(lowering, words, accumulator.front().getType()));
  return success();
}

//===----------------------------------------------------------------------===//
// The ops
//===----------------------------------------------------------------------===//

LogicalResult lowerWgmma(Operation *op, FunctionLowering &lowering) {
  return WgmmaLowering(cast<ir::WgmmaOp>(op), lowering).run();
}

/// Holds the code that follows back until `word` is there. The assembler moves a
/// wait up to the products, before arithmetic that should run beside them, but
/// not across a branch. The one taken here sleeps for no time where `word` is a NaN
/// that nothing computes, so that it does no harm if it is taken after all.
void holdBack(AsmBuilder &code, llvm::StringRef word) {
  code.line("{ .reg .pred never; .reg .b32 bits;");
  code.line("mov.b32 bits, " + word + ";");
  code.line("setp.eq.b32 never, bits, 0xffc0dead;");
  code.line("@never nanosleep.u32 0; }");
}

/// The first of the products that gather in the registers of this one's result.
ir::WgmmaOp firstOf(ir::WgmmaOp product) {
  Value tile = product.getAcc();
  while (auto wait = tile.getDefiningOp<ir::WgmmaWaitOp>())
    tile = wait.getTiles()[cast<OpResult>(tile).getResultNumber()];
  auto earlier = tile.getDefiningOp<ir::WgmmaOp>();
  return earlier && earlier->getBlock() == product->getBlock() ? firstOf(earlier) : product;
}

/// Whether a loop goes on with `result`, of `product`, in other registers than the product
/// has gathered in: as a variable that is still needed when the product starts, or where
/// the product began with another variable, as when two accumulators change places.
bool changesPlace(Value result, ir::WgmmaOp product) {
  ir::WgmmaOp first = firstOf(product);
  auto isNeeded = [&](BlockArgument variable) {
    auto gathers = dyn_cast<BlockArgument>(first.getAcc());
    bool isAnother = gathers && gathers.getOwner() == variable.getOwner();
    return variable != gathers && (isAnother || isUsedFrom(first, variable));
  };
  return llvm::any_of(result.getUses(), [&](OpOperand &use) {
    auto loop = dyn_cast<LoopLikeOpInterface>(use.getOwner()->getParentOp());
    return loop && use.getOwner()->getBlock() == first->getBlock() &&
           llvm::any_of(loop.getRegionIterArgs(), [&](BlockArgument variable) {
             return loop.getTiedLoopYieldedValue(variable) == &use && isNeeded(variable);
           });
  });
}

/// All registers of the tiles pass through the wait. What changes its place is copied in
/// the same text: LLVM would copy it before the wait, and then the assembler makes all
/// products wait for each other.
LogicalResult lowerWait(Operation *op, FunctionLowering &lowering) {
  auto wait = cast<ir::WgmmaWaitOp>(op);
  AsmBuilder code(lowering);
  llvm::SmallVector<size_t> counts;
  llvm::SmallVector<std::pair<size_t, Value>> copies; // number of the result, source
  size_t numWords = 0;
  for (auto [tile, result] : llvm::zip(wait.getTiles(), wait.getResults())) {
    const Registers &registers = lowering.get(tile);
    if (registers.size() % elementsPerWord(registers.front().getType()) != 0)
      return op->emitOpError("waits for a tile whose registers fill no word: ") << tile.getType();
    Registers words = packForMatrix(lowering, registers);
    auto product = tile.getDefiningOp<ir::WgmmaOp>();
    if (product && changesPlace(result, product)) {
      for (auto [index, word] : llvm::enumerate(words)) {
        code.addResults(word.getType());
        copies.emplace_back(numWords + index, word);
      }
    } else {
      code.addTiedResults(words);
    }
    counts.push_back(words.size());
    numWords += words.size();
  }
  if (wait.getSettled() != 0)
    holdBack(code, ("$" + llvm::Twine(numWords - 1)).str());
  code.line("wgmma.wait_group.sync.aligned " + llvm::Twine(wait.getPending()) + ";");
  for (auto [number, source] : copies)
    code.line("mov.b32 $" + llvm::Twine(number) + ", " + code.addInput(source) + ";");
  Registers words = code.finish();
  size_t first = 0;
  for (auto [tile, result, count] : llvm::zip(wait.getTiles(), wait.getResults(), counts)) {
    Type type = lowering.get(tile).front().getType();
    lowering.set(result,
                 unpackFromMatrix(lowering, ArrayRef<Value>(words).slice(first, count), type));
    first += count;
  }
  return success();
}

} // namespace

void addWgmmaLowerings(LoweringTable &table) {
  table.add(ir::WgmmaOp::getOperationName(), lowerWgmma);
  table.add(ir::WgmmaWaitOp::getOperationName(), lowerWait);
}

} // namespace tilewright::codegen
