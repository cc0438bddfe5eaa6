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

#include "TileFuzzSupport.h"

#include "ir/layout/LayoutMemory.h"
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
/// their own and read it, all threads alike (ScratchSize.h).
class RaceDetector {
public:
  RaceDetector(Evaluator &evaluator, int numWarps) : evaluator(evaluator), numWarps(numWarps) {}
  std::string race;

  void observe(Operation *op) {
    if (llvm::isa<ir::BarrierOp>(op))
      return nextEpoch();
    if (Value pointer = passes::accessPointer(op))
      observeGlobal(op, pointer);
    auto offset = op->getAttrOfType<IntegerAttr>(ir::scratchOffsetAttr);
    if (!offset)
      return;
    int64_t end = offset.getInt() + passes::scratchBytes(op);
    for (int64_t byte = offset.getInt(); byte < end; ++byte)
      touch(op, -1 - byte, everyone, /*isWrite=*/true);
    nextEpoch();
    for (int64_t byte = offset.getInt(); byte < end; ++byte)
      touch(op, -1 - byte, everyone, /*isWrite=*/false);
  }

private:
  /// Stands for all threads at once.
  static constexpr int everyone = -1;
  struct Place {
    std::set<int> readers, writers;
    /// Ops may write a place by all threads together without racing themselves.
    Operation *lastWriter = nullptr;
  };
  Evaluator &evaluator;
  int numWarps;
  std::map<int64_t, Place> places;

  void nextEpoch() { places.clear(); }

  static bool othersIn(const std::set<int> &threads, int thread) {
    return llvm::any_of(threads, [&](int other) { return other != thread || other == everyone; });
  }

  void touch(Operation *op, int64_t address, int thread, bool isWrite) {
    Place &place = places[address];
    bool meets = othersIn(place.writers, thread) && place.lastWriter != op;
    if (isWrite)
      meets |= othersIn(place.readers, thread);
    if (meets && race.empty())
      race = op->getName().getStringRef().str() + " at " + std::to_string(address);
    (isWrite ? place.writers : place.readers).insert(thread);
    if (isWrite)
      place.lastWriter = op;
  }

  void observeGlobal(Operation *op, Value pointer) {
    bool isWrite = llvm::isa<ir::StoreOp>(op);
    auto type = llvm::cast<RankedTensorType>(pointer.getType());
    LinearLayout layout = ir::getLinearLayout(type);
    HardwareIndex copies = duplicateThreadMasks(layout);
    Value mask = passes::accessMask(op);
    int bytes = pointeeBytes(type);
    for (int warp = 0; warp < numWarps; ++warp)
      for (int lane = 0; lane < 32; ++lane) {
        // One of the threads that hold copies stores.
        if (isWrite && ((lane & copies[InDim::Lane]) | (warp & copies[InDim::Warp])))
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

class PipelineFuzzTest : public ::testing::Test {
protected:
  PipelineFuzzTest() {
    context.loadDialect<ir::TWDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                        func::FuncDialect>();
    target.name = "sm_90a";
    target.maxSharedBytesPerBlock = 232448;
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
  unsigned compared = 0, promises = 0, conversions = 0, scratchOps = 0, barriers = 0;
  for (unsigned seed = 0; seed < numKernels; ++seed) {
    GeneratorOptions options;
    options.withMemory = true;
    Generator generator(&context, seed, options);
    OwningOpRef<ModuleOp> before = generator.make();
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
      EXPECT_EQ(hasOffset, passes::scratchBytes(op) > 0) << "seed " << seed;
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
}

/// "Tested by deleting": no race with all barriers, and one without some of them.
TEST_F(PipelineFuzzTest, BarriersAreNeededAndEnough) {
  unsigned kernels = 0, barriers = 0, needed = 0;
  const unsigned numKernels = kernelCount() / 2;
  for (unsigned seed = 0; kernels < numKernels; ++seed) {
    GeneratorOptions options;
    options.withMemory = true;
    options.maxElements = 512;
    Generator generator(&context, seed, options);
    OwningOpRef<ModuleOp> module = generator.make();
    (*module)->setAttr(ir::numWarpsAttr, Builder(&context).getI32IntegerAttr(1 << seed % 3));
    passes::PipelineOptions pipeline;
    pipeline.target = &target;
    ASSERT_TRUE(succeeded(passes::runPipeline(*module, pipeline))) << "seed " << seed;
    ++kernels;
    std::string race;
    evaluate(*module, seed, /*trial=*/1, &race);
    ASSERT_EQ(race, "") << "seed " << seed;

    llvm::SmallVector<Operation *> inserted;
    module->walk([&](ir::BarrierOp barrier) { inserted.push_back(barrier); });
    for (size_t index = 0; index < inserted.size(); ++index) {
      OwningOpRef<ModuleOp> without = module->clone();
      llvm::SmallVector<Operation *> clones;
      without->walk([&](ir::BarrierOp barrier) { clones.push_back(barrier); });
      clones[index]->erase();
      evaluate(*without, seed, /*trial=*/1, &race);
      ++barriers;
      needed += !race.empty();
    }
  }
  // Not all: masks, untaken branches and empty loops make some idle.
  EXPECT_GT(barriers, numKernels / 10);
  EXPECT_GT(needed, barriers / 5);
  RecordProperty("barriers", std::to_string(needed) + " of " + std::to_string(barriers));
}

} // namespace
