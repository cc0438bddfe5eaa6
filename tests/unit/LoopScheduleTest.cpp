//===- LoopScheduleTest.cpp - Which schedules verify refuses --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: plans of each kind are legal; every wait, barrier, fence and release of them is
// needed, and so is each slot. So is what verify says where one is missing.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/LoopSchedule.h"

#include "mlir/Parser/Parser.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using Action = Step::Action;

namespace {

constexpr const char *layouts = R"(
#acc = #tw.layout<register = [1, 512, 8, 16, 32], lane = [2, 4, 64, 128, 256], warp = [1024, 2048], block = []>
#row = #tw.layout<register = [1, 2, 4, 1024, 2048], lane = [8, 16, 32, 64, 128], warp = [256, 512], block = []>
#mem = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 72, 144, 288, 512, 1024, 2048]>
)";

/// A product of two tiles that `load` loads at %i.
std::string product(const std::string &arguments, const std::string &loads) {
  return std::string(layouts) + R"(
module attributes {tw.num_stages = 3 : i32, tw.num_warps = 4 : i32} {
  func.func @f()" +
         arguments + R"(, %n: i32) -> tensor<64x64xf32, #acc> {
    %none = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<64x64xf32, #acc>) : i32 {
)" + loads +
         R"(
      %a = tw.alloc_shared %x : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %b = tw.alloc_shared %y : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %o = tw.wgmma %a, %b, %sum warps [2, 0] : !tw.buffer<64x64xf16, #mem>, <64x64xf16, #mem>, tensor<64x64xf32, #acc>
      scf.yield %o : tensor<64x64xf32, #acc>
    }
    return %out : tensor<64x64xf32, #acc>
  }
})";
}

std::string productByTma() {
  return product("%as: !tw.descriptor<64x64xf16>, %bs: !tw.descriptor<64x64xf16>", R"(
      %x = tw.descriptor_load %as[%c0, %i] : <64x64xf16> -> tensor<64x64xf16, #row>
      %y = tw.descriptor_load %bs[%i, %c0] : <64x64xf16> -> tensor<64x64xf16, #row>)");
}

std::string productByCpAsync() {
  return product("%as: tensor<64x64x!tw.ptr<f16>, #row>, %bs: tensor<64x64x!tw.ptr<f16>, #row>", R"(
      %off = tw.splat %i : i32 -> tensor<64x64xi32, #row>
      %p = tw.addptr %as, %off : tensor<64x64x!tw.ptr<f16>, #row>, tensor<64x64xi32, #row>
      %q = tw.addptr %bs, %off : tensor<64x64x!tw.ptr<f16>, #row>, tensor<64x64xi32, #row>
      %x = tw.load %p {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #row> -> tensor<64x64xf16, #row>
      %y = tw.load %q {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #row> -> tensor<64x64xf16, #row>)");
}

std::string stream() {
  return std::string(layouts) + R"(
module attributes {tw.num_warps = 4 : i32} {
  func.func @f(%as: tensor<64x64x!tw.ptr<f16>, #row>, %n: i32) -> tensor<64x64xf16, #row> {
    %none = arith.constant dense<0.0> : tensor<64x64xf16, #row>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<64x64xf16, #row>) : i32 {
      %off = tw.splat %i : i32 -> tensor<64x64xi32, #row>
      %p = tw.addptr %as, %off : tensor<64x64x!tw.ptr<f16>, #row>, tensor<64x64xi32, #row>
      %x = tw.load %p {tw.vector_elements = 8 : i32} : tensor<64x64x!tw.ptr<f16>, #row> -> tensor<64x64xf16, #row>
      %o = arith.addf %sum, %x : tensor<64x64xf16, #row>
      scf.yield %o : tensor<64x64xf16, #row>
    } {tw.loop_stages = 3 : i32}
    return %out : tensor<64x64xf16, #row>
  }
})";
}

/// A state that is stored in each iteration.
std::string recurrence() {
  return std::string(layouts) + R"(
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 4 : i32} {
  func.func @f(%in: !tw.ptr<f32>, %out: !tw.ptr<f32>, %init: tensor<64x64xf32, #acc>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 iter_args(%state = %init) -> (tensor<64x64xf32, #acc>) : i32 {
      %p = tw.addptr %in, %i : !tw.ptr<f32>, i32
      %x = tw.load %p : !tw.ptr<f32> -> f32
      %y = tw.splat %x : f32 -> tensor<64x64xf32, #acc>
      %o = arith.addf %state, %y : tensor<64x64xf32, #acc>
      tw.store %out, %x : !tw.ptr<f32>, f32
      scf.yield %o : tensor<64x64xf32, #acc>
    }
    return
  }
})";
}

/// Two products in a chain.
std::string attention() {
  return std::string(layouts) + R"(
module attributes {tw.num_stages = 2 : i32, tw.num_warps = 4 : i32} {
  func.func @f(%q: !tw.buffer<64x64xf16, #mem>, %ks: !tw.descriptor<64x64xf16>, %vs: !tw.descriptor<64x64xf16>, %n: i32) -> tensor<64x64xf32, #acc> {
    %none = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
    %c0 = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %out = scf.for %i = %c0 to %n step %step iter_args(%sum = %none) -> (tensor<64x64xf32, #acc>) : i32 {
      %x = tw.descriptor_load %ks[%i, %c0] : <64x64xf16> -> tensor<64x64xf16, #row>
      %k = tw.alloc_shared %x : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %y = tw.descriptor_load %vs[%i, %c0] : <64x64xf16> -> tensor<64x64xf16, #row>
      %v = tw.alloc_shared %y : tensor<64x64xf16, #row> -> : <64x64xf16, #mem>
      %s = tw.wgmma %q, %k, %none warps [2, 0] : !tw.buffer<64x64xf16, #mem>, <64x64xf16, #mem>, tensor<64x64xf32, #acc>
      %w = arith.truncf %s : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
      %o = tw.wgmma %w, %v, %sum warps [2, 0] : tensor<64x64xf16, #acc>, <64x64xf16, #mem>, tensor<64x64xf32, #acc>
      scf.yield %o : tensor<64x64xf32, #acc>
    }
    return %out : tensor<64x64xf32, #acc>
  }
})";
}

/// A GPU with TMA; its shared memory decides which kinds fit.
TargetInfo makeTarget(int64_t sharedBytes) {
  TargetInfo target = getTargetInfo("sm_90a");
  target.maxSharedBytesPerBlock = sharedBytes;
  target.multiprocessor.sharedBytes = sharedBytes + target.multiprocessor.reservedSharedBytes;
  return target;
}

class LoopScheduleTest : public ::testing::Test {
protected:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;

  LoopScheduleTest() {
    context.loadDialect<ir::TWDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect,
                        scf::SCFDialect>();
  }

  LoopSchedule planOf(const std::string &text, int numWarps = 4, int64_t sharedBytes = 232448,
                      int64_t otherSharedBytes = 0) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    scf::ForOp loop = innermostLoops(*module).front();
    TargetInfo target = makeTarget(sharedBytes);
    LoopResources resources = resourcesFor(loop, target);
    resources.numWarps = numWarps;
    resources.otherSharedBytes += otherSharedBytes;
    LoopPlan made = plan(analyse(loop, target), resources);
    EXPECT_TRUE(made.schedule.has_value());
    EXPECT_EQ(verify(*made.schedule), "");
    return *made.schedule;
  }

  /// Where a block of either kind takes more than half of the memory, products overlap.
  LoopSchedule planChained(int numWarps) {
    return planOf(attention(), numWarps, /*sharedBytes=*/100 * 1024,
                  /*otherSharedBytes=*/60 * 1024);
  }
};

Step &stepOf(LoopSchedule &schedule, Action action, int which = 0) {
  for (Step &step : schedule.steps)
    if (step.action == action && which-- == 0)
      return step;
  ADD_FAILURE() << "no such step";
  return schedule.steps.front();
}

void replaceFirst(std::string &text, const std::string &from, const std::string &to) {
  text.replace(text.find(from), from.size(), to);
}

/// What verify says without the step.
std::string without(LoopSchedule schedule, Action action, int which = 0) {
  schedule.steps.erase(&stepOf(schedule, action, which));
  return verify(schedule);
}

constexpr const char *mayBeRead = "a slot of ring 0 is filled while it may be read";
constexpr const char *notArrived = "a slot of ring 0 is read before its tile has arrived";
constexpr const char *notVisible = "a slot of ring 0 is read before it is visible";

TEST_F(LoopScheduleTest, PlainNeedsItsWaitsAndItsBarrier) {
  LoopSchedule schedule = planOf(productByTma());
  ASSERT_EQ(schedule.kind, LoopKind::Plain);
  EXPECT_EQ(without(schedule, Action::WaitTiles), notArrived);
  EXPECT_EQ(without(schedule, Action::WaitProducts), mayBeRead);
  EXPECT_EQ(without(schedule, Action::Barrier), mayBeRead);
  EXPECT_EQ(without(schedule, Action::Fill), "a slot of ring 0 is read without its tile");
}

TEST_F(LoopScheduleTest, PlainNeedsItsSlotsUnlessItWaitsForEachProduct) {
  LoopSchedule schedule = planOf(productByTma());
  --schedule.rings.front().slots;
  EXPECT_EQ(verify(schedule), mayBeRead);
  stepOf(schedule, Action::WaitProducts).pending = 0;
  EXPECT_EQ(verify(schedule), "");
}

TEST_F(LoopScheduleTest, ShortMemoryTakesASecondBarrier) {
  // Three slots of two tiles of 8 KB, and no fourth.
  LoopSchedule schedule = planOf(productByTma(), /*numWarps=*/4, /*sharedBytes=*/50 * 1024);
  EXPECT_EQ(schedule.slots(), 3);
  EXPECT_EQ(without(schedule, Action::Barrier), mayBeRead);
}

TEST_F(LoopScheduleTest, CopiesByThreadsMustBecomeVisible) {
  LoopSchedule schedule = planOf(productByCpAsync());
  EXPECT_EQ(without(schedule, Action::WaitCopies), notArrived);
  EXPECT_EQ(without(schedule, Action::Barrier), notVisible);
  ++stepOf(schedule, Action::WaitCopies).pending;
  EXPECT_EQ(verify(schedule), notArrived);
}

TEST_F(LoopScheduleTest, RowsThatGoThroughRegistersAreLoadedAndStored) {
  for (int stages : {2, 3}) {
    std::string text = productByCpAsync();
    replaceFirst(text, "#mem =",
                 "#column = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 0], "
                 "block = []>\n#line = #tw.shared<offset = [1, 2, 4, 8, 16, 32]>\n#mem =");
    replaceFirst(text, "num_stages = 3", "num_stages = " + std::to_string(stages));
    replaceFirst(text, "%n: i32",
                 "%rs: tensor<64x1x!tw.ptr<f16>, #column>, "
                 "%os: tensor<64x1x!tw.ptr<f16>, #column>, %n: i32");
    replaceFirst(text, "%o = tw.wgmma", R"(
      %offset = tw.splat %i : i32 -> tensor<64x1xi32, #column>
      %t = tw.addptr %rs, %offset : tensor<64x1x!tw.ptr<f16>, #column>, tensor<64x1xi32, #column>
      %r = tw.load %t : tensor<64x1x!tw.ptr<f16>, #column> -> tensor<64x1xf16, #column>
      %m = tw.alloc_shared %r : tensor<64x1xf16, #column> -> : <64x1xf16, #line>
      %z = tw.shared_load %m : <64x1xf16, #line> -> tensor<64x1xf16, #column>
      tw.store %os, %z : tensor<64x1x!tw.ptr<f16>, #column>, tensor<64x1xf16, #column>
      %o = tw.wgmma)");
    LoopSchedule schedule = planOf(text);
    ASSERT_EQ(schedule.loads.size(), 3U);
    EXPECT_TRUE(schedule.loads[2].goesThroughRegisters);
    EXPECT_EQ(without(schedule, Action::Load), notVisible);
    EXPECT_EQ(without(schedule, Action::Store), notVisible);
    EXPECT_EQ(without(schedule, Action::Barrier), notVisible);
    // Where an iteration lies between, the registers are stored right before they are loaded.
    EXPECT_EQ(stepOf(schedule, Action::Store).stage, stages - 2);
    EXPECT_EQ(&stepOf(schedule, Action::Store) < &stepOf(schedule, Action::Load), stages > 2);
  }
}

/// So many iterations of 64.
std::string shortened(std::string text, int iterations) {
  replaceFirst(text, "%c0 =",
               "%end = arith.constant " + std::to_string(64 * iterations) + " : i32\n    %c0 =");
  replaceFirst(text, "to %n", "to %end");
  return text;
}

TEST_F(LoopScheduleTest, ShortLoopsAreFilledBefore) {
  for (const std::string &text : {productByTma(), productByCpAsync(), stream()}) {
    LoopSchedule schedule = planOf(shortened(text, /*iterations=*/2));
    EXPECT_EQ(schedule.iterationsFilledBefore(), 2);
    EXPECT_EQ(schedule.distance, 2);
    EXPECT_EQ(schedule.slots(), 2);
    EXPECT_EQ(without(schedule, schedule.hasTma() ? Action::WaitTiles : Action::WaitCopies),
              notArrived);
    EXPECT_EQ(without(schedule, Action::Fill), "a slot of ring 0 is read without its tile");
    --schedule.rings.front().slots;
    EXPECT_EQ(verify(schedule), "ring 0 has fewer slots than are filled before the loop");
  }
  LoopSchedule byThreads = planOf(shortened(productByCpAsync(), /*iterations=*/3));
  EXPECT_EQ(byThreads.iterationsFilledBefore(), 3);
  EXPECT_EQ(without(byThreads, Action::Barrier), notVisible);
  // Of three stages there is no slot for a fourth iteration.
  byThreads = planOf(shortened(productByCpAsync(), /*iterations=*/4));
  EXPECT_EQ(byThreads.iterationsFilledBefore(), 0);
}

TEST_F(LoopScheduleTest, CopiesMustBecomeVisibleToProductsInBranches) {
  std::string text = productByCpAsync();
  replaceFirst(text, "%n: i32", "%n: i32, %c: i1");
  replaceFirst(text, "%o = tw.wgmma",
               "%o = scf.if %c -> (tensor<64x64xf32, #acc>) {\n      %p0 = tw.wgmma");
  replaceFirst(text, "scf.yield %o",
               "scf.yield %p0 : tensor<64x64xf32, #acc>\n      } else {\n      "
               "scf.yield %sum : tensor<64x64xf32, #acc>\n      }\n      scf.yield %o");
  LoopSchedule schedule = planOf(text);
  EXPECT_EQ(verify(schedule), "");
  EXPECT_EQ(without(schedule, Action::Barrier), notVisible);
}

TEST_F(LoopScheduleTest, StreamsWaitForTheirOwnCopiesOnly) {
  LoopSchedule schedule = planOf(stream());
  ASSERT_EQ(schedule.kind, LoopKind::Stream);
  EXPECT_EQ(schedule.rings.front().release, ir::SlotRelease::None);
  EXPECT_EQ(without(schedule, Action::WaitCopies), notArrived);
  --schedule.rings.front().slots;
  EXPECT_EQ(verify(schedule), mayBeRead);
}

TEST_F(LoopScheduleTest, AddressesAreLoadedBeforeTheCopies) {
  std::string text = stream();
  replaceFirst(text, "%n: i32", "%n: i32, %places: !tw.ptr<i32>");
  replaceFirst(text, "tw.splat %i :", "tw.splat %at :");
  replaceFirst(text, "%off =",
               "%place = tw.addptr %places, %i : !tw.ptr<i32>, i32\n"
               "      %at = tw.load %place : !tw.ptr<i32> -> i32\n      %off =");
  LoopSchedule schedule = planOf(text);
  ASSERT_EQ(schedule.addressLoads.size(), 1u);
  EXPECT_EQ(verify(schedule), "");
  EXPECT_EQ(schedule.rings.front().fillStage, 1);
  EXPECT_EQ(without(schedule, Action::LoadAddresses), "loads for addresses do not happen once");
  stepOf(schedule, Action::LoadAddresses).stage = 1;
  EXPECT_EQ(verify(schedule), "loads for addresses are not ahead of what needs them");
}

TEST_F(LoopScheduleTest, RecurrencesLoadOnce) {
  LoopSchedule schedule = planOf(recurrence());
  ASSERT_EQ(schedule.kind, LoopKind::EarlyLoads);
  EXPECT_TRUE(schedule.rings.empty());
  const std::string notOnce = "loads into registers do not happen once";
  EXPECT_EQ(without(schedule, Action::LoadAhead), notOnce);
  schedule.steps.push_back(stepOf(schedule, Action::LoadAhead));
  EXPECT_EQ(verify(schedule), notOnce);
  schedule.steps.pop_back();
  schedule.registerLoads.clear();
  EXPECT_EQ(verify(schedule), "nothing is copied ahead");
}

TEST_F(LoopScheduleTest, ChainedNeedsItsReleases) {
  LoopSchedule schedule = planChained(/*numWarps=*/8);
  ASSERT_EQ(schedule.kind, LoopKind::Chained);
  EXPECT_EQ(without(schedule, Action::Release, 0), mayBeRead);
  EXPECT_EQ(without(schedule, Action::Release, 1),
            "a slot of ring 1 is filled while it may be read");
  EXPECT_EQ(without(schedule, Action::WaitTiles, 1),
            "a slot of ring 1 is read before its tile has arrived");
  EXPECT_EQ(without(schedule, Action::WaitProducts),
            "a slot of ring 0 is released before it has been read");
}

TEST_F(LoopScheduleTest, ChainedOfOneWarpgroupNeedsItsBarrier) {
  LoopSchedule schedule = planChained(/*numWarps=*/4);
  ASSERT_EQ(schedule.kind, LoopKind::Chained);
  EXPECT_EQ(without(schedule, Action::Barrier), mayBeRead);
}

TEST_F(LoopScheduleTest, InTurnReleasesWithinTheIteration) {
  LoopSchedule schedule = planOf(attention());
  ASSERT_EQ(schedule.kind, LoopKind::InTurn);
  ASSERT_EQ(schedule.slots(), 1);
  EXPECT_EQ(without(schedule, Action::Release, 0), mayBeRead);
  EXPECT_EQ(without(schedule, Action::Release, 1),
            "a slot of ring 1 is filled while it may be read");
}

TEST_F(LoopScheduleTest, EachOpHasOnePlace) {
  LoopSchedule schedule = planOf(productByTma());
  EXPECT_EQ(without(schedule, Action::Run), "tw.wgmma has no place");
  schedule.steps.push_back(stepOf(schedule, Action::Run));
  EXPECT_EQ(verify(schedule), "tw.wgmma is placed twice");
}

TEST_F(LoopScheduleTest, RingsFitWhatFillsThem) {
  LoopSchedule tma = planOf(productByTma());
  tma.rings.front().release = ir::SlotRelease::None;
  EXPECT_EQ(verify(tma), "nothing releases the slots of ring 0, which all threads read");
  tma.rings.front().slots = 0;
  EXPECT_EQ(verify(tma), "ring 0 has no slots");
  tma = planOf(productByTma());
  tma.rings.front().fillStage = 3;
  EXPECT_EQ(verify(tma), "ring 0 is used before it is filled");
  tma.distance = 0;
  EXPECT_EQ(verify(tma), "copies are not ahead of their use");
  tma = planOf(productByTma());
  ++stepOf(tma, Action::Address).stage;
  EXPECT_EQ(verify(tma), "the addresses of ring 0 are those of another iteration");
  tma = planOf(productByTma());
  tma.loads.clear();
  EXPECT_EQ(verify(tma), "nothing is copied ahead");
  LoopSchedule threads = planOf(productByCpAsync());
  threads.rings.front().release = ir::SlotRelease::Arrivals;
  EXPECT_EQ(verify(threads), "ring 0 is filled by threads that wait for no arrivals");
}

} // namespace
