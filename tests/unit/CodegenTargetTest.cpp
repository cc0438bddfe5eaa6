//===- CodegenTargetTest.cpp - Targets by name ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/target/Targets.h"
#include "ir/support/Error.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(CodegenTarget, KnownNamesHaveTheirLimits) {
  EXPECT_EQ(getTargetInfo("sm_80").maxSharedBytesPerBlock, 166912);
  EXPECT_EQ(getTargetInfo("sm_86").maxSharedBytesPerBlock, 101376);
  EXPECT_EQ(getTargetInfo("sm_89").maxSharedBytesPerBlock, 101376);
  EXPECT_EQ(getTargetInfo("sm_90").maxSharedBytesPerBlock, 232448);
  EXPECT_EQ(getTargetInfo("sm_90a").maxSharedBytesPerBlock, 232448);
  for (const std::string &name : codegen::knownTargets())
    EXPECT_EQ(getTargetInfo(name).name, name);
}

TEST(CodegenTarget, Fp8ConversionsComeWithAda) {
  EXPECT_FALSE(getTargetInfo("sm_86").hasFp8Conversions);
  EXPECT_TRUE(getTargetInfo("sm_89").hasFp8Conversions);
  EXPECT_FALSE(getTargetInfo("sm_89").hasBf16AtomicAdd);
  EXPECT_TRUE(getTargetInfo("sm_90a").hasBf16AtomicAdd);
  EXPECT_EQ(getTargetInfo("sm_89").maxAtomicAddBytes, 4);
  EXPECT_EQ(getTargetInfo("sm_90").maxAtomicAddBytes, 16);
}

TEST(CodegenTarget, MatrixUnits) {
  EXPECT_TRUE(getTargetInfo("sm_80").hasMma && getTargetInfo("sm_80").hasCpAsync);
  EXPECT_FALSE(getTargetInfo("sm_86").hasFp8Mma);
  EXPECT_TRUE(getTargetInfo("sm_89").hasFp8Mma);
  EXPECT_FALSE(getTargetInfo("sm_89").hasTma);
  // Plain sm_90 is code for later chips too, which have no wgmma.
  EXPECT_TRUE(getTargetInfo("sm_90").hasTma);
  EXPECT_FALSE(getTargetInfo("sm_90").hasWgmma);
  EXPECT_TRUE(getTargetInfo("sm_90a").hasWgmma);
}

// What registersFor allows keeps the threads resident, and one unit more does not: a multiprocessor
// has four parts, so five warps are as many as eight for the part that holds two of them.
TEST(CodegenTarget, RegistersForThreadsKeepThemResident) {
  for (const std::string &name : codegen::knownTargets()) {
    TargetInfo target = getTargetInfo(name);
    int64_t unit = target.multiprocessor.registerUnit;
    for (int64_t warps = 1; warps * 32 <= target.multiprocessor.threads; ++warps) {
      int64_t registers = target.registersFor(warps * 32);
      auto byRegisters = [&](int64_t each) {
        return residentBlocks(target.multiprocessor, {32, each, 0}).byRegisters;
      };
      EXPECT_GE(byRegisters(registers), warps) << name << ", " << registers << " registers";
      EXPECT_LT(byRegisters(registers + unit), warps) << name << ", " << registers << " registers";
    }
  }
}

TEST(CodegenTarget, BareCapabilityMeansAllOfTheChip) {
  EXPECT_EQ(getTargetInfo("90").name, "sm_90a");
  EXPECT_EQ(getTargetInfo("80").name, "sm_80");
}

// Code of an "a" target runs on that chip alone, so newer chips get plain sm_90.
TEST(CodegenTarget, NewerChipsGetTheNewestGeneralTarget) {
  EXPECT_EQ(getTargetInfo("sm_100").name, "sm_90");
  EXPECT_EQ(getTargetInfo("sm_120a").name, "sm_90");
  EXPECT_EQ(getTargetInfo("100").name, "sm_90");
  EXPECT_EQ(getTargetInfo("sm_87").name, "sm_86");
}

TEST(CodegenTarget, OldAndMalformedNamesAreRefused) {
  for (const char *name : {"sm_75", "75", "sm_", "", "gfx90a", "sm_9x", "sm_80a", "sm_90000"})
    try {
      getTargetInfo(name);
      ADD_FAILURE() << name << " was accepted";
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ErrorCode::E0306) << name;
    }
}

TEST(CodegenTarget, ProcessorAndFeatures) {
  EXPECT_EQ(codegen::llvmProcessor(getTargetInfo("sm_90a")), "sm_90a");
  EXPECT_EQ(codegen::llvmFeatures(getTargetInfo("sm_80")), "+ptx85");
}
