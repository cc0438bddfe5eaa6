//===- LowerTma.cpp - TMA copies and shared-memory barriers ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.tma_load, tw.tma_store and the tw.mbarrier ops as inline PTX.
//
// How: an op for "one thread of the first warp" is predicated by thread index 0,
// which holds under tw.is_first_warp and elsewhere. A predicate costs less than a
// branch and leaves loops in one piece. A block is copied in boxes (TmaBox.h), one
// instruction each, all counted by one barrier.
//
// A descriptor is the generic address of its tensor map (LowerTensorMap.cpp); a
// buffer and a ring of barriers are the shared address of their first byte.
//
// Programs of several blocks: each block loads what it needs into its own memory, the
// first one stores. Shared addresses are those of the own block, which are valid where
// an instruction asks for shared::cluster.
//
// Not handled: multicast.
//
// Reference: PTX ISA, "Asynchronous copy" and "mbarrier".
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/MemoryInternal.h"
#include "codegen/lower/PtxText.h"

#include "ir/support/Hardware.h"
#include "ir/support/TmaBox.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <utility>

using namespace mlir;

namespace tilewright::codegen {

/// The predicate of each block's thread 0 as a guard before an instruction.
static std::string onlyThread0(PtxText &text, FunctionLowering &lowering) {
  return "@" + text.operand(lowering.ownsElementsInBlock(lowering.builder.getI32Type()), 'b') + " ";
}

/// That of the program's first thread; with `unless`, which may be null, it is false
/// where that is true.
static std::string onlyFirstThread(PtxText &text, FunctionLowering &lowering, Value unless) {
  OpBuilder &builder = lowering.builder;
  Value guard = lowering.ownsElements(builder.getI32Type());
  if (unless) {
    Value isTrue = builder.create<LLVM::ConstantOp>(lowering.loc, builder.getI1Type(),
                                                    builder.getBoolAttr(true));
    Value allowed = builder.create<LLVM::XOrOp>(lowering.loc, unless, isTrue);
    guard = builder.create<LLVM::AndOp>(lowering.loc, guard, allowed);
  }
  return "@" + text.operand(guard, 'b') + " ";
}

static Value byteOffset(FunctionLowering &lowering, Value base, Value offset) {
  OpBuilder &builder = lowering.builder;
  return builder.create<LLVM::GEPOp>(lowering.loc, base.getType(), builder.getI8Type(), base,
                                     llvm::ArrayRef<LLVM::GEPArg>{offset}, /*inbounds=*/true);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

static Value mbarrierAddress(FunctionLowering &lowering, Value barrier, Value index) {
  auto ring = llvm::cast<ir::MbarrierType>(barrier.getType());
  Value base = lowering.getScalar(barrier);
  if (ring.getSlots() == 1)
    return base;
  Value offset = lowering.builder.create<LLVM::MulOp>(
      lowering.loc, lowering.getScalar(index), lowering.constantI32(hardware::mbarrierBytes));
  return byteOffset(lowering, base, offset);
}

static LogicalResult lowerMbarrierAlloc(Operation *op, FunctionLowering &lowering) {
  auto alloc = llvm::cast<ir::MbarrierAllocOp>(op);
  if (!op->hasAttr(ir::scratchOffsetAttr))
    return op->emitOpError("has no place in shared memory");
  int64_t offset = lowering.scratchOffset(op);
  for (int64_t slot = 0; slot < alloc.getType().getSlots(); ++slot) {
    PtxText text(lowering);
    std::string guard = onlyThread0(text, lowering);
    std::string address =
        text.operand(lowering.sharedAddress(offset + slot * hardware::mbarrierBytes), 'r');
    text.emit(guard + "mbarrier.init.shared::cta.b64 [" + address + "], " +
              std::to_string(alloc.getArrivals()) + ";");
  }
  // The copies that arrive go through another proxy than the stores above; what blocks
  // send each other does not.
  bool isForExchanges = op->hasAttr(ir::exchangeAttr);
  PtxText text(lowering);
  text.emit(std::string("fence.mbarrier_init.release.cluster;") +
            (isForExchanges ? "" : "\n\tfence.proxy.async.shared::cta;"));
  lowering.set(op->getResult(0), {lowering.sharedAddress(offset)});
  if (isForExchanges)
    lowering.exchangeBarriers = offset;
  return success();
}

static LogicalResult lowerMbarrierExpect(Operation *op, FunctionLowering &lowering) {
  auto expect = llvm::cast<ir::MbarrierExpectOp>(op);
  PtxText text(lowering);
  std::string guard = onlyThread0(text, lowering);
  std::string address =
      text.operand(mbarrierAddress(lowering, expect.getBarrier(), expect.getIndex()), 'r');
  text.emit(guard + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + address + "], " +
            std::to_string(expect.getBytes()) + ";");
  return success();
}

static LogicalResult lowerMbarrierArrive(Operation *op, FunctionLowering &lowering) {
  auto arrive = llvm::cast<ir::MbarrierArriveOp>(op);
  OpBuilder &builder = lowering.builder;
  // The first lane speaks for all: they must be done with what they read.
  builder.create<NVVM::SyncWarpOp>(lowering.loc, lowering.constantI32(-1));
  Value isFirstLane = builder.create<LLVM::ICmpOp>(lowering.loc, LLVM::ICmpPredicate::eq,
                                                   lowering.laneId(), lowering.constantI32(0));
  PtxText text(lowering);
  std::string guard = "@" + text.operand(isFirstLane, 'b') + " ";
  std::string address =
      text.operand(mbarrierAddress(lowering, arrive.getBarrier(), arrive.getIndex()), 'r');
  text.emit(guard + "mbarrier.arrive.shared::cta.b64 _, [" + address + "];");
  return success();
}

static LogicalResult lowerMbarrierWait(Operation *op, FunctionLowering &lowering) {
  auto wait = llvm::cast<ir::MbarrierWaitOp>(op);
  PtxText text(lowering);
  std::string address =
      text.operand(mbarrierAddress(lowering, wait.getBarrier(), wait.getIndex()), 'r');
  std::string phase = text.operand(lowering.getScalar(wait.getPhase()), 'r');
  // try_wait suspends the thread for a while by itself; the braces make the
  // names local, since the text may stand several times in one kernel.
  text.emit("{\n\t.reg .pred done;\n"
            "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [" +
            address + "], " + phase + ";\n\t@!done bra again;\n\t}");
  return success();
}

static LogicalResult lowerMbarrierPhase(Operation *op, FunctionLowering &lowering) {
  auto phase = llvm::cast<ir::MbarrierPhaseOp>(op);
  // Asking for parity 0 is answered by "complete" as soon as parity 1 is under way.
  Value address = mbarrierAddress(lowering, phase.getBarrier(), phase.getIndex());
  Value parity = lowering.inlineAsm(
      lowering.builder.getI32Type(), {address},
      "{\n\t.reg .pred done;\n\tmbarrier.test_wait.parity.shared::cta.b64 done, [$1], 0;\n"
      "\tselp.b32 $0, 1, 0, done;\n\t}",
      "=r,r,~{memory}", /*hasSideEffects=*/true);
  lowering.set(op->getResult(0), {parity});
  return success();
}

static LogicalResult lowerIsFirstWarp(Operation *op, FunctionLowering &lowering) {
  // Through a shuffle the assembler knows that the warp agrees, and branches
  // without asking every lane.
  Value warp = lowering.shuffleIndex(lowering.warpId(), lowering.constantI32(0));
  lowering.set(op->getResult(0),
               {lowering.builder.create<LLVM::ICmpOp>(lowering.loc, LLVM::ICmpPredicate::eq, warp,
                                                      lowering.constantI32(0))});
  return success();
}

static LogicalResult lowerFenceAsync(Operation *op, FunctionLowering &lowering) {
  bool isGlobal = llvm::cast<ir::FenceAsyncOp>(op).getGlobal();
  PtxText(lowering).emit(isGlobal ? "fence.proxy.async;" : "fence.proxy.async.shared::cta;");
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {

/// The outermost coordinate of a box that lies outside of every array. The nearest of
/// them: multiplied with a stride it has to stay an address.
constexpr int64_t coordinateOutside = -maxBoxExtent;

/// One box of a block: where it begins, in elements of the block and in bytes of
/// the buffer.
struct BoxPosition {
  llvm::SmallVector<int64_t, 5> start;
  int64_t byteOffset = 0;
};

} // namespace

/// All boxes of a block, in the order of shared memory.
static std::vector<BoxPosition> boxPositions(ir::DescriptorType descriptor, const TmaBox &box) {
  llvm::ArrayRef<int64_t> block = descriptor.getShape();
  int rank = static_cast<int>(block.size());
  std::vector<BoxPosition> positions;
  // Panels are the slowest in memory, then the first dimension, and so on.
  BoxPosition next;
  next.start.assign(rank, 0);
  while (true) {
    positions.push_back(next);
    next.byteOffset += box.bytes;
    int dim = rank - 2;
    for (; dim >= -1; --dim) {
      int moved = dim >= 0 ? dim : rank - 1;
      next.start[moved] += box.extents[moved];
      if (next.start[moved] < block[moved])
        break;
      next.start[moved] = 0;
    }
    if (dim < -1)
      return positions;
  }
}

/// "$map, {$a, $b}": a tensor map and a box's coordinates, innermost first, as PTX has
/// them. In an array without elements every box that is loaded lies outside.
static std::string boxText(PtxText &text, FunctionLowering &lowering, const TensorMapUse &map,
                           OperandRange coordinates, const BoxPosition &position) {
  std::string list = text.operand(map.address, 'l') + ", {";
  for (size_t dim = coordinates.size(); dim-- > 0;) {
    Value coordinate = lowering.getScalar(coordinates[dim]);
    if (int64_t start = position.start[dim])
      coordinate = lowering.builder.create<LLVM::AddOp>(lowering.loc, coordinate,
                                                        lowering.constantI32(start));
    if (dim == 0 && map.isEmpty)
      coordinate = lowering.builder.create<LLVM::SelectOp>(
          lowering.loc, map.isEmpty, lowering.constantI32(coordinateOutside), coordinate);
    list += text.operand(coordinate, 'r') + (dim ? ", " : "}");
  }
  return list;
}

static Value bufferAddress(FunctionLowering &lowering, Value buffer, int64_t offset) {
  Value base = lowering.getScalar(buffer);
  return offset ? byteOffset(lowering, base, lowering.constantI32(offset)) : base;
}

/// The box of a descriptor, after checking that the buffer has the layout that
/// boxes fill.
static FailureOr<TmaBox> boxOf(Operation *op, ir::DescriptorType descriptor,
                               ir::BufferType buffer) {
  int bits = static_cast<int>(ir::elementBits(descriptor.getElementType()));
  TmaBox box = tmaBox(descriptor.getShape().vec(), bits / 8);
  auto tile = RankedTensorType::get(buffer.getShape(), buffer.getElementType());
  bool isBlock = ir::isBlockOf(buffer.getShape(), descriptor) &&
                 buffer.getElementType() == descriptor.getElementType();
  if (ir::BufferType expected = isBlock ? ir::tmaBuffer(tile) : ir::tmaBuffer(descriptor);
      buffer != expected)
    return op->emitOpError("needs a ") << expected << ", got " << buffer;
  return box;
}

/// Policies as createpolicy.fractional would make them; constants cost no
/// instruction. The numbers are opaque to PTX and the same on every Hopper.
static Value cachePolicy(FunctionLowering &lowering, ir::Eviction eviction) {
  return lowering.constantI64(eviction == ir::Eviction::evict_first
                                  ? static_cast<int64_t>(0x12F0000000000000)
                                  : static_cast<int64_t>(0x14F0000000000000));
}

static LogicalResult lowerTmaLoad(Operation *op, FunctionLowering &lowering) {
  auto load = llvm::cast<ir::TmaLoadOp>(op);
  ir::DescriptorType descriptor = load.getDescriptor().getType();
  FailureOr<TmaBox> box = boxOf(op, descriptor, load.getBuffer().getType());
  if (failed(box))
    return failure();
  std::string rank = std::to_string(descriptor.getShape().size());
  Value barrier = mbarrierAddress(lowering, load.getBarrier(), load.getIndex());
  TensorMapUse map = useTensorMap(lowering, load.getDescriptor());
  for (const BoxPosition &position : boxPositions(descriptor, *box)) {
    PtxText text(lowering);
    std::string guard = onlyThread0(text, lowering);
    bool hasPolicy = load.getEviction() != ir::Eviction::normal;
    std::string line =
        guard + "cp.async.bulk.tensor." + rank +
        "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" +
        (hasPolicy ? ".L2::cache_hint" : "") + " [" +
        text.operand(bufferAddress(lowering, load.getBuffer(), position.byteOffset), 'r') + "], [";
    line += boxText(text, lowering, map, load.getCoordinates(), position) + "], [";
    line += text.operand(barrier, 'r') + "]";
    if (hasPolicy)
      line += ", " + text.operand(cachePolicy(lowering, load.getEviction()), 'l');
    text.emit(line + ";");
  }
  return success();
}

/// ".add" of a reduction; the tensor map says of which type. Empty where the
/// hardware has none.
static std::string reductionName(ir::AtomicKind kind) {
  switch (kind) {
  case ir::AtomicKind::add:
  case ir::AtomicKind::fadd:
    return ".add";
  case ir::AtomicKind::smax:
  case ir::AtomicKind::umax:
  case ir::AtomicKind::fmax:
    return ".max";
  case ir::AtomicKind::smin:
  case ir::AtomicKind::umin:
  case ir::AtomicKind::fmin:
    return ".min";
  case ir::AtomicKind::bit_and:
    return ".and";
  case ir::AtomicKind::bit_or:
    return ".or";
  case ir::AtomicKind::bit_xor:
    return ".xor";
  case ir::AtomicKind::exchange:
  case ir::AtomicKind::load:
  case ir::AtomicKind::store:
    break;
  }
  return "";
}

static LogicalResult lowerTmaStore(Operation *op, FunctionLowering &lowering) {
  auto store = llvm::cast<ir::TmaStoreOp>(op);
  ir::DescriptorType descriptor = store.getDescriptor().getType();
  FailureOr<TmaBox> box = boxOf(op, descriptor, store.getBuffer().getType());
  if (failed(box))
    return failure();
  std::string reduction = store.getReduction() ? reductionName(*store.getReduction()) : "";
  if (store.getReduction() && reduction.empty())
    return op->emitOpError("TMA has no reduction ")
           << ir::stringifyAtomicKind(*store.getReduction());
  std::string name = (reduction.empty() ? "cp.async" : "cp.reduce.async") +
                     std::string(".bulk.tensor.") + std::to_string(descriptor.getShape().size()) +
                     "d.global.shared::cta" + reduction + ".tile.bulk_group [";
  TensorMapUse map = useTensorMap(lowering, store.getDescriptor());
  // Nothing is stored to an array without elements.
  Value isEmpty = std::exchange(map.isEmpty, Value());
  for (const BoxPosition &position : boxPositions(descriptor, *box)) {
    PtxText text(lowering);
    std::string line = onlyFirstThread(text, lowering, isEmpty) + name;
    line += boxText(text, lowering, map, store.getCoordinates(), position) + "], [";
    line += text.operand(bufferAddress(lowering, store.getBuffer(), position.byteOffset), 'r');
    text.emit(line + "];");
  }
  PtxText text(lowering);
  text.emit(onlyThread0(text, lowering) + "cp.async.bulk.commit_group;");
  return success();
}

static LogicalResult lowerTmaStoreWait(Operation *op, FunctionLowering &lowering) {
  auto wait = llvm::cast<ir::TmaStoreWaitOp>(op);
  // Groups belong to the thread that started them; for others there is nothing
  // to wait for.
  PtxText(lowering).emit(std::string("cp.async.bulk.wait_group") +
                         (wait.getComplete() ? " " : ".read ") + std::to_string(wait.getPending()) +
                         ";");
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments, table
//===----------------------------------------------------------------------===//

void prefetchDescriptor(FunctionLowering &lowering, Value address) {
  PtxText text(lowering);
  std::string guard = onlyThread0(text, lowering);
  text.emit(guard + "prefetch.tensormap [" + text.operand(address, 'l') + "];");
}

void addTmaLowerings(LoweringTable &table) {
  table.add(ir::MbarrierAllocOp::getOperationName(), lowerMbarrierAlloc);
  table.add(ir::MbarrierExpectOp::getOperationName(), lowerMbarrierExpect);
  table.add(ir::MbarrierArriveOp::getOperationName(), lowerMbarrierArrive);
  table.add(ir::MbarrierWaitOp::getOperationName(), lowerMbarrierWait);
  table.add(ir::MbarrierPhaseOp::getOperationName(), lowerMbarrierPhase);
  table.add(ir::IsFirstWarpOp::getOperationName(), lowerIsFirstWarp);
  table.add(ir::FenceAsyncOp::getOperationName(), lowerFenceAsync);
  table.add(ir::TmaLoadOp::getOperationName(), lowerTmaLoad);
  table.add(ir::TmaStoreOp::getOperationName(), lowerTmaStore);
  table.add(ir::TmaStoreWaitOp::getOperationName(), lowerTmaStoreWait);
  table.add(ir::MakeDescriptorOp::getOperationName(), lowerMakeDescriptor);
}

} // namespace tilewright::codegen
