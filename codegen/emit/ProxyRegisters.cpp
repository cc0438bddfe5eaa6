//===- ProxyRegisters.cpp - Machine code without proxy registers ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: erases the ProxyReg instructions that NVPTX's instruction selection makes
// for results of calls and for every bitcast from i16 to a 16-bit float.
//
// Why here: LLVM 19 erases them itself right before register allocation, but walks
// over the whole function for each. A kernel with large tiles of 16-bit floats has
// thousands, and spent three quarters of its compile time on that. After this pass
// LLVM's finds nothing to do.
//
// How: finds the instructions by the names of their opcodes, because the opcodes
// are not part of LLVM's public headers.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/MachinePasses.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

namespace tilewright::codegen {
namespace {

class ProxyRegisterErasure : public llvm::MachineFunctionPass {
public:
  ProxyRegisterErasure() : MachineFunctionPass(identity) {}

  llvm::StringRef getPassName() const override { return "proxy register erasure"; }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    const llvm::TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    llvm::MachineRegisterInfo &registers = function.getRegInfo();
    llvm::SmallVector<llvm::MachineInstr *> proxies;
    for (llvm::MachineBasicBlock &block : function)
      for (llvm::MachineInstr &instruction : block)
        if (instructions.getName(instruction.getOpcode()).starts_with("ProxyReg"))
          proxies.push_back(&instruction);
    for (llvm::MachineInstr *proxy : proxies) {
      llvm::Register source = proxy->getOperand(1).getReg();
      // The source lives on to the last use of the result.
      registers.clearKillFlags(source);
      registers.replaceRegWith(proxy->getOperand(0).getReg(), source);
      proxy->eraseFromParent();
    }
    return !proxies.empty();
  }

private:
  static char identity;
};

char ProxyRegisterErasure::identity = 0;

} // namespace

llvm::MachineFunctionPass *createProxyRegisterErasure() { return new ProxyRegisterErasure(); }

} // namespace tilewright::codegen
