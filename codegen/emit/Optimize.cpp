//===- Optimize.cpp - LLVM's passes over a kernel -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Optimize.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Local.h"

namespace tilewright::codegen {

/// |x| of f16 as abs.f16, which LLVM 19 does not know: it widens to f32 and rounds back, two
/// conversions at a quarter of the usual rate. After its passes, which make f16 of the f32
/// that a kernel was written in, and know |x|.
static void selectHalfAbsolute(llvm::Module &module) {
  llvm::Type *i16 = llvm::Type::getInt16Ty(module.getContext());
  llvm::InlineAsm *absolute = llvm::InlineAsm::get(
      llvm::FunctionType::get(i16, {i16}, /*isVarArg=*/false), "abs.f16 $0, $1;", "=h,h",
      /*hasSideEffects=*/false);
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::fabs || !call->getType()->isHalfTy())
        continue;
      llvm::IRBuilder<> builder(call);
      llvm::Value *bits = builder.CreateBitCast(call->getArgOperand(0), i16);
      llvm::Value *magnitude = builder.CreateCall(absolute, {bits});
      call->replaceAllUsesWith(builder.CreateBitCast(magnitude, call->getType()));
      call->eraseFromParent();
    }
}

/// The sign of one number on another as copysign, one instruction. LLVM 19 does not know it: it
/// shifts the sign down, compares, negates and selects. After its passes, which know what it means.
static void selectCopiedSigns(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::copysign)
        continue;
      llvm::Type *type = call->getType();
      if (!type->isFloatTy() && !type->isDoubleTy())
        continue;
      llvm::InlineAsm *copySign = llvm::InlineAsm::get(
          llvm::FunctionType::get(type, {type, type}, /*isVarArg=*/false),
          type->isFloatTy() ? "copysign.f32 $0, $1, $2;" : "copysign.f64 $0, $1, $2;",
          type->isFloatTy() ? "=f,f,f" : "=d,d,d", /*hasSideEffects=*/false);
      llvm::IRBuilder<> builder(call);
      call->replaceAllUsesWith(
          builder.CreateCall(copySign, {call->getArgOperand(1), call->getArgOperand(0)}));
      call->eraseFromParent();
    }
}

/// A choice between two conditions as what one instruction does with three predicates. LLVM 19
/// makes numbers of them, selects, and compares: six. After its passes, which would undo it.
static void combineConditions(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      if (!select || !select->getType()->isIntegerTy(1) ||
          llvm::isa<llvm::Constant>(select->getTrueValue()) ||
          llvm::isa<llvm::Constant>(select->getFalseValue()))
        continue;
      llvm::IRBuilder<> builder(select);
      llvm::Value *condition = builder.CreateFreeze(select->getCondition());
      // What is not chosen may be undefined.
      llvm::Value *first =
          builder.CreateAnd(condition, builder.CreateFreeze(select->getTrueValue()));
      llvm::Value *second = builder.CreateAnd(builder.CreateNot(condition),
                                              builder.CreateFreeze(select->getFalseValue()));
      select->replaceAllUsesWith(builder.CreateOr(first, second));
      select->eraseFromParent();
    }
}

/// The operands of the sum that ends in `add`, as far as nothing else uses what is between.
static void collectSummands(llvm::Instruction *add,
                            llvm::SmallVectorImpl<llvm::Value *> &summands) {
  for (llvm::Value *operand : add->operands()) {
    auto *inner = llvm::dyn_cast<llvm::BinaryOperator>(operand);
    bool isWithin = inner && inner->getOpcode() == llvm::Instruction::Add && inner->hasOneUse() &&
                    inner->getParent() == add->getParent();
    if (isWithin)
      collectSummands(inner, summands);
    else
      summands.push_back(operand);
  }
}

/// How many conditions hold as a tree of sums again, in which LLVM has them one after the other:
/// each of them waits for the one before. Sums of addresses are better off as LLVM leaves them.
static void balanceCounts(llvm::Module &module) {
  constexpr size_t leastSummands = 4;
  auto isSumWithin = [](llvm::Instruction &add) {
    auto *user = add.hasOneUse() ? llvm::dyn_cast<llvm::Instruction>(add.user_back()) : nullptr;
    return user && user->getOpcode() == llvm::Instruction::Add &&
           user->getParent() == add.getParent();
  };
  auto isCondition = [](llvm::Value *value) {
    auto *cast = llvm::dyn_cast<llvm::ZExtInst>(value);
    return cast && cast->getSrcTy()->isIntegerTy(1);
  };
  for (llvm::Function &function : module) {
    llvm::SmallVector<llvm::Instruction *> sums;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (instruction.getOpcode() == llvm::Instruction::Add && !isSumWithin(instruction))
        sums.push_back(&instruction);
    for (llvm::Instruction *sum : sums) {
      llvm::SmallVector<llvm::Value *> summands;
      collectSummands(sum, summands);
      if (summands.size() < leastSummands ||
          llvm::count_if(summands, isCondition) * 2 < static_cast<int64_t>(summands.size()))
        continue;
      llvm::IRBuilder<> builder(sum);
      for (size_t next = 0; next + 1 < summands.size(); next += 2)
        summands.push_back(builder.CreateAdd(summands[next], summands[next + 1]));
      sum->replaceAllUsesWith(summands.back());
      llvm::RecursivelyDeleteTriviallyDeadInstructions(sum);
    }
  }
}

void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // Vectors of a thread are chosen by the layouts; a vectoriser would only undo
  // the packing.
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
  selectHalfAbsolute(module);
  selectCopiedSigns(module);
  combineConditions(module);
  balanceCounts(module);
}

} // namespace tilewright::codegen
