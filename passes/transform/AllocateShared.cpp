//===- AllocateShared.cpp - Places scratch in shared memory ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives every op with scratch (ScratchSize.h) an offset, tw.scratch_offset,
// and the module its size, tw.shared_bytes.
//
// Why here: last of the passes that count shared memory; nothing behind it may
// make an op with scratch.
//
// How:
//  1. number the ops with scratch in program order; scratch lives for one op.
//  2. two neighbours, also round a loop, are kept apart: their own barriers then
//     order them, and InsertBarriers need not add one. Only while that costs
//     less than spareSharedBytes.
//  3. first fit, largest first, each at the lowest offset that no neighbour uses.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/ScratchSize.h"
#include "passes/transform/Passes.h"

#include "ir/support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_ALLOCATESHARED
#include "passes/transform/Passes.h.inc"

namespace {

/// Shared memory that costs no occupancy: 228 KB of H200 over the 16 blocks of 4
/// warps that its 64 warp slots hold.
constexpr int64_t spareSharedBytes = 14 * 1024;

struct Buffer {
  Operation *op;
  int64_t bytes;
  int64_t offset = 0;
};

int64_t alignUp(int64_t value) {
  return (value + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
}

class Allocation {
public:
  explicit Allocation(ModuleOp module) { collect(module); }

  std::vector<Buffer> buffers;
  int64_t totalBytes = 0;

  void run() {
    place(/*keepApart=*/true);
    int64_t apart = totalBytes;
    // Sharing all bytes is the smallest: one op's scratch at a time.
    place(/*keepApart=*/false);
    if (apart <= std::max(totalBytes, spareSharedBytes))
      place(/*keepApart=*/true);
  }

private:
  /// Pairs of buffers of which one is used right after the other.
  std::set<std::pair<int, int>> neighbours;

  void collect(ModuleOp module) {
    module.walk([&](func::FuncOp function) {
      for (Block &block : function.getBody())
        visit(block, {});
    });
  }

  /// The buffers used last when control leaves `block`, having entered it with
  /// those of `last`.
  std::set<int> visit(Block &block, std::set<int> last) {
    for (Operation &op : block) {
      if (op.getNumRegions() != 0 && llvm::isa<scf::SCFDialect>(op.getDialect())) {
        last = visitRegions(&op, last);
        continue;
      }
      if (int64_t bytes = scratchBytes(&op)) {
        int index = indexOf(&op, bytes);
        for (int other : last)
          neighbours.insert({std::min(index, other), std::max(index, other)});
        last = {index};
      }
    }
    return last;
  }

  std::set<int> visitRegions(Operation *op, const std::set<int> &entry) {
    std::set<int> exit = entry;
    auto add = [&](const std::set<int> &more) { exit.insert(more.begin(), more.end()); };
    if (llvm::isa<scf::IfOp>(op)) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          add(visit(block, entry));
      return exit;
    }
    // A loop: its regions in order, twice, so that the last meets the first.
    for (int round = 0; round < 2; ++round)
      for (Region &region : op->getRegions())
        for (Block &block : region)
          add(visit(block, exit));
    return exit;
  }

  int indexOf(Operation *op, int64_t bytes) {
    for (auto [index, buffer] : llvm::enumerate(buffers))
      if (buffer.op == op)
        return index;
    buffers.push_back({op, bytes});
    return buffers.size() - 1;
  }

  void place(bool keepApart) {
    std::vector<int> order(buffers.size());
    for (size_t index = 0; index < order.size(); ++index)
      order[index] = index;
    llvm::stable_sort(order,
                      [&](int lhs, int rhs) { return buffers[lhs].bytes > buffers[rhs].bytes; });
    totalBytes = 0;
    std::vector<int> placed;
    for (int index : order) {
      buffers[index].offset = keepApart ? firstFit(index, placed) : 0;
      totalBytes = std::max(totalBytes, buffers[index].offset + alignUp(buffers[index].bytes));
      placed.push_back(index);
    }
  }

  int64_t firstFit(int index, const std::vector<int> &placed) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (int other : placed)
      if (other != index && neighbours.count({std::min(index, other), std::max(index, other)}))
        taken.push_back(
            {buffers[other].offset, buffers[other].offset + alignUp(buffers[other].bytes)});
    llvm::sort(taken);
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (offset + buffers[index].bytes <= begin)
        break;
      offset = std::max(offset, end);
    }
    return offset;
  }
};

std::string atLocation(Operation *op) {
  std::string place = renderLocation(op->getLoc());
  return place.empty() ? "" : " at " + place;
}

/// E0301, with the buffers that make up the number, largest first. "[E0301]" in
/// front tells compileModule the code; the last note becomes the help.
void reportTooLarge(const Allocation &allocation, int64_t limit, const std::string &target) {
  std::vector<const Buffer *> list;
  for (const Buffer &buffer : allocation.buffers)
    list.push_back(&buffer);
  llvm::stable_sort(list,
                    [](const Buffer *lhs, const Buffer *rhs) { return lhs->bytes > rhs->bytes; });
  const Buffer &largest = *list.front();
  InFlightDiagnostic error = largest.op->emitError();
  error << "[E0301] needs " << allocation.totalBytes << " bytes of shared memory; " << target
        << " allows " << limit;
  for (const Buffer *buffer : list)
    error.attachNote(buffer->op->getLoc()) << buffer->bytes << " bytes for the "
                                           << describeScratch(buffer->op) << atLocation(buffer->op);
  // Scratch of a tile is proportional to its size.
  int64_t factor = 2;
  while ((largest.bytes + factor - 1) / factor > limit)
    factor *= 2;
  error.attachNote(largest.op->getLoc())
      << "make that tile " << factor << " times smaller: its " << describeScratch(largest.op)
      << " would need " << (largest.bytes + factor - 1) / factor << " bytes";
}

class AllocateSharedPass : public impl::AllocateSharedBase<AllocateSharedPass> {
public:
  explicit AllocateSharedPass(PassContext context) : context(std::move(context)) {}
  AllocateSharedPass(const AllocateSharedPass &other) = default;

  void runOnOperation() override {
    Allocation allocation(getOperation());
    allocation.run();
    int64_t limit = sharedLimit > 0 ? int64_t(sharedLimit) : context.target.maxSharedBytesPerBlock;
    // A target that names no limit is the driver's to judge.
    if (limit > 0 && allocation.totalBytes > limit) {
      reportTooLarge(allocation, limit, context.target.name);
      return signalPassFailure();
    }
    Type i32 = IntegerType::get(&getContext(), 32);
    for (const Buffer &buffer : allocation.buffers)
      buffer.op->setAttr(ir::scratchOffsetAttr, IntegerAttr::get(i32, buffer.offset));
    getOperation()->setAttr(ir::sharedBytesAttr, IntegerAttr::get(i32, allocation.totalBytes));
    numBuffers += allocation.buffers.size();
    if (!allocation.buffers.empty())
      context.remark(getOperation(), {"shared-memory",
                                      true,
                                      {},
                                      {{"bytes", allocation.totalBytes},
                                       {"buffers", int64_t(allocation.buffers.size())}},
                                      ""});
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createAllocateShared(PassContext context) {
  return std::make_unique<AllocateSharedPass>(std::move(context));
}

} // namespace tilewright::passes
