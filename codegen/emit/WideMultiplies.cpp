//===- WideMultiplies.cpp - Addresses beside wgmma ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: NVPTX's instruction selection makes `mul.wide.s32 %rd, %r, 2` of the sign
// extension and the shift by which an index becomes a distance in bytes. In loops with
// wgmma this pass takes them apart again: `cvt.s64.s32`, `shl.b64`.
//
// Why: the assembler makes IMAD.WIDE of the one form, and LEA, LEA.HI of the other.
// While a warpgroup's product runs, an IMAD.WIDE takes some 30 cycles on an H100, an LEA
// what it takes elsewhere: a persistent product whose loop computes 12 addresses (128x256x64,
// 8 warps, 3 stages) lost 7 % of its speed to them (2026-11-24).
//
// How: finds the instructions by the names of their opcodes, because the opcodes are not
// part of LLVM's public headers.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/MachinePasses.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

namespace tilewright::codegen {
namespace {

bool isWgmma(const llvm::MachineInstr &instruction) {
  return instruction.isInlineAsm() &&
         llvm::StringRef(instruction.getOperand(0).getSymbolName()).contains("wgmma.mma_async");
}

/// The blocks of the innermost loops around wgmma.
llvm::SetVector<llvm::MachineBasicBlock *> blocksOfProducts(llvm::MachineFunction &function,
                                                            llvm::MachineLoopInfo &loops) {
  llvm::SetVector<llvm::MachineBasicBlock *> result;
  for (llvm::MachineBasicBlock &block : function)
    if (llvm::MachineLoop *loop = loops.getLoopFor(&block))
      if (llvm::any_of(block, isWgmma))
        result.insert(loop->block_begin(), loop->block_end());
  return result;
}

class WideMultiplySplitting : public llvm::MachineFunctionPass {
public:
  WideMultiplySplitting() : MachineFunctionPass(identity) {}

  llvm::StringRef getPassName() const override { return "wide multiply splitting"; }

  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    auto &loops = getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI();
    llvm::SetVector<llvm::MachineBasicBlock *> blocks = blocksOfProducts(function, loops);
    if (blocks.empty())
      return false;
    const llvm::TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    Opcodes opcodes = findOpcodes(instructions);
    llvm::SmallVector<llvm::MachineInstr *> multiplies;
    for (llvm::MachineBasicBlock *block : blocks)
      for (llvm::MachineInstr &instruction : *block)
        if (opcodes.extensionOf(instruction) &&
            llvm::isPowerOf2_64(instruction.getOperand(2).getImm()))
          multiplies.push_back(&instruction);
    for (llvm::MachineInstr *multiply : multiplies)
      split(*multiply, *opcodes.extensionOf(*multiply), opcodes.shift, instructions);
    return !multiplies.empty();
  }

private:
  struct Opcodes {
    unsigned shift = 0, signExtension = 0, zeroExtension = 0;
    llvm::SmallVector<unsigned, 2> ofSigned, ofUnsigned;

    /// What extends the operand of a wide multiplication by a constant.
    std::optional<unsigned> extensionOf(const llvm::MachineInstr &instruction) const {
      if (llvm::is_contained(ofSigned, instruction.getOpcode()))
        return signExtension;
      if (llvm::is_contained(ofUnsigned, instruction.getOpcode()))
        return zeroExtension;
      return std::nullopt;
    }
  };

  static Opcodes findOpcodes(const llvm::TargetInstrInfo &instructions) {
    Opcodes result;
    for (unsigned opcode = 0; opcode < instructions.getNumOpcodes(); ++opcode) {
      llvm::StringRef name = instructions.getName(opcode);
      if (name == "SHLi64ri")
        result.shift = opcode;
      else if (name == "CVT_s64_s32")
        result.signExtension = opcode;
      else if (name == "CVT_u64_u32")
        result.zeroExtension = opcode;
      else if (name == "MULWIDES64Imm" || name == "MULWIDES64Imm64")
        result.ofSigned.push_back(opcode);
      else if (name == "MULWIDEU64Imm" || name == "MULWIDEU64Imm64")
        result.ofUnsigned.push_back(opcode);
    }
    return result;
  }

  static void split(llvm::MachineInstr &multiply, unsigned extension, unsigned shift,
                    const llvm::TargetInstrInfo &instructions) {
    constexpr int64_t noRounding = 0;
    llvm::MachineBasicBlock &block = *multiply.getParent();
    llvm::MachineRegisterInfo &registers = block.getParent()->getRegInfo();
    llvm::Register result = multiply.getOperand(0).getReg();
    llvm::Register extended = registers.createVirtualRegister(registers.getRegClass(result));
    BuildMI(block, multiply, multiply.getDebugLoc(), instructions.get(extension), extended)
        .add(multiply.getOperand(1))
        .addImm(noRounding);
    BuildMI(block, multiply, multiply.getDebugLoc(), instructions.get(shift), result)
        .addReg(extended)
        .addImm(llvm::Log2_64(multiply.getOperand(2).getImm()));
    multiply.eraseFromParent();
  }

  static char identity;
};

char WideMultiplySplitting::identity = 0;

} // namespace

llvm::MachineFunctionPass *createWideMultiplySplitting() { return new WideMultiplySplitting(); }

} // namespace tilewright::codegen
