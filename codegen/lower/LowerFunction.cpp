//===- LowerFunction.cpp - Kernels, arguments and the table of lowerings --===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: makes the llvm.func of a kernel with its attributes and arguments, and
// lowers its body.
//
// How: pointers are arguments of the global address space. They are not said to
// be noalias: two tensors of one launch may overlap. Known divisibility of a
// pointer becomes its alignment; of an integer it was already used by the
// passes, which chose the vector widths. A tensor descriptor is a tensor map of
// 128 bytes by value, which stays in the constant bank of parameters: TMA takes
// its address there.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/Lowering.h"
#include "codegen/lower/VerifyKernels.h"
#include "ir/support/Hardware.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::codegen {

static LoweringTable makeTable(MLIRContext *context) {
  LoweringTable table(context);
  addElementwiseLowerings(table);
  addMathLowerings(table);
  addCastLowerings(table);
  addShapeLowerings(table);
  addMemoryLowerings(table);
  addAtomicLowerings(table);
  addReduceLowerings(table);
  addScanLowerings(table);
  addConvertLayoutLowerings(table);
  addSharedTileLowerings(table);
  addGatherLowerings(table);
  addAsyncCopyLowerings(table);
  addControlFlowLowerings(table);
  addUserCodeLowerings(table);
  addDebugLowerings(table);
  addBarrierLowerings(table);
  addDotLowerings(table);
  addFmaLowerings(table);
  addWgmmaLowerings(table);
  addTmaLowerings(table);
  return table;
}

static void setKernelAttributes(LLVM::LLVMFuncOp kernel, ModuleOp module, int numThreads) {
  OpBuilder builder(module.getContext());
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  // An exact block size lets the assembler spend all registers of it.
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  builder.getDenseI32ArrayAttr({numThreads, 1, 1}));
  if (auto registers = module->getAttrOfType<IntegerAttr>(ir::maxRegistersAttr);
      registers && registers.getInt() > 0)
    kernel->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                    builder.getI32IntegerAttr(registers.getInt()));
}

/// A tensor map by value: `byval` makes it a parameter of 128 bytes,
/// `grid_constant` keeps it from being copied to local memory.
static void setTensorMapAttributes(LLVM::LLVMFuncOp kernel, unsigned index) {
  Builder builder(kernel.getContext());
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), hardware::tensorMapBytes);
  kernel.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
  kernel.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                    builder.getI64IntegerAttr(hardware::tensorMapAlignment));
  kernel.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
}

/// Whether a launch can pass an argument of this type.
static bool isParameterType(Type type) {
  return llvm::isa<ir::PointerType, ir::DescriptorType, IntegerType>(type) ||
         (llvm::isa<FloatType>(type) && type.getIntOrFloatBitWidth() >= 16);
}

static LogicalResult verifyKernel(func::FuncOp function) {
  if (function.isExternal())
    return function.emitOpError("has no body");
  if (!function.isPublic())
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("has unstructured control flow");
  if (function.getNumResults() != 0)
    return function.emitOpError("is a kernel and cannot return values");
  for (Type type : function.getArgumentTypes())
    if (!isParameterType(type))
      return function.emitOpError("argument type has no place in a launch: ") << type;
  return success();
}

LogicalResult verifyKernels(ModuleOp module) {
  func::FuncOp kernel;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (failed(verifyKernel(function)))
      return failure();
    if (!function.isPublic())
      continue;
    if (kernel)
      return function.emitOpError("is a second kernel: '")
             << kernel.getName() << "' and '" << function.getName() << "' are public";
    kernel = function;
  }
  if (!kernel)
    return module.emitError("has no kernel: no function is public");
  return success();
}

/// The llvm.func with the argument types and attributes of `source`, no body.
static LLVM::LLVMFuncOp declareKernel(func::FuncOp source) {
  MLIRContext *context = source.getContext();
  llvm::SmallVector<Type> types;
  for (Type type : source.getArgumentTypes()) {
    if (auto pointer = llvm::dyn_cast<ir::PointerType>(type))
      type = LLVM::LLVMPointerType::get(context, pointer.getAddressSpace());
    else if (llvm::isa<ir::DescriptorType>(type))
      type = LLVM::LLVMPointerType::get(context);
    types.push_back(type);
  }
  OpBuilder builder(source);
  auto kernel = builder.create<LLVM::LLVMFuncOp>(
      source.getLoc(), source.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  for (unsigned index = 0; index < types.size(); ++index) {
    if (llvm::isa<ir::DescriptorType>(source.getArgument(index).getType()))
      setTensorMapAttributes(kernel, index);
    auto divisibility = source.getArgAttrOfType<IntegerAttr>(index, ir::divisibilityAttr);
    if (divisibility && llvm::isa<LLVM::LLVMPointerType>(types[index]) &&
        llvm::isPowerOf2_64(divisibility.getInt()))
      kernel.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(divisibility.getInt()));
  }
  return kernel;
}

static LogicalResult lowerKernel(func::FuncOp source, const LoweringTable &table,
                                 const TargetInfo &target, RemarkCollector *remarks) {
  auto module = source->getParentOfType<ModuleOp>();
  int numBlocks = ir::numBlocks(module);
  if (numBlocks > target.maxBlocksPerCluster)
    return source.emitOpError("spans ") << numBlocks << " blocks, " << target.name
                                        << " has clusters of " << target.maxBlocksPerCluster;
  // The symbol must be free for the kernel of the same name.
  std::string name = source.getName().str();
  source.setName(name + ".tile");
  LLVM::LLVMFuncOp kernel = declareKernel(source);
  kernel.setName(name);
  int numWarps = ir::numWarps(module);
  setKernelAttributes(kernel, module, numWarps << target.log2WarpSize);

  FunctionLowering lowering(kernel, table, target, remarks);
  lowering.numWarps = numWarps;
  lowering.numBlocks = numBlocks;
  lowering.keepsDenormals = module->hasAttr(ir::keepDenormalsAttr);
  source.walk([&](Operation *op) {
    lowering.hasProducts |= llvm::isa<ir::DotOp, ir::SharedDotOp, ir::WgmmaOp>(op);
  });
  for (auto [from, to] : llvm::zip(source.getArguments(), kernel.getArguments()))
    lowering.set(from, {to});
  for (BlockArgument argument : source.getArguments())
    if (llvm::isa<ir::DescriptorType>(argument.getType()) && !argument.use_empty())
      prefetchDescriptor(lowering, lowering.getScalar(argument));
  if (failed(lowering.lowerBlockBody(source.getBody().front())))
    return failure();
  lowering.builder.create<LLVM::ReturnOp>(source.getBody().front().getTerminator()->getLoc(),
                                          ValueRange());
  lowering.finish();
  const SharedTraffic &traffic = lowering.sharedTraffic;
  if (remarks && traffic.tiles + traffic.unexamined > 0)
    remarks->add({"shared-accesses",
                  traffic.conflicting == 0,
                  {},
                  {{"tiles", traffic.tiles},
                   {"conflicting", traffic.conflicting},
                   {"unexamined", traffic.unexamined}},
                  ""});
  return success();
}

LogicalResult lowerToLLVM(ModuleOp module, const TargetInfo &target, RemarkCollector *remarks) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  if (failed(verifyKernels(module)))
    return failure();
  LoweringTable table = makeTable(context);
  for (func::FuncOp source : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (source.isPublic() && failed(lowerKernel(source, table, target, remarks)))
      return failure();
    source.erase();
  }
  return success();
}

} // namespace tilewright::codegen
