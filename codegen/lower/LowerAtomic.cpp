#include "codegen/lower/Lowering.h"
namespace tilewright::codegen { void addAtomicLowerings(LoweringTable &, mlir::MLIRContext *) {} }
