#include "codegen/lower/Lowering.h"
namespace tilewright::codegen { void addDebugLowerings(LoweringTable &, mlir::MLIRContext *) {} }
