//===- FunctionLowering.cpp - The state of lowering one kernel ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the value table, thread indices, shared memory and shuffles that all families
// share. FunctionBuilders.cpp has the constants and small builders.
//
// How: the LLVM function starts with a block of its own for constants and thread
// indices. This block dominates the rest, so each constant or index is made once.
// That keeps the number of ops, and so the compile time, proportional to the real
// work.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/Lowering.h"

#include "ir/dialect/SourcePlace.h"

#include "ir/layout/LayoutMemory.h"
#include "ir/support/Hardware.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::codegen {

FunctionLowering::FunctionLowering(LLVM::LLVMFuncOp function, const LoweringTable &table,
                                   const TargetInfo &target, RemarkCollector *remarks)
    : builder(function.getContext()), function(function), target(target), remarks(remarks),
      loc(function.getLoc()), entryBuilder(function.getContext()), table(table) {
  Block *entry = function.addEntryBlock(builder);
  bodyBlock = builder.createBlock(&function.getBody());
  entryBuilder.setInsertionPointToEnd(entry);
  builder.setInsertionPointToStart(bodyBlock);
}

void FunctionLowering::finish() {
  entryBuilder.create<LLVM::BrOp>(function.getLoc(), ValueRange(), bodyBlock);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const Registers &FunctionLowering::get(Value value) const {
  auto found = values.find(value);
  assert(found != values.end() && "value used before it was lowered");
  return *found->second;
}

void FunctionLowering::set(Value value, Registers registers) {
  // A combine region or a loop body is lowered several times: the last wins.
  std::unique_ptr<Registers> &slot = values[value];
  if (slot)
    *slot = std::move(registers);
  else
    slot = std::make_unique<Registers>(std::move(registers));
}

Type FunctionLowering::registerType(Type elementType) const {
  MLIRContext *context = elementType.getContext();
  if (auto pointer = llvm::dyn_cast<ir::PointerType>(elementType))
    return LLVM::LLVMPointerType::get(context, pointer.getAddressSpace());
  if (llvm::isa<IndexType>(elementType))
    return IntegerType::get(context, 64);
  // A tile in shared memory is the address of its first byte.
  if (llvm::isa<ir::BufferType, ir::MbarrierType>(elementType))
    return LLVM::LLVMPointerType::get(context, 3);
  // A descriptor is the generic address of its tensor map.
  if (llvm::isa<ir::DescriptorType>(elementType))
    return LLVM::LLVMPointerType::get(context);
  // LLVM has no 8-bit floats: their bits are integers.
  if (llvm::isa<FloatType>(elementType) && elementType.getIntOrFloatBitWidth() == 8)
    return IntegerType::get(context, 8);
  return elementType;
}

int FunctionLowering::numRegisters(Type type) {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  return tile ? 1 << ir::getLayout(tile).getRegisters().size() : 1;
}

LinearLayout FunctionLowering::layoutOf(Value tile) {
  return ir::getLinearLayout(llvm::cast<RankedTensorType>(tile.getType()));
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult FunctionLowering::lowerBlockBody(Block &block) {
  for (Operation &op : block.without_terminator()) {
    loc = op.getLoc();
    OpLowering lower = table.find(op.getName());
    if (!lower)
      return op.emitOpError("has no lowering to machine code");
    // A missing layout would surface as a crash far from its cause.
    for (Type type : op.getResultTypes())
      if (auto tile = llvm::dyn_cast<RankedTensorType>(type); tile && !ir::getLayout(tile))
        return op.emitOpError("result has no layout: ") << type;
    if (failed(lower(&op, *this)))
      return failure();
  }
  return success();
}

FailureOr<Registers> FunctionLowering::inlineCombine(Region &combine,
                                                     llvm::ArrayRef<Value> operands) {
  Block &block = combine.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), operands))
    set(argument, {value});
  Location outer = loc;
  if (failed(lowerBlockBody(block)))
    return failure();
  loc = outer;
  Registers results;
  for (Value yielded : block.getTerminator()->getOperands())
    results.push_back(getScalar(yielded));
  return results;
}

//===----------------------------------------------------------------------===//
// Thread indices
//===----------------------------------------------------------------------===//

Value FunctionLowering::threadId() {
  if (!threadIdValue)
    threadIdValue =
        entryBuilder.create<NVVM::ThreadIdXOp>(function.getLoc(), entryBuilder.getI32Type());
  return threadIdValue;
}

Value FunctionLowering::laneId() {
  if (!laneIdValue) {
    Value thread = threadId(), mask = constantI32((1 << target.log2WarpSize) - 1);
    laneIdValue = entryBuilder.create<LLVM::AndOp>(function.getLoc(), thread, mask);
  }
  return laneIdValue;
}

Value FunctionLowering::warpId() {
  if (!warpIdValue) {
    Value thread = threadId(), shift = constantI32(target.log2WarpSize);
    warpIdValue = entryBuilder.create<LLVM::LShrOp>(function.getLoc(), thread, shift);
  }
  return warpIdValue;
}

Value FunctionLowering::hiddenZero() {
  if (!hiddenZeroValue) {
    OpBuilder::InsertionGuard guard(builder);
    builder.restoreInsertionPoint(entryBuilder.saveInsertionPoint());
    // Grids end at 65535 in this dimension.
    hiddenZeroValue = inlineAsm(builder.getI32Type(), {},
                                "{ .reg .b32 n; mov.u32 n, %nctaid.z; shr.u32 $0, n, 24; }", "=r",
                                /*hasSideEffects=*/false);
  }
  return hiddenZeroValue;
}

Value FunctionLowering::uniformWarpId() {
  if (!uniformWarpIdValue) {
    Value warp = warpId(), first = constantI32(0);
    OpBuilder::InsertionGuard guard(builder);
    builder.restoreInsertionPoint(entryBuilder.saveInsertionPoint());
    uniformWarpIdValue = shuffleIndex(warp, first);
  }
  return uniformWarpIdValue;
}

Value FunctionLowering::blockRank() {
  if (!blockRankValue)
    blockRankValue =
        entryBuilder.create<NVVM::ClusterId>(function.getLoc(), entryBuilder.getI32Type());
  return blockRankValue;
}

Value FunctionLowering::applyThreadColumns(const Columns &lanes, const Columns &warps,
                                           const Columns &blocks) {
  if (llvm::any_of(blocks, [](uint32_t column) { return column != 0; })) {
    Value threads = applyThreadColumns(lanes, warps), rank = blockRank();
    // It comes after the columns of threads, which are no longer than this.
    Columns key(32, 0);
    llvm::copy(lanes, key.begin());
    key.insert(key.end(), warps.begin(), warps.end());
    key.resize(64, 0);
    key.insert(key.end(), blocks.begin(), blocks.end());
    Value &result = threadElements[key];
    if (!result) {
      OpBuilder::InsertionGuard guard(builder);
      builder.restoreInsertionPoint(entryBuilder.saveInsertionPoint());
      result = builder.create<LLVM::XOrOp>(function.getLoc(), threads, applyColumns(blocks, rank));
    }
    return result;
  }
  // As columns of the thread index.
  Columns columns = lanes;
  columns.resize(target.log2WarpSize, 0);
  columns.insert(columns.end(), warps.begin(), warps.end());
  Value &result = threadElements[columns];
  if (!result) {
    Value thread = threadId();
    OpBuilder::InsertionGuard guard(builder);
    builder.restoreInsertionPoint(entryBuilder.saveInsertionPoint());
    result = applyColumns(columns, thread);
  }
  return result;
}

Value FunctionLowering::elementIndex(const LinearLayout &layout, int registerIndex) {
  const Columns &lanes = layout.columns(InDim::Lane), &warps = layout.columns(InDim::Warp),
                &blocks = layout.columns(InDim::Block);
  uint32_t constantPart = layout.apply(InDim::Register, registerIndex);
  uint32_t threadBits = 0;
  for (const Columns *columns : {&lanes, &warps, &blocks})
    for (uint32_t column : *columns)
      threadBits |= column;
  if (threadBits == 0)
    return constantI32(constantPart);

  Value threadPart = applyThreadColumns(lanes, warps, blocks);
  if (constantPart == 0)
    return threadPart;
  Value constantValue = constantI32(constantPart);
  // Disjoint bits: an addition that cannot wrap folds into address offsets,
  // which an exclusive or does not.
  if ((constantPart & threadBits) == 0)
    return builder.create<LLVM::AddOp>(loc, threadPart, constantValue,
                                       LLVM::IntegerOverflowFlags::nsw |
                                           LLVM::IntegerOverflowFlags::nuw);
  return builder.create<LLVM::XOrOp>(loc, threadPart, constantValue);
}

Value FunctionLowering::applyColumns(llvm::ArrayRef<uint32_t> columns, Value index) {
  // Index bit i reaches element bit b by a shift of b - i. All pairs of one
  // shift are one mask and one shift: a row-major layout is a single group.
  std::map<int, uint32_t> maskOfShift;
  for (size_t from = 0; from < columns.size(); ++from)
    for (int to = 0; to < 32; ++to)
      if (columns[from] >> to & 1)
        maskOfShift[to - static_cast<int>(from)] |= 1u << from;
  Value result;
  uint32_t resultBits = 0;
  for (auto [shift, mask] : maskOfShift) {
    Value part = builder.create<LLVM::AndOp>(loc, index, constantI32(mask));
    if (shift > 0)
      part = builder.create<LLVM::ShlOp>(loc, part, constantI32(shift));
    else if (shift < 0)
      part = builder.create<LLVM::LShrOp>(loc, part, constantI32(-shift));
    uint32_t partBits = shift >= 0 ? mask << shift : mask >> -shift;
    if (!result)
      result = part;
    else if (resultBits & partBits)
      result = builder.create<LLVM::XOrOp>(loc, result, part);
    else
      result = builder.create<LLVM::OrOp>(loc, result, part);
    resultBits |= partBits;
  }
  return result ? result : constantI32(0);
}

uint32_t FunctionLowering::duplicateThreads(Type type) const {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  // A scalar is held by every thread.
  if (!tile)
    return (static_cast<uint32_t>(numWarps) << target.log2WarpSize) - 1;
  HardwareIndex duplicates = duplicateThreadMasks(ir::getLinearLayout(tile));
  return duplicates[InDim::Lane] | duplicates[InDim::Warp] << target.log2WarpSize;
}

Value FunctionLowering::isFirstOf(uint32_t threadMask, uint32_t blockMask) {
  if (threadMask == 0 && blockMask == 0)
    return {};
  Value &owner = owners[{threadMask, blockMask}];
  if (owner)
    return owner;
  Location start = function.getLoc();
  Value bits;
  auto include = [&](Value index, uint32_t mask) {
    Value maskValue = constantI32(mask);
    Value part = entryBuilder.create<LLVM::AndOp>(start, index, maskValue);
    bits = bits ? entryBuilder.create<LLVM::OrOp>(start, bits, part).getResult() : part;
  };
  if (threadMask)
    include(threadId(), threadMask);
  if (blockMask)
    include(blockRank(), blockMask);
  Value none = constantI32(0);
  return owner = entryBuilder.create<LLVM::ICmpOp>(start, LLVM::ICmpPredicate::eq, bits, none);
}

Value FunctionLowering::ownsElements(Type type) {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  uint32_t blocks = tile ? ir::duplicateBlockMask(ir::getLinearLayout(tile), numBlocks)
                         : static_cast<uint32_t>(numBlocks - 1);
  return isFirstOf(duplicateThreads(type), blocks);
}

Value FunctionLowering::ownsElementsInBlock(Type type) {
  return isFirstOf(duplicateThreads(type), 0);
}

//===----------------------------------------------------------------------===//
// Shared memory and synchronisation
//===----------------------------------------------------------------------===//

/// Shared memory is dynamic: a launch may then ask for more than 48 KB, and its
/// size is no part of the code. The name is used nowhere else.
static constexpr llvm::StringLiteral sharedSymbol = "__tw_shared";

Value FunctionLowering::sharedAddress(int64_t offset) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  auto byte = builder.getIntegerType(8);
  if (!sharedBase) {
    auto module = function->getParentOfType<ModuleOp>();
    if (!module.lookupSymbol(sharedSymbol)) {
      OpBuilder moduleBuilder(module.getBodyRegion());
      moduleBuilder.create<LLVM::GlobalOp>(function.getLoc(), LLVM::LLVMArrayType::get(byte, 0),
                                           /*isConstant=*/false, LLVM::Linkage::External,
                                           sharedSymbol, Attribute(), hardware::swizzlePatternBytes,
                                           /*addrSpace=*/3);
    }
    sharedBase = entryBuilder.create<LLVM::AddressOfOp>(function.getLoc(), pointer, sharedSymbol);
  }
  if (offset == 0)
    return sharedBase;
  return builder.create<LLVM::GEPOp>(loc, pointer, byte, sharedBase,
                                     llvm::ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)},
                                     /*inbounds=*/true);
}

int64_t FunctionLowering::scratchOffset(Operation *op) const {
  auto offset = op->getAttrOfType<IntegerAttr>(ir::scratchOffsetAttr);
  return offset ? offset.getInt() : 0;
}

void FunctionLowering::noteSharedTile(const std::string &how, int least, int extra) {
  ++sharedTraffic.tiles;
  if (extra <= 0)
    return;
  ++sharedTraffic.conflicting;
  if (remarks)
    remarks->add({"bank-conflicts",
                  false,
                  ir::renderLocation(loc),
                  {{"wavefronts", least + extra}, {"extraWavefronts", extra}},
                  how});
}

void FunctionLowering::barrierOfBlock() { builder.create<NVVM::Barrier0Op>(loc); }

void FunctionLowering::barrier() {
  // The threads of one warp need no barrier of the block, which they would wait for.
  if (numWarps == 1)
    builder.create<NVVM::SyncWarpOp>(loc, constantI32(-1));
  else
    barrierOfBlock();
}

void FunctionLowering::barrierOfBlocks() {
  // Releases what this thread wrote and acquires what others did, by default. All
  // threads of a warp are here, as at any barrier.
  UnitAttr aligned = builder.getUnitAttr();
  builder.create<NVVM::ClusterArriveOp>(loc, aligned);
  builder.create<NVVM::ClusterWaitOp>(loc, aligned);
}

Value FunctionLowering::addressInBlock(Value address, Value rank) {
  Type i32 = builder.getI32Type();
  Value own = builder.create<LLVM::PtrToIntOp>(loc, i32, address);
  return inlineAsm(i32, {own, rank}, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r",
                   /*hasSideEffects=*/false);
}

/// One shfl.sync of 32 bits. The segment covers the whole warp (clamp 31).
static Value shuffleWord(FunctionLowering &lowering, Value word, Value lane, NVVM::ShflKind kind) {
  Value all = lowering.constantI32(-1), clamp = lowering.constantI32(31);
  return lowering.builder.create<NVVM::ShflOp>(lowering.loc, word.getType(), all, word, lane, clamp,
                                               kind, UnitAttr());
}

/// Splits or widens a register to 32-bit words, shuffles each.
static Value shuffle(FunctionLowering &lowering, Value value, Value lane, NVVM::ShflKind kind) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type wordType = builder.getI32Type();
  unsigned width = FunctionLowering::bitWidth(value.getType());
  Value bits = lowering.toBits(value);
  if (width < 32) {
    Value word = builder.create<LLVM::ZExtOp>(loc, wordType, bits);
    word = shuffleWord(lowering, word, lane, kind);
    return lowering.fromBits(builder.create<LLVM::TruncOp>(loc, bits.getType(), word),
                             value.getType());
  }
  if (width == 32)
    return lowering.fromBits(shuffleWord(lowering, bits, lane, kind), value.getType());
  Value shift = lowering.constantI64(32);
  Value low = builder.create<LLVM::TruncOp>(loc, wordType, bits);
  Value high =
      builder.create<LLVM::TruncOp>(loc, wordType, builder.create<LLVM::LShrOp>(loc, bits, shift));
  low = builder.create<LLVM::ZExtOp>(loc, bits.getType(), shuffleWord(lowering, low, lane, kind));
  high = builder.create<LLVM::ZExtOp>(loc, bits.getType(), shuffleWord(lowering, high, lane, kind));
  Value both = builder.create<LLVM::OrOp>(loc, builder.create<LLVM::ShlOp>(loc, high, shift), low);
  return lowering.fromBits(both, value.getType());
}

Value FunctionLowering::shuffleIndex(Value value, Value sourceLane) {
  return shuffle(*this, value, sourceLane, NVVM::ShflKind::idx);
}

Value FunctionLowering::shuffleXor(Value value, int laneMask) {
  return shuffle(*this, value, constantI32(laneMask), NVVM::ShflKind::bfly);
}

} // namespace tilewright::codegen
