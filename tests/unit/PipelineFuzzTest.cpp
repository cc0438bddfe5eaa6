//===- PipelineFuzzTest.cpp - Random kernels through all passes -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: random kernels with loads, stores, reductions, scans, loops and branches
// go through the whole pipeline. It must succeed, leave IR that verifies, store
// the same values to the same addresses, and promise no vector that memory or
// mask do not admit.
//
// How: layouts do not change what tile IR means, so the evaluator runs the kernel
// before and after. That the layouts fit together is VerifyLayouts' business,
// which is part of the pipeline; it is run again here.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/TileGenerator.h"

#include "ir/layout/LayoutMemory.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/ScratchSize.h"
#include "passes/pipeline/Pipeline.h"

#include "mlir/IR/Verifier.h"

#include <cstdlib>
#include <set>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::testing;

namespace {

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

/// Watches a kernel run and finds two accesses of one place by different threads,
/// one of them a write, without a barrier between them.
///
/// How: barriers cut time into epochs. Per place, the threads that read and wrote
/// it in the current epoch are kept. Ops with scratch write it, pass a barrier of
/// their own and read it, all threads alike (ScratchSize.h). So are buffers
/// accessed. An asynchronous access is one where it begins and where it is waited
/// for, and in between nobody may write, or read what is being written. A TMA store
/// also wants a fence and then a barrier after what threads wrote.
class RaceDetector {
public:
  RaceDetector(Evaluator &evaluator, int numWarps) : evaluator(evaluator), numWarps(numWarps) {}
  std::string race;

  void observe(Operation *op) {
    if (llvm::isa<ir::BarrierOp>(op))
      return nextEpoch();
    if (llvm::isa<ir::FenceAsyncOp>(op)) {
      for (auto &[byte, state] : unfenced)
        state = Fence::Passed;
      return;
    }
    observeBuffers(op);
    if (Value pointer = passes::accessPointer(op))
      observeGlobal(op, pointer);
    auto offset = op->getAttrOfType<IntegerAttr>(ir::scratchOffsetAttr);
    if (!offset || passes::bufferBytes(op))
      return;
    Bytes bytes{offset.getInt(), offset.getInt() + passes::scratchBytes(op)};
    touchShared(op, bytes, /*isWrite=*/true);
    nextEpoch();
    touchShared(op, bytes, /*isWrite=*/false);
  }

private:
  /// Stands for all threads at once.
  static constexpr int everyone = -1;
  struct Place {
    std::set<int> readers, writers;
    /// Ops may write a place by all threads together without racing themselves.
    Operation *lastWriter = nullptr;
  };
  /// A range of shared memory.
  using Bytes = std::pair<int64_t, int64_t>;
  /// Written by threads, and whether a fence has passed since.
  enum class Fence { Missing, Passed };

  Evaluator &evaluator;
  int numWarps;
  std::map<int64_t, Place> places;
  std::map<int64_t, Fence> unfenced;
  /// Being written by copies; being read by stores.
  std::vector<std::pair<Operation *, Bytes>> copies, stores;

  void nextEpoch() {
    places.clear();
    for (auto entry = unfenced.begin(); entry != unfenced.end();)
      entry = entry->second == Fence::Passed ? unfenced.erase(entry) : std::next(entry);
  }

  void report(Operation *op, int64_t address) {
    if (race.empty())
      race = op->getName().getStringRef().str() + " at " + std::to_string(address);
  }

  void touchShared(Operation *op, Bytes bytes, bool isWrite) {
    auto meets = [&](const Bytes &other) {
      return bytes.first < other.second && other.first < bytes.second;
    };
    for (auto &[copy, written] : copies)
      if (copy != op && meets(written))
        report(op, bytes.first);
    for (auto &[store, read] : stores)
      if (isWrite && meets(read))
        report(op, bytes.first);
    for (int64_t byte = bytes.first; byte < bytes.second; ++byte) {
      touch(op, -1 - byte, everyone, isWrite);
      if (isWrite)
        unfenced[byte] = Fence::Missing;
    }
  }

  void observeBuffers(Operation *op) {
    for (const passes::BufferUse &use : passes::bufferUses(op)) {
      Operation *alloc = use.buffer.getDefiningOp();
      int64_t begin = alloc->getAttrOfType<IntegerAttr>(ir::scratchOffsetAttr).getInt();
      Bytes bytes{begin, begin + passes::bufferBytes(alloc)};
      if (use.isAsyncProxy())
        for (int64_t byte = bytes.first; byte < bytes.second; ++byte)
          if (unfenced.count(byte))
            report(op, byte);
      touchShared(op, bytes, use.isWrite);
      if (use.completion == passes::Completion::AsyncWait)
        copies.push_back({op, bytes});
      if (use.completion == passes::Completion::TmaStoreWait)
        stores.push_back({op, bytes});
    }
    auto finish = [&](std::vector<std::pair<Operation *, Bytes>> &accesses, bool isWrite) {
      auto finished = std::move(accesses);
      accesses.clear();
      for (auto &[access, bytes] : finished)
        touchShared(access, bytes, isWrite);
    };
    if (llvm::isa<ir::AsyncWaitOp>(op))
      finish(copies, /*isWrite=*/true);
    if (llvm::isa<ir::TmaStoreWaitOp>(op))
      finish(stores, /*isWrite=*/false);
  }

  static bool othersIn(const std::set<int> &threads, int thread) {
    return llvm::any_of(threads, [&](int other) { return other != thread || other == everyone; });
  }

  void touch(Operation *op, int64_t address, int thread, bool isWrite) {
    Place &place = places[address];
    bool meets = othersIn(place.writers, thread) && place.lastWriter != op;
    if (isWrite)
      meets |= othersIn(place.readers, thread);
    if (meets)
      report(op, address);
    (isWrite ? place.writers : place.readers).insert(thread);
    if (isWrite)
      place.lastWriter = op;
  }

  void observeGlobal(Operation *op, Value pointer) {
    bool isWrite = llvm::isa<ir::StoreOp>(op);
    auto load = llvm::dyn_cast<ir::LoadOp>(op);
    bool isForOwners = load ? passes::reachesStoresOnly(load) : isWrite;
    auto type = llvm::cast<RankedTensorType>(pointer.getType());
    LinearLayout layout = ir::getLinearLayout(type);
    HardwareIndex copies = duplicateThreadMasks(layout);
    Value mask = passes::accessMask(op);
    int bytes = pointeeBytes(type);
    for (int warp = 0; warp < numWarps; ++warp)
      for (int lane = 0; lane < 32; ++lane) {
        // One of the threads that hold copies stores. What only that one needs, the others may
        // load at any time.
        if (isForOwners && ((lane & copies[InDim::Lane]) | (warp & copies[InDim::Warp])))
          continue;
        for (int reg = 0; reg < layout.inSize(InDim::Register); ++reg) {
          uint32_t element = layout.apply(reg, lane, warp);
          if (!mask || evaluator.get(mask)[element])
            for (int byte = 0; byte < bytes; ++byte)
              touch(op, evaluator.get(pointer)[element] + byte, warp * 32 + lane, isWrite);
        }
      }
  }
};

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Sends some tiles of a kernel round by shared memory, in buffers of random layout
/// that are made where the tile is or at the start of the kernel, written by
/// threads or by copies; TMA stores read some of them too.
class BufferMaker {
public:
  BufferMaker(ModuleOp module, unsigned seed) : random(seed), builder(module.getContext()) {
    function = *module.getOps<func::FuncOp>().begin();
    entry = &function.getBody().front();
    llvm::SmallVector<Value> tiles;
    function.walk([&](Operation *op) {
      bool isInner = llvm::isa<ir::ReduceOp, ir::ScanOp>(op->getParentOp());
      for (Value result : op->getResults())
        if (auto type = llvm::dyn_cast<RankedTensorType>(result.getType());
            type && !isInner && type.getElementType().isSignlessInteger() && pick(6) == 0)
          tiles.push_back(result);
    });
    for (Value tile : tiles)
      sendThroughMemory(tile);
  }

  int numBuffers = 0;

private:
  std::mt19937 random;
  OpBuilder builder;
  func::FuncOp function;
  Block *entry;
  Location loc = builder.getUnknownLoc();

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); }

  ir::SharedLayoutAttr randomLayout(llvm::ArrayRef<int64_t> shape) {
    int numBits = 0;
    for (int64_t extent : shape)
      numBits += llvm::Log2_64(extent);
    std::vector<uint32_t> columns;
    for (int bit = 0; bit < numBits; ++bit)
      columns.push_back(1u << bit);
    for (int step = 0; step < numBits; ++step) {
      int to = pick(numBits), from = pick(numBits);
      if (to != from)
        columns[to] ^= columns[from];
    }
    return ir::SharedLayoutAttr::get(builder.getContext(), columns);
  }

  void sendThroughMemory(Value tile) {
    auto type = llvm::cast<RankedTensorType>(tile.getType());
    auto bufferType = ir::BufferType::get(builder.getContext(), type.getShape(),
                                          type.getElementType(), randomLayout(type.getShape()), 1);
    builder.setInsertionPointAfter(tile.getDefiningOp());
    bool isEarly = pick(2);
    Value buffer;
    {
      OpBuilder::InsertionGuard guard(builder);
      if (isEarly)
        builder.setInsertionPointToStart(entry);
      if (!isEarly && pick(2))
        buffer = builder.create<ir::AllocSharedOp>(loc, bufferType, tile);
      else
        buffer = builder.create<ir::AllocSharedOp>(loc, bufferType, Value());
    }
    auto load = tile.getDefiningOp<ir::LoadOp>();
    if (buffer.getDefiningOp<ir::AllocSharedOp>().getInit()) {
      // Written already.
    } else if (load && pick(2)) {
      builder.create<ir::AsyncCopyOp>(loc, load.getPointer(), buffer, load.getMask(),
                                      load.getOther());
      builder.create<ir::AsyncCommitOp>(loc);
      builder.create<ir::AsyncWaitOp>(loc, 0);
    } else {
      builder.create<ir::SharedStoreOp>(loc, tile, buffer);
    }
    ++numBuffers;
    storeByTma(tile, buffer);
    llvm::SmallVector<OpOperand *> uses;
    for (OpOperand &use : tile.getUses())
      if (!llvm::isa<ir::AllocSharedOp, ir::SharedStoreOp>(use.getOwner()) &&
          !llvm::isa<ir::ReduceOp, ir::ScanOp>(use.getOwner()->getParentOp()) && pick(2))
        uses.push_back(&use);
    for (OpOperand *use : uses) {
      // What a tile dominates sees it before it is computed again.
      builder.setInsertionPoint(use->getOwner());
      use->set(builder.create<ir::SharedLoadOp>(loc, type, buffer));
    }
  }

  /// To an array that nobody looks at.
  void storeByTma(Value tile, Value buffer) {
    if (pick(3))
      return;
    auto type = llvm::cast<RankedTensorType>(tile.getType());
    unsigned number = function.getNumArguments();
    auto descriptor =
        ir::DescriptorType::get(builder.getContext(), type.getShape(), type.getElementType());
    function.insertArgument(number, descriptor, {}, loc);
    Value zero = builder.create<arith::ConstantOp>(loc, builder.getI32IntegerAttr(0));
    builder.create<ir::TmaStoreOp>(loc, function.getArgument(number),
                                   llvm::SmallVector<Value>(type.getRank(), zero), buffer,
                                   ir::AtomicKindAttr());
    // Somewhere later in the block, before the buffer can be written again.
    Operation *later = builder.getInsertionPoint() == builder.getBlock()->end()
                           ? nullptr
                           : &*builder.getInsertionPoint();
    for (int step = pick(4); step > 0 && later && !later->hasTrait<OpTrait::IsTerminator>(); --step)
      later = later->getNextNode();
    if (later)
      builder.setInsertionPoint(later);
    builder.create<ir::TmaStoreWaitOp>(loc, 0, false, ValueRange());
  }
};

class PipelineFuzzTest : public ::testing::Test {
protected:
  PipelineFuzzTest() {
    context.loadDialect<ir::TWDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                        func::FuncDialect>();
    target.name = "sm_90a";
    target.maxSharedBytesPerBlock = getTargetInfo("sm_90a").maxSharedBytesPerBlock;
  }
  MLIRContext context;
  TargetInfo target;

  static Evaluator evaluate(ModuleOp module, unsigned seed, int trial,
                            std::string *race = nullptr) {
    func::FuncOp function = *module.getOps<func::FuncOp>().begin();
    std::mt19937 random(seed + trial);
    Evaluator evaluator(nullptr);
    RaceDetector detector(evaluator, ir::numWarps(module));
    if (race)
      evaluator.observer = [&](Operation *op) { detector.observe(op); };
    evaluator.programId = trial * 3;
    for (BlockArgument argument : function.getArguments()) {
      if (llvm::isa<ir::DescriptorType>(argument.getType()))
        continue;
      int64_t value = std::uniform_int_distribution<int64_t>(0, 40)(random);
      if (auto attr =
              function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), ir::divisibilityAttr))
        value *= attr.getInt();
      // Buffers far apart, as different tensors are.
      if (llvm::isa<ir::PointerType>(argument.getType()))
        value += int64_t(argument.getArgNumber() + 1) << 40;
      evaluator.set(argument, {value});
    }
    evaluator.run(function.getBody().front());
    evaluator.observer = nullptr;
    if (race)
      *race = detector.race;
    return evaluator;
  }

  /// What is wrong with the promise of `op`, for the addresses and masks it had.
  static std::string brokenPromise(Operation *op, Evaluator &evaluator) {
    auto promised = op->getAttrOfType<IntegerAttr>(ir::vectorElementsAttr);
    Value pointer = passes::accessPointer(op), mask = passes::accessMask(op);
    if (!promised)
      return "";
    auto type = llvm::cast<RankedTensorType>(pointer.getType());
    LinearLayout layout = ir::getLinearLayout(type);
    auto dimension = op->getAttrOfType<IntegerAttr>(ir::vectorDimensionAttr);
    int dim = dimension ? dimension.getInt() : type.getRank() - 1;
    VectorRegisters vectors = vectorRegisters(layout, dim, llvm::Log2_64(promised.getInt()));
    if (vectors.numElements() < promised.getInt())
      return "the layout has no such vectors";
    int64_t bytes = pointeeBytes(type);
    for (size_t run = 0; run < evaluator.history[pointer].size(); ++run)
      for (int lane = 0; lane < layout.inSize(InDim::Lane); ++lane)
        for (int vector = 0; vector < vectors.numVectors(); ++vector) {
          const Elements &addresses = evaluator.history[pointer][run];
          auto element = [&](int index) {
            return layout.apply(vectors.registers[vector * vectors.numElements() + index], lane, 0);
          };
          int64_t first = addresses[element(0)];
          if (first % (bytes * vectors.numElements()))
            return "misaligned";
          for (int index = 1; index < vectors.numElements(); ++index) {
            if (addresses[element(index)] != first + index * bytes)
              return "not contiguous";
            if (mask && evaluator.history[mask][run][element(index)] !=
                            evaluator.history[mask][run][element(0)])
              return "mask differs";
          }
        }
    return "";
  }
};

/// Some seconds; TILEWRIGHT_FUZZ_KERNELS asks for more.
unsigned kernelCount() {
  const char *text = std::getenv("TILEWRIGHT_FUZZ_KERNELS");
  return text ? std::max(1, std::atoi(text)) : 600;
}

TEST_F(PipelineFuzzTest, KernelsMeanTheSameAfterAllPasses) {
  const unsigned numKernels = kernelCount();
  unsigned compared = 0, promises = 0, conversions = 0, scratchOps = 0, barriers = 0, buffers = 0;
  for (unsigned seed = 0; seed < numKernels; ++seed) {
    GeneratorOptions options;
    options.withMemory = true;
    Generator generator(&context, seed, options);
    OwningOpRef<ModuleOp> before = generator.make();
    if (seed % 3 == 0)
      buffers += BufferMaker(*before, seed).numBuffers;
    ASSERT_TRUE(succeeded(verify(*before))) << seed;
    OwningOpRef<ModuleOp> after = before->clone();
    if (seed % 5)
      (*after)->setAttr(ir::numWarpsAttr, Builder(&context).getI32IntegerAttr(1 << seed % 4));
    passes::PipelineOptions pipeline;
    pipeline.target = &target;
    ASSERT_TRUE(succeeded(passes::runPipeline(*after, pipeline))) << "seed " << seed;
    ASSERT_TRUE(succeeded(verify(*after))) << "seed " << seed;

    after->walk([&](Operation *op) {
      conversions += llvm::isa<ir::ConvertLayoutOp>(op);
      barriers += llvm::isa<ir::BarrierOp>(op);
      bool hasOffset = op->hasAttr(ir::scratchOffsetAttr);
      scratchOps += hasOffset;
      EXPECT_EQ(hasOffset, passes::scratchBytes(op) + passes::bufferBytes(op) > 0)
          << "seed " << seed;
    });
    for (int trial = 0; trial < 2; ++trial) {
      Evaluator expected = evaluate(*before, seed, trial);
      Evaluator actual = evaluate(*after, seed, trial);
      if (expected.hasPoison)
        continue;
      compared += !expected.memory.empty();
      ASSERT_TRUE(expected.memory == actual.memory) << "seed " << seed << " trial " << trial;
      after->walk([&](Operation *op) {
        if (!passes::accessPointer(op))
          return;
        promises += op->hasAttr(ir::vectorElementsAttr);
        EXPECT_EQ(brokenPromise(op, actual), "") << "seed " << seed;
      });
      ASSERT_FALSE(HasFailure());
    }
  }
  // The kernels must have been worth looking at.
  EXPECT_GT(compared, numKernels);
  EXPECT_GT(promises, numKernels / 2);
  EXPECT_GT(conversions, numKernels / 4);
  EXPECT_GT(scratchOps, numKernels / 10);
  EXPECT_GT(barriers, numKernels / 20);
  EXPECT_GT(buffers, numKernels / 4);
}

/// "Tested by deleting": no race with all barriers, and one without some of them.
TEST_F(PipelineFuzzTest, BarriersAreNeededAndEnough) {
  unsigned kernels = 0, barriers = 0, needed = 0, fences = 0, neededFences = 0;
  const unsigned numKernels = kernelCount() / 2;
  for (unsigned seed = 0; kernels < numKernels; ++seed) {
    GeneratorOptions options;
    options.withMemory = true;
    options.maxElements = 512;
    Generator generator(&context, seed, options);
    OwningOpRef<ModuleOp> module = generator.make();
    if (seed % 2)
      BufferMaker(*module, seed);
    (*module)->setAttr(ir::numWarpsAttr, Builder(&context).getI32IntegerAttr(1 << seed % 3));
    passes::PipelineOptions pipeline;
    pipeline.target = &target;
    ASSERT_TRUE(succeeded(passes::runPipeline(*module, pipeline))) << "seed " << seed;
    ++kernels;
    std::string race;
    evaluate(*module, seed, /*trial=*/1, &race);
    ASSERT_EQ(race, "") << "seed " << seed;

    auto inserted = [](ModuleOp module) {
      llvm::SmallVector<Operation *> ops;
      module.walk([&](Operation *op) {
        if (llvm::isa<ir::BarrierOp, ir::FenceAsyncOp>(op))
          ops.push_back(op);
      });
      return ops;
    };
    for (size_t index = 0, count = inserted(*module).size(); index < count; ++index) {
      OwningOpRef<ModuleOp> without = module->clone();
      Operation *removed = inserted(*without)[index];
      bool isFence = llvm::isa<ir::FenceAsyncOp>(removed);
      removed->erase();
      evaluate(*without, seed, /*trial=*/1, &race);
      ++(isFence ? fences : barriers);
      (isFence ? neededFences : needed) += !race.empty();
    }
  }
  // Not all: masks, untaken branches and empty loops make some idle.
  EXPECT_GT(barriers, numKernels / 10);
  EXPECT_GT(needed, barriers / 5);
  EXPECT_GT(fences, numKernels / 20);
  EXPECT_GT(neededFences, fences / 2);
  RecordProperty("barriers", std::to_string(needed) + " of " + std::to_string(barriers));
  RecordProperty("fences", std::to_string(neededFences) + " of " + std::to_string(fences));
}

} // namespace
