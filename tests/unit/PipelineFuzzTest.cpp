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

using namespace mlir;
using namespace tilewright;
using namespace tilewright::testing;

namespace {

class PipelineFuzzTest : public ::testing::Test {
protected:
  PipelineFuzzTest() {
    context.loadDialect<ir::TWDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, func::FuncDialect>();
    target.name = "sm_90a";
    target.maxSharedBytesPerBlock = 232448;
  }
  MLIRContext context;
  TargetInfo target;

  static Evaluator evaluate(ModuleOp module, unsigned seed, int trial) {
    func::FuncOp function = *module.getOps<func::FuncOp>().begin();
    std::mt19937 random(seed + trial);
    Evaluator evaluator(nullptr);
    evaluator.programId = trial * 3;
    for (BlockArgument argument : function.getArguments()) {
      int64_t value = std::uniform_int_distribution<int64_t>(0, 40)(random);
      if (auto attr = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), ir::divisibilityAttr))
        value *= attr.getInt();
      // Buffers far apart, as different tensors are.
      if (llvm::isa<ir::PointerType>(argument.getType()))
        value += int64_t(argument.getArgNumber() + 1) << 40;
      evaluator.set(argument, {value});
    }
    evaluator.run(function.getBody().front());
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
            if (mask && evaluator.history[mask][run][element(index)] != evaluator.history[mask][run][element(0)])
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

} // namespace
