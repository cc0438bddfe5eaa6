//===- SimplifyMasked.cpp - Elements that are not stored ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a value that only a store under a mask needs may be anything where the mask is
// false. So on the way to the store select(mask, a, b) becomes a.
//
// Why here: after CSE, which makes one value of equal masks; before whatever
// copies the selects.
//
// How: from each store backwards over elementwise ops all of whose users are on the
// way, too. A select that others need stays for them.
//
// The `other` of loads on the way stays, though it is not used: registers that a
// predicated load may leave alone are live from the start of the kernel for the assembler.
//
// Not handled: ways through broadcasts and reshapes; atomics; masks that imply each
// other.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_SIMPLIFYMASKED
#include "passes/Passes.h.inc"

namespace {

class SimplifyMaskedPass : public impl::SimplifyMaskedBase<SimplifyMaskedPass> {
public:
  explicit SimplifyMaskedPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    getOperation().walk([&](ir::StoreOp store) {
      if (store.getMask() && isTile(store.getMask()))
        simplify(store);
    });
  }

private:
  PassContext context;

  /// Division by what a masked element happens to hold is undefined as a whole.
  static bool mayHoldAnything(Operation *op) {
    return ir::isElementwise(op) && isMemoryEffectFree(op) &&
           !llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                      arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
  }

  void passSelects(OpOperand &operand, Value mask) {
    while (auto select = operand.get().getDefiningOp<arith::SelectOp>()) {
      if (select.getCondition() != mask)
        return;
      operand.set(select.getTrueValue());
      ++numSelects;
    }
  }

  void simplify(ir::StoreOp store) {
    Value mask = store.getMask();
    passSelects(store.getValueMutable(), mask);
    llvm::DenseSet<Operation *> way;
    for (Operation *op = store->getPrevNode(); op; op = op->getPrevNode()) {
      if (op->getNumResults() != 1 || op->use_empty() ||
          !llvm::all_of(op->getUses(), [&](OpOperand &use) {
            return &use == &store.getValueMutable() || way.contains(use.getOwner());
          }))
        continue;
      if (mayHoldAnything(op)) {
        way.insert(op);
        for (OpOperand &operand : op->getOpOperands())
          passSelects(operand, mask);
      }
    }
  }
};

} // namespace

std::unique_ptr<Pass> createSimplifyMasked(PassContext context) {
  return std::make_unique<SimplifyMaskedPass>(std::move(context));
}

} // namespace tilewright::passes
