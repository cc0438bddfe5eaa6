//===- SharedTile.cpp - Accesses of a tile in shared memory ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/SharedTile.h"

#include "codegen/lower/MemoryInternal.h"
#include "codegen/lower/SharedExchange.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

SharedAddresses::SharedAddresses(FunctionLowering &lowering, Value base, const Columns &lanes,
                                 const Columns &warps, const Columns &blocks, int storedBits,
                                 DynamicOffset all)
    : lowering(lowering), base(base), log2Bytes(llvm::Log2_32(storedBits / 8)) {
  Columns laneBytes, warpBytes, blockBytes;
  for (uint32_t offset : lanes)
    laneBytes.push_back(offset << log2Bytes);
  for (uint32_t offset : warps)
    warpBytes.push_back(offset << log2Bytes);
  for (uint32_t offset : blocks)
    blockBytes.push_back(offset << log2Bytes);
  for (const Columns *columns : {&laneBytes, &warpBytes, &blockBytes})
    for (uint32_t bytes : *columns)
      threadBits |= bytes;
  threadBytes = lowering.applyThreadColumns(laneBytes, warpBytes, blockBytes);
  if (!all.value)
    return;
  OpBuilder &builder = lowering.builder;
  Value bytes =
      builder.create<LLVM::ShlOp>(lowering.loc, all.value, lowering.constantI32(log2Bytes));
  threadBytes = builder.create<LLVM::XOrOp>(lowering.loc, threadBytes, bytes);
  threadBits |= all.bits << log2Bytes;
}

Value SharedAddresses::partialPointer(uint32_t offset, int64_t &immediate) {
  uint32_t bytes = offset << log2Bytes;
  immediate = bytes & ~threadBits;
  uint32_t exchanged = bytes & threadBits;
  Value &pointer = pointers[exchanged];
  if (pointer)
    return pointer;
  OpBuilder &builder = lowering.builder;
  Value index = threadBytes;
  if (exchanged)
    index = builder.create<LLVM::XOrOp>(lowering.loc, index, lowering.constantI32(exchanged));
  pointer = builder.create<LLVM::GEPOp>(lowering.loc, base.getType(), builder.getI8Type(), base,
                                        ArrayRef<LLVM::GEPArg>{index}, /*inbounds=*/true);
  return pointer;
}

Value SharedAddresses::pointer(uint32_t offset) {
  int64_t immediate;
  Value pointer = partialPointer(offset, immediate);
  if (!immediate)
    return pointer;
  OpBuilder &builder = lowering.builder;
  return builder.create<LLVM::GEPOp>(lowering.loc, pointer.getType(), builder.getI8Type(), pointer,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(immediate)},
                                     /*inbounds=*/true);
}

std::pair<Value, int64_t> SharedAddresses::address(uint32_t offset) {
  int64_t immediate;
  Value pointer = partialPointer(offset, immediate);
  Value &address = addresses[(offset << log2Bytes) & threadBits];
  if (!address)
    address = lowering.builder.create<LLVM::PtrToIntOp>(lowering.loc, lowering.builder.getI32Type(),
                                                        pointer);
  return {address, immediate};
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

SharedTile::SharedTile(FunctionLowering &lowering, const SharedSide &side, Value base,
                       int storedBits, DynamicOffset all)
    : lowering(lowering), side(side), storedBits(storedBits),
      addresses(lowering, base, side.laneOffsets, side.warpOffsets, side.blockOffsets, storedBits,
                all) {}

/// "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16" of either instruction.
static std::string matrixInstruction(const char *name, const SharedSide &side) {
  return std::string(name) + ".sync.aligned.m8n8.x" + std::to_string(side.numMatrices) +
         (side.transposed ? ".trans" : "") + ".shared.b16 ";
}

bool isMatrixLoad(Operation *op) {
  auto assembly = llvm::dyn_cast<LLVM::InlineAsmOp>(op);
  return assembly && assembly.getAsmString().starts_with("ldmatrix");
}

/// "{$1, $2}".
static std::string operandList(int first, int count) {
  std::string result = "{";
  for (int index = 0; index < count; ++index)
    result += (index ? ", $" : "$") + std::to_string(first + index);
  return result + "}";
}

void SharedTile::storeMatrices(const SharedAccess &access, llvm::ArrayRef<Value> words) {
  auto [address, immediate] = addresses.address(access.offset);
  llvm::SmallVector<Value> operands{address};
  std::string constraints = "r";
  for (Value word : words) {
    operands.push_back(word);
    constraints += ",r";
  }
  lowering.inlineAsm(Type(), operands,
                     matrixInstruction("stmatrix", side) + "[$0+" + std::to_string(immediate) +
                         "], " + operandList(1, side.numMatrices) + ";",
                     constraints + ",~{memory}", /*hasSideEffects=*/true);
}

llvm::SmallVector<Value> SharedTile::loadMatrices(const SharedAccess &access) {
  OpBuilder &builder = lowering.builder;
  auto [address, immediate] = addresses.address(access.offset);
  std::string constraints;
  for (int matrix = 0; matrix < side.numMatrices; ++matrix)
    constraints += "=r,";
  llvm::SmallVector<Type> types(side.numMatrices, builder.getI32Type());
  bool isSingle = side.numMatrices == 1;
  Type result = isSingle ? types.front()
                         : Type(LLVM::LLVMStructType::getLiteral(builder.getContext(), types));
  Value all = lowering.inlineAsm(
      result, {address},
      matrixInstruction("ldmatrix", side) + operandList(0, side.numMatrices) + ", [$" +
          std::to_string(side.numMatrices) + "+" + std::to_string(immediate) + "];",
      constraints + "r,~{memory}", /*hasSideEffects=*/false);
  if (isSingle)
    return {all};
  llvm::SmallVector<Value> words;
  for (int matrix = 0; matrix < side.numMatrices; ++matrix)
    words.push_back(builder.create<LLVM::ExtractValueOp>(lowering.loc, all, matrix));
  return words;
}

void SharedTile::prepare(const std::vector<SharedAccess> &accesses) {
  for (const SharedAccess &access : accesses)
    side.numMatrices ? (void)addresses.address(access.offset)
                     : (void)addresses.pointer(access.offset);
}

void SharedTile::forEachList(int piece, llvm::MutableArrayRef<Value> results,
                             llvm::function_ref<void(const std::vector<SharedAccess> &)> body) {
  if (!side.piecesDifferByThread()) {
    prepare(side.accesses[piece]);
    body(side.accesses[piece]);
    return;
  }
  OpBuilder &builder = lowering.builder;
  Value ownPiece = lowering.applyThreadColumns(side.lanePieces, side.warpPieces);
  for (size_t list = 0; list < side.accesses.size(); ++list) {
    prepare(side.accesses[list]);
    Value isMine =
        builder.create<LLVM::ICmpOp>(lowering.loc, LLVM::ICmpPredicate::eq, ownPiece,
                                     lowering.constantI32(static_cast<int64_t>(list) ^ piece));
    Block *before = builder.getInsertionBlock();
    Block *after = before->splitBlock(builder.getInsertionPoint());
    Block *mine = builder.createBlock(after);
    llvm::SmallVector<Value> kept(results.begin(), results.end());
    for (Value result : results)
      after->addArgument(result.getType(), lowering.loc);
    builder.setInsertionPointToEnd(before);
    builder.create<LLVM::CondBrOp>(lowering.loc, isMine, mine, ValueRange(), after, kept);
    builder.setInsertionPointToStart(mine);
    body(side.accesses[list]);
    builder.create<LLVM::BrOp>(lowering.loc, results, after);
    builder.setInsertionPointToStart(after);
    llvm::copy(after->getArguments(), results.begin());
  }
}

void SharedTile::note(int piece, const char *vectors, const char *matrices) {
  if (piece != 0)
    return;
  std::string how = side.numMatrices
                        ? matrices
                        : std::string(vectors) + " in vectors of " +
                              std::to_string(side.vectorElements) + " (" +
                              std::to_string(side.vectorElements * storedBits) + " bits)";
  lowering.noteSharedTile(how, side.leastWavefronts(storedBits), side.extraWavefronts);
}

size_t SharedTile::numTogether(const std::vector<SharedAccess> &accesses) const {
  return side.laneTurns.empty() ? 1 : accesses.size();
}

void SharedTile::takeTurns(Words &words) {
  OpBuilder &builder = lowering.builder;
  for (auto [bit, turn] : llvm::enumerate(side.laneTurns)) {
    if (!turn)
      continue;
    Value own = builder.create<LLVM::AndOp>(lowering.loc, lowering.laneId(),
                                            lowering.constantI32(int64_t(1) << bit));
    Value isOther = builder.create<LLVM::ICmpOp>(lowering.loc, LLVM::ICmpPredicate::ne, own,
                                                 lowering.constantI32(0));
    Words before = words;
    for (size_t access = 0; access < words.size(); ++access)
      for (auto [word, other, same] :
           llvm::zip(words[access], before[access ^ turn], before[access]))
        word = builder.create<LLVM::SelectOp>(lowering.loc, isOther, other, same);
  }
}

void SharedTile::store(const Registers &values, int piece) {
  note(piece, "written", "written by stmatrix");
  WordFormat format(storedBits, side.vectorElements);
  auto storeAll = [&](ArrayRef<SharedAccess> accesses) {
    Words words;
    for (const SharedAccess &access : accesses) {
      llvm::SmallVector<Value> elements;
      for (int reg : access.registers)
        elements.push_back(values[reg]);
      words.push_back(packWords(lowering, format, elements));
    }
    takeTurns(words);
    for (auto [access, own] : llvm::zip(accesses, words))
      if (side.numMatrices)
        storeMatrices(access, own);
      else
        emitPlainStore(lowering, addresses.pointer(access.offset), format, own);
  };
  // Lanes that hold copies write equal words to equal addresses in the same
  // wavefront, which costs nothing; warps would take wavefronts of their own.
  HardwareIndex duplicates;
  duplicates[InDim::Warp] = side.duplicateMasks[InDim::Warp];
  forEachList(piece, {}, [&](const std::vector<SharedAccess> &accesses) {
    SharedExchange(lowering, 0).onlyOwners(duplicates, [&] {
      for (size_t first = 0; first < accesses.size(); first += numTogether(accesses))
        storeAll(ArrayRef(accesses).slice(first, numTogether(accesses)));
    });
  });
}

void SharedTile::load(Registers &registers, Type registerType, int piece) {
  note(piece, "read", "read by ldmatrix");
  // Registers of other pieces have no value yet where branches join.
  if (side.piecesDifferByThread())
    for (Value &value : registers)
      if (!value)
        value = lowering.builder.create<LLVM::UndefOp>(lowering.loc, registerType);
  WordFormat format(storedBits, side.vectorElements);
  auto loadAll = [&](ArrayRef<SharedAccess> accesses) {
    Words words;
    for (const SharedAccess &access : accesses)
      words.push_back(side.numMatrices
                          ? loadMatrices(access)
                          : emitPlainLoad(lowering, addresses.pointer(access.offset), format));
    takeTurns(words);
    for (auto [access, own] : llvm::zip(accesses, words)) {
      llvm::SmallVector<Value> elements = unpackWords(lowering, format, own, registerType);
      for (auto [reg, element] : llvm::zip(access.registers, elements))
        registers[reg] = element;
    }
  };
  forEachList(piece, registers, [&](const std::vector<SharedAccess> &accesses) {
    for (size_t first = 0; first < accesses.size(); first += numTogether(accesses))
      loadAll(ArrayRef(accesses).slice(first, numTogether(accesses)));
  });
}

std::optional<SharedSide> planTileAccess(ir::BufferType buffer, RankedTensorType tile,
                                         bool allowMatrices) {
  SharedSideOptions options;
  options.allowMatrices = allowMatrices;
  options.allowTurns = true;
  return planSharedSide(buffer.toLinear(), ir::getLinearLayout(tile),
                        ir::elementBits(tile.getElementType()), options);
}

} // namespace tilewright::codegen
