//===- VerifyResources.cpp - Checks the places in shared memory -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the verifier of the last phase. Every allocation and every op with scratch has an
// offset, lies inside of the bytes that the kernel asks for, which are those of a block at
// most, and shares no byte with what is alive at the same time.
//
// How: it says by itself when a piece is certainly alive, and does not ask AllocateShared:
// scratch at its op; barriers always; a buffer from its allocation to the last use of it in
// the text, and to the end of a loop that has a use but not the allocation. That is less than
// AllocateShared keeps apart, so what is refused here is wrong.
//
// Not handled: accesses that outlast their op (VerifyAsync says that they end).
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/ScratchSize.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_VERIFYRESOURCES
#include "passes/Passes.h.inc"

namespace {

struct Piece {
  Operation *op;
  int64_t offset, bytes;
  /// Numbers of the first and last op at which it is alive.
  size_t begin, end;

  bool isAliveWith(const Piece &other) const { return begin <= other.end && other.begin <= end; }
  bool sharesBytesWith(const Piece &other) const {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

class ResourceVerifier {
public:
  ResourceVerifier(ModuleOp module, const TargetInfo &target)
      : module(module), target(target), buffers(module) {
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers[op] = numbers.size(); });
  }

  LogicalResult verify() {
    if (failed(verifySize()))
      return failure();
    WalkResult result = module.walk([&](Operation *op) {
      return failed(addPiece(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return success(!result.wasInterrupted() && succeeded(verifyDisjoint()));
  }

private:
  ModuleOp module;
  const TargetInfo &target;
  const BufferAnalysis buffers;
  llvm::DenseMap<Operation *, size_t> numbers;
  llvm::SmallVector<Piece> pieces;
  int64_t sharedBytes = 0;

  LogicalResult verifySize() {
    if (auto bytes = module->getAttrOfType<IntegerAttr>(ir::sharedBytesAttr))
      sharedBytes = bytes.getInt();
    if (sharedBytes <= target.maxSharedBytesPerBlock)
      return success();
    return module->emitError("asks for ") << sharedBytes << " bytes of shared memory, a block has "
                                          << target.maxSharedBytesPerBlock;
  }

  LogicalResult addPiece(Operation *op) {
    bool isAllocation = llvm::isa<ir::AllocSharedOp, ir::MbarrierAllocOp>(op);
    int64_t bytes = isAllocation ? bufferBytes(op) : scratchBytes(op);
    if (bytes == 0)
      return success();
    auto offset = op->getAttrOfType<IntegerAttr>(ir::scratchOffsetAttr);
    if (!offset)
      return op->emitError("has no place in shared memory");
    if (offset.getInt() < 0 || offset.getInt() + bytes > sharedBytes)
      return op->emitError("takes the bytes from ")
             << offset.getInt() << " to " << offset.getInt() + bytes << ", the kernel has "
             << sharedBytes;
    size_t number = numbers.lookup(op);
    Piece piece{op, offset.getInt(), bytes, number, number};
    if (llvm::isa<ir::MbarrierAllocOp>(op))
      piece.end = numbers.size();
    else if (isAllocation)
      piece.end = lastUse(op);
    pieces.push_back(piece);
    return success();
  }

  size_t lastUse(Operation *allocation) const {
    size_t last = numbers.lookup(allocation);
    for (Value value : buffers.valuesOf(allocation))
      for (Operation *user : value.getUsers())
        last = std::max(last, endOfUse(user, allocation));
    return last;
  }

  /// The number of `user`, or of the last op in the outermost loop around it that has not the
  /// allocation in it, too.
  size_t endOfUse(Operation *user, Operation *allocation) const {
    size_t end = numbers.lookup(user);
    for (Operation *parent = user->getParentOp(); parent && !parent->isAncestor(allocation);
         parent = parent->getParentOp())
      if (llvm::isa<LoopLikeOpInterface>(parent))
        parent->walk([&](Operation *inner) { end = std::max(end, numbers.lookup(inner)); });
    return end;
  }

  LogicalResult verifyDisjoint() {
    // By the beginning of the bytes: only neighbours can overlap.
    llvm::sort(pieces, [](const Piece &a, const Piece &b) {
      return std::tie(a.offset, a.begin) < std::tie(b.offset, b.begin);
    });
    for (auto [index, piece] : llvm::enumerate(pieces))
      for (const Piece &other : llvm::ArrayRef(pieces).drop_front(index + 1)) {
        if (other.offset >= piece.offset + piece.bytes)
          break;
        if (piece.sharesBytesWith(other) && piece.isAliveWith(other)) {
          InFlightDiagnostic diagnostic = other.op->emitError("shares bytes from ")
                                          << other.offset << " on with what is alive with it";
          diagnostic.attachNote(piece.op->getLoc())
              << "this, from " << piece.offset << " to " << piece.offset + piece.bytes;
          return diagnostic;
        }
      }
    return success();
  }
};

class VerifyResourcesPass : public impl::VerifyResourcesBase<VerifyResourcesPass> {
public:
  explicit VerifyResourcesPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    if (failed(ResourceVerifier(getOperation(), context.target).verify()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createVerifyResources(PassContext context) {
  return std::make_unique<VerifyResourcesPass>(std::move(context));
}

} // namespace tilewright::passes
