//===- LoopFacts.h - What is known of a loop before it is scheduled -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the facts that a plan of a loop (LoopSchedule.h) is made from. They hold whatever
// is planned: nothing here decides, and nothing changes the IR.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_SCHEDULE_LOOPFACTS_H
#define TILEWRIGHT_PASSES_SCHEDULE_LOOPFACTS_H

#include "ir/dialect/Rings.h"
#include "ir/support/TargetInfo.h"
#include "passes/schedule/Slice.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace tilewright::passes {

/// A load of which each thread may copy or load what it needs itself.
struct OwnLoadFacts {
  bool isCandidate = false;
  /// Fewer elements than the block has threads; elements that share an address (log2).
  bool isShort = false;
  int log2Repeats = 0;
  /// Registers of a thread for what it loads, counting elements of one address once.
  int64_t words = 0;
  /// No tile: all threads load the same element.
  bool isScalar = false;
  /// A product of the loop depends on it.
  bool feedsProduct = false;
};

/// A load in the body of the loop. Texts say what is in the way; empty: nothing.
struct LoadFacts {
  mlir::Operation *load = nullptr;
  /// The buffers that it is stored to for products and other readers of shared memory.
  llvm::SmallVector<ir::AllocSharedOp, 1> allocs;
  /// Ops of the body that read those, themselves or through a view.
  llvm::SetVector<mlir::Operation *> readers;
  /// Some reader takes the tile into registers through a permuted view, as mma does, or to store it
  /// again (TransposedBytes.h).
  bool isReadTransposed = false;
  /// Type of a slot of its ring.
  ir::BufferType type;

  /// Whether TMA or cp.async can copy it, and to one buffer.
  std::string copyObstacle;
  /// Whether threads load it, and store it once it has arrived: single elements of a row, with
  /// which cp.async is slow or cannot deal.
  bool goesThroughRegisters = false;
  /// Whether its address is known iterations ahead, and what it loads is final then.
  std::string addressObstacle;
  /// Loads of the same iteration, each for the address of the next, before its own address.
  int numAddressLoads = 0;

  /// What threads can do for themselves where it is stored to no buffer.
  OwnLoadFacts own;

  bool isTma() const { return llvm::isa<ir::DescriptorLoadOp>(load); }
  /// Whether TMA brings it, and no product reads it, neither there nor by mma.
  bool isReadByRegisters() const;
  int64_t tileBytes() const;
};

/// Two products of which the second reads in registers what becomes of the first, and adds
/// to a variable of the loop; the second one may run an iteration later.
struct ChainFacts {
  ir::WgmmaOp first, second;
  /// The second product, and all that depends on its accumulator.
  llvm::DenseSet<mlir::Operation *> laterOps;
  /// The accumulator.
  mlir::BlockArgument accumulator;

  bool isLater(mlir::Value value) const {
    return value == accumulator || laterOps.contains(value.getDefiningOp());
  }
};

/// Registers of a thread for tiles of a loop.
struct LoopWords {
  /// Those that it carries.
  int64_t carried = 0;
  /// Results of its products, and those of their operands that are in registers.
  int64_t products = 0, operands = 0;
  /// Where it has no products: those that each iteration computes from themselves and from
  /// what it loads; the largest that it computes from what it loads.
  int64_t recurrent = 0, largest = 0;
};

/// The iteration before stores, or threads exchange in it.
enum class LoadsHeldBy : uint8_t { Nothing, Stores, Exchanges };

struct LoopFacts {
  explicit LoopFacts(mlir::scf::ForOp loop) : loop(loop) {}

  mlir::scf::ForOp loop;
  /// Iterations that loads shall be ahead of their use: what was asked for, and less than
  /// the iterations that there are.
  int distance = 0;
  /// The loop itself asks (tl.range), rather than the launch.
  bool asksItself = false;
  /// Products anywhere in the loop; wgmma in its own body.
  bool hasProduct = false, hasWgmma = false;
  /// A wgmma in the body or in one of its branches, which reads through another proxy.
  bool feedsWgmma = false;
  /// What keeps loads from starting before the iteration before is through. Not where it
  /// asserts: loads shall not run before that.
  LoadsHeldBy heldBy = LoadsHeldBy::Nothing;
  LoopWords words;
  /// Loads of the body, in its order.
  llvm::SmallVector<LoadFacts> loads;
  std::optional<ChainFacts> chain;

  mlir::Block *body() const { return mlir::scf::ForOp(loop).getBody(); }
};

/// Room for the barriers of all rings, which count little beside the tiles: 64 of them, more
/// than any kernel of the tests has. A guess.
constexpr int64_t maxMbarrierBytes = 512;

/// The machine, and what the rest of the kernel leaves of it.
struct LoopResources {
  const TargetInfo &target;
  int numWarps;
  /// Bytes of shared memory that others take while the loop runs, at most.
  int64_t otherSharedBytes;

  /// Bytes that all tiles of the kernel may take, and of these the rings of the loop.
  int64_t roomForTiles() const { return target.maxSharedBytesPerBlock - maxMbarrierBytes; }
  int64_t roomForRings() const { return roomForTiles() - otherSharedBytes; }
};

/// The iterations of a loop whose bounds are constants.
std::optional<int64_t> tripCount(mlir::scf::ForOp loop);
/// Iterations that a load can be ahead of its use: fewer than there are.
int maxDistance(mlir::scf::ForOp loop);

/// Notes on the module that loads are ahead of stores through other arguments of the
/// kernel, which is right only where those are distinct.
void markDistinctArguments(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Operation *> loads);

/// The chain of products of a loop, if it is one (FindChain.cpp).
std::optional<ChainFacts> findChain(mlir::scf::ForOp loop);

LoopFacts analyse(mlir::scf::ForOp loop, const TargetInfo &target);
LoopResources resourcesFor(mlir::scf::ForOp loop, const TargetInfo &target);

/// Loops without loops inside, which are the ones that are scheduled.
llvm::SmallVector<mlir::scf::ForOp> innermostLoops(mlir::ModuleOp module);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_SCHEDULE_LOOPFACTS_H
