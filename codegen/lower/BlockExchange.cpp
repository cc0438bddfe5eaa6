//===- BlockExchange.cpp - What blocks of a cluster send each other -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/BlockExchange.h"

#include "ir/support/Hardware.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::codegen {

BlockExchange::BlockExchange(FunctionLowering &lowering, Operation *op, int64_t bytes)
    : lowering(lowering) {
  OpBuilder &builder = lowering.builder;
  int64_t number = op->getAttrOfType<IntegerAttr>(ir::exchangeAttr).getInt();
  barrier = lowering.sharedAddress(lowering.exchangeBarriers + number * hardware::mbarrierBytes);
  // The first phase has parity 0; asking for parity 0 is answered by "complete" as soon
  // as parity 1 is under way.
  phase = lowering.constantI32(0);
  if (op->getParentOfType<LoopLikeOpInterface>())
    phase = lowering.inlineAsm(
        builder.getI32Type(), {barrier},
        "{\n\t.reg .pred done;\n\tmbarrier.test_wait.parity.shared::cta.b64 done, [$1], 0;\n"
        "\tselp.b32 $0, 1, 0, done;\n\t}",
        "=r,r,~{memory}", /*hasSideEffects=*/true);

  // The first lane speaks for its warp, whose lanes have all asked.
  builder.create<NVVM::SyncWarpOp>(lowering.loc, lowering.constantI32(-1));
  Value isFirstLane = builder.create<LLVM::ICmpOp>(lowering.loc, LLVM::ICmpPredicate::eq,
                                                   lowering.laneId(), lowering.constantI32(0));
  Value isFirstThread = lowering.ownsElementsInBlock(builder.getI32Type());
  Value isOther = builder.create<LLVM::XOrOp>(lowering.loc, isFirstLane, isFirstThread);
  lowering.inlineAsm(Type(), {barrier, isFirstThread},
                     "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " +
                         std::to_string(bytes) + ";",
                     "r,b,~{memory}", /*hasSideEffects=*/true);
  lowering.inlineAsm(Type(), {barrier, isOther}, "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];",
                     "r,b,~{memory}", /*hasSideEffects=*/true);
}

void BlockExchange::send(Value address, Value bits, Value rank, Value predicate) {
  bool isWide = bits.getType().getIntOrFloatBitWidth() == 64;
  llvm::SmallVector<Value> operands{lowering.addressInBlock(address, rank), bits,
                                    lowering.addressInBlock(barrier, rank)};
  std::string constraints = isWide ? "r,l,r" : "r,r,r", guard;
  if (predicate) {
    operands.push_back(predicate);
    constraints += ",b";
    guard = "@$3 ";
  }
  lowering.inlineAsm(Type(), operands,
                     guard + "st.async.shared::cluster.mbarrier::complete_tx::bytes" +
                         (isWide ? ".b64" : ".b32") + " [$0], $1, [$2];",
                     constraints + ",~{memory}", /*hasSideEffects=*/true);
}

void BlockExchange::wait() {
  // The braces make the names local, since the text may stand several times in one
  // kernel. The acquire is that of the block, as in CUTLASS's waits for what other blocks
  // send: one of the cluster would empty the L1 cache, which has no shared memory in it.
  lowering.inlineAsm(
      Type(), {barrier, phase},
      "{\n\t.reg .pred done;\n"
      "again:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n\t@!done bra "
      "again;\n\t}",
      "r,r,~{memory}", /*hasSideEffects=*/true);
}

} // namespace tilewright::codegen
