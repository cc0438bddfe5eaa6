//===- PipelineLoops.cpp - Loads of later iterations during earlier ones --===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: in loops that load operands of products into shared memory the loads become
// asynchronous copies into rings, started num_stages - 1 iterations before they are used,
// and the products stay in flight across the back edge.
//
// Why here: layouts and buffers are final; AllocateShared then sees the rings.
//
// How (LoopSchedule.h): analyse the loop, plan its schedule, verify that, rewrite the body
// as it says, and expand the body into prologue, loop and epilogue. The plan makes all
// decisions. One iteration of each kind, for copies d = num_stages - 1 iterations ahead:
//
// Plain:
//
//     compute the addresses of k + d      (only where a product is in flight)
//     wait for the copies of k            (cp.async: all but d - 1 groups;
//                                          TMA: the mbarrier of the slot)
//     wait for all products but that of k - 1
//     barrier                             (copies of all threads are visible, and no
//                                          thread reads the slot of k - 2 any more)
//     start the product of k
//     start the copies of k + d           into the slot of k - 2
//
// So a ring has d + 2 slots. Where memory is short it has d + 1: the copies then go to the
// slot of k - 1, after a wait for that product and a second barrier. Products by mma read
// registers, so that the slot of k - 1 is free at the barrier: d + 1 slots.
//
// Chained products, as in attention, where the loop computes one product (S), then
// arithmetic (softmax), then a second product of its result (O += P V). With one iteration
// between the two, the arithmetic of k + 1 runs while the tensor cores work on the second
// product of k:
//
//     wait for copies; barrier, unless TMA copies for several warpgroups
//     start S of k + 1
//     scale the accumulator of k          (what depends on the second product)
//     start P V of k
//     start copies
//     wait for S; softmax of k + 1
//     wait for P V
//
// Several warpgroups should be out of phase, so that one runs its softmax while another
// runs its products. So no barrier holds them together: each warp arrives at an mbarrier of
// the slot when it has read the slot, and whoever fills it again waits for all warps.
//
// The loop then stops one iteration early; the second part of the last one follows it.
//
// In turn: a chain takes registers for two iterations' tiles, and a slot more. Where the
// same products one after the other leave room for another block on a multiprocessor,
// other blocks keep the tensor cores busy during the softmax. Rings then have d slots,
// since a slot is filled again in the iteration that has used it, long before its next use:
//
//     wait for the tiles of S; start S of k
//     fill the slot that the second product of k - 1 used, with tiles of k - 1 + d
//     wait for S; arrive; fill its slot, with tiles of k + d
//     softmax of k
//     wait for the tiles of P V; start P V of k; wait for it; arrive
//
// With cp.async a barrier follows each wait for tiles, and another one stands where the
// warps arrive after S.
//
// H200, attention forward, head dimension 128, blocks of 64x64: 557 instead of 460
// TFLOP/s at length 1024, 632 instead of 572 at 16384 (November 2026).
//
// A tile that registers want besides products, as where a sum of its squares goes with a
// product, is copied like the others, and registers read the slot, unless the tiles of the
// loop leave too few registers.
//
// Rows of single elements, as factors of rows a stride apart, go through registers: cp.async
// would copy lane by lane, which takes 33 accesses of shared memory for a warp, and no less
// than 4 bytes. They are stored an iteration after they were loaded, where there is one:
//
//     start the copies of k + d
//     store the rows of k + d - 1         into their slots
//     load the rows of k + d
//
// H200, a product of fp8 with a scale per block, 4096x4096x4096, 64x128x128 by 4 warps, three
// stages: 206 instead of 244 us, of which the copies of the scales took 49 (November 2026).
//
// Operands that are computed from what is loaded, as from quantised weights, are loaded
// ahead all the same: each thread copies to a ring what it then reads itself, with the
// waits of the other rings. Where several elements have one address, as the words of
// packed 4-bit weights, each thread loads its few words ahead into registers.
//
// Stream: loops without products that ask for stages (tl.range) send what they load
// through rings of d + 1 slots. Each thread reads what it has copied itself, so that no
// barrier is needed:
//
//     wait for the own copies of k
//     start the own copies of k + d       into the slot of k - 1, which has been read
//     read the tile of k
//
// Early loads: loops without products that hand a state from iteration to iteration, as
// linear attention one token at a time, or work on a tile with one row after the other, load
// little each time, and a store or an exchange of threads keeps the loads of the next
// iteration behind it. They are loaded into registers d iterations ahead, as far as 16
// registers go, so that an iteration does not wait for memory:
//
//     load for k + d
//     the state of k, from that of k - 1 and what was loaded for k
//
// H100, fused_recurrent_gla of flash-linear-attention, 4x2048 tokens, 16 heads of 128: 1.22
// instead of 3.73 ms, barriers for layouts left out as well (November 2026).
//
// A loop of constant length that has a slot for each iteration is filled before it: all copies
// start at once, and none in the loop. H200, recompute_w_u_fwd_kernel of aiter, two iterations in
// each of two loops, with cold caches: 6.5 instead of 7.7 us (Triton 7.0, November 2026).
//
// This pass places the waits and barriers of rings, and marks the rings (ir/dialect/
// Rings.h); InsertBarriers leaves what is marked alone.
//
// An address that another load of the loop brings, as in paged attention, is computed for
// the copy, d iterations ahead. That load happens one iteration earlier still, so that the
// copies wait for nothing; a chain of loads is waited for from the second one on. Scalars
// that the products depend on otherwise are loaded ahead, too.
//
// Bytes that a product wants transposed are copied ahead as they are (TransposedBytes.h).
//
// Not handled: addresses that the iteration before has loaded; loops that store where they
// load from.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/schedule/LoopSchedule.h"
#include "passes/schedule/TransposedBytes.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PIPELINELOOPS
#include "passes/Passes.h.inc"

/// What the user is told of a loop that was pipelined.
static Remark describe(const LoopSchedule &schedule) {
  if (schedule.kind == LoopKind::EarlyLoads)
    return {"pipeline",
            true,
            {},
            {{"stages", schedule.distance + 1}, {"loads", int64_t(schedule.registerLoads.size())}},
            "loads into registers"};
  std::string text = schedule.hasTma() ? "TMA" : "cp.async";
  if (schedule.kind == LoopKind::Chained)
    text += ", chained products overlap";
  if (schedule.kind == LoopKind::InTurn)
    text += ", chained products in turn";
  if (schedule.iterationsFilledBefore())
    text += ", all before the loop";
  // As many as slots, where the loop itself copies nothing.
  int stages = schedule.iterationsFilledBefore() ? schedule.distance : schedule.distance + 1;
  return {"pipeline",
          true,
          {},
          {{"stages", stages},
           {"slots", schedule.slots()},
           {"loads", int64_t(schedule.loads.size())},
           {"bytes", schedule.ringBytes()}},
          text};
}

/// Tells of hints that kernels written for Triton give and that change nothing here.
static void tellIdleHints(scf::ForOp loop, const PassContext &context) {
  auto tell = [&](const char *reason) { context.remark(loop, {"hint", false, {}, {}, reason}); };
  if (loop->hasAttr(ir::loopUnrollAttr))
    tell("loop_unroll_factor has no effect: LLVM chooses which loops it unrolls");
  if (loop->hasAttr(ir::loopWarpSpecializeAttr))
    tell("warp_specialize has no effect: the warps that compute start the copies, too");
  if (loop->hasAttr(ir::loopSingleAccumulatorAttr))
    tell("disallow_acc_multi_buffer has no effect: an accumulator has one copy in any case");
}

namespace {

/// While a loop is planned, whoever uses a loaded tile in registers reads it from the buffer that
/// products read: what is in a buffer only can be copied ahead. Undone where it is not. Descriptors'
/// tiles are read so already (PromoteShared).
class BufferReads {
public:
  BufferReads(scf::ForOp loop, const TargetInfo &target) {
    if (ir::stagesOf(loop) < 2)
      return;
    llvm::SmallVector<Tile> found;
    for (ir::LoadOp load : loop.getBody()->getOps<ir::LoadOp>())
      if (std::optional<Tile> tile = findTile(load))
        found.push_back(std::move(*tile));
    if (found.empty())
      return;
    LoopWords words = analyse(loop, target).words;
    if (words.carried + words.products + words.operands <= maxWords)
      for (Tile &tile : found)
        read(std::move(tile));
  }

  /// Undoes those of loads that `schedule` does not copy, but leaves the buffer before their first
  /// user; whether there were any.
  bool undoAllBut(const std::optional<LoopSchedule> &schedule) {
    size_t before = tiles.size();
    llvm::erase_if(tiles, [&](Tile &tile) {
      bool isCopied = schedule && schedule->copies(tile.load);
      if (!isCopied)
        undo(tile);
      return !isCopied;
    });
    return tiles.size() != before;
  }

  /// Destroys the conversions that reads have replaced: nothing is undone any more.
  void finish() {
    for (Tile &tile : tiles)
      for (auto [read, convert] : tile.reads)
        if (convert)
          convert->destroy();
    tiles.clear();
  }

private:
  /// Registers for tiles of a loop besides which the addresses of more copies fit: linear
  /// attention's gradients with 160 and more spilled for them (ptxas 13.0). A guess.
  static constexpr int64_t maxWords = 128;

  struct Tile {
    ir::LoadOp load;
    ir::AllocSharedOp buffer;
    /// The first user in registers.
    Operation *firstUser = nullptr;
    /// What reads the buffer, and the conversion that it replaces, if any.
    llvm::SmallVector<std::pair<ir::SharedLoadOp, Operation *>, 2> reads;
  };
  llvm::SmallVector<Tile> tiles;

  /// Nothing where the tile is in no buffer, in several, or in no registers.
  static std::optional<Tile> findTile(ir::LoadOp load) {
    Tile tile;
    tile.load = load;
    Block *body = load->getBlock();
    for (Operation *user : load->getUsers()) {
      Operation *inBody = body->findAncestorOpInBlock(*user);
      if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(user)) {
        if (tile.buffer || alloc->getBlock() != body)
          return std::nullopt;
        tile.buffer = alloc;
      } else if (!tile.firstUser || inBody->isBeforeInBlock(tile.firstUser)) {
        tile.firstUser = inBody;
      }
    }
    return tile.buffer && tile.firstUser ? std::optional(std::move(tile)) : std::nullopt;
  }

  void read(Tile tile) {
    if (tile.firstUser->isBeforeInBlock(tile.buffer))
      tile.buffer->moveBefore(tile.firstUser);
    OpBuilder builder(tile.buffer->getContext());
    auto add = [&](Type type, Operation *convert) {
      auto read = builder.create<ir::SharedLoadOp>(tile.load.getLoc(), type, tile.buffer);
      tile.reads.emplace_back(read, convert);
      return read;
    };
    llvm::SmallVector<Operation *> users(tile.load->getUsers());
    for (Operation *user : users)
      if (auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(user)) {
        builder.setInsertionPoint(convert);
        convert.getResult().replaceAllUsesWith(add(convert.getType(), convert));
        convert->remove();
        convert->dropAllReferences();
      }
    builder.setInsertionPointAfter(tile.buffer);
    if (!tile.load->hasOneUse())
      tile.load.getResult().replaceAllUsesExcept(add(tile.load.getType(), nullptr), tile.buffer);
    tiles.push_back(std::move(tile));
  }

  static void undo(Tile &tile) {
    for (auto [read, convert] : tile.reads) {
      if (convert) {
        convert->setOperand(0, tile.load);
        read->getBlock()->getOperations().insert(read->getIterator(), convert);
      }
      read.replaceAllUsesWith(convert ? convert->getResult(0) : tile.load.getResult());
      read.erase();
    }
  }
};

class PipelineLoopsPass : public impl::PipelineLoopsBase<PipelineLoopsPass> {
public:
  explicit PipelineLoopsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    getOperation()->walk([&](scf::ForOp loop) { tellIdleHints(loop, context); });
    for (scf::ForOp loop : innermostLoops(getOperation()))
      if (failed(pipeline(loop)))
        return signalPassFailure();
  }

private:
  PassContext context;

  LoopPlan planned(scf::ForOp loop) const {
    return plan(analyse(loop, context.target), resourcesFor(loop, context.target));
  }

  LogicalResult pipeline(scf::ForOp loop) {
    BufferReads reads(loop, context.target);
    TransposedBytes bytes(loop, context.target);
    auto undoAllBut = [&](const std::optional<LoopSchedule> &schedule) {
      bool haveBytesChanged = bytes.undoAllBut(schedule);
      return reads.undoAllBut(schedule) || haveBytesChanged;
    };
    LoopPlan made = planned(loop);
    // With fewer copies the others may turn out otherwise.
    while (undoAllBut(made.schedule))
      made = planned(loop);
    for (const PlanNote &note : made.notes)
      context.remark(note.op, note.remark);
    numRefused +=
        llvm::count_if(made.notes, [](const PlanNote &note) { return !note.remark.applied; });
    if (!made.schedule)
      return success();
    // The loop is as it was until here, and right without a schedule.
    if (std::string problem = verify(*made.schedule); !problem.empty()) {
      undoAllBut(std::nullopt);
      context.remark(loop, {"pipeline", false, {}, {}, "[internal] " + problem});
      return success();
    }
    reads.finish();
    FailureOr<scf::ForOp> expanded = expand(rewrite(loop, *made.schedule), *made.schedule);
    if (failed(expanded))
      return failure();
    context.remark(*expanded, describe(*made.schedule));
    ++numPipelined;
    return success();
  }
};

} // namespace

std::unique_ptr<Pass> createPipelineLoops(PassContext context) {
  return std::make_unique<PipelineLoopsPass>(std::move(context));
}

} // namespace tilewright::passes
