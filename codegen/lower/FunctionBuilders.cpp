//===- FunctionBuilders.cpp - Constants, bits, calls and assembly ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the small builders of FunctionLowering that all families share.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/Lowering.h"

using namespace mlir;

namespace tilewright::codegen {

Value FunctionLowering::constant(TypedAttr value) {
  Value &slot = constants[value];
  if (!slot)
    slot = entryBuilder.create<LLVM::ConstantOp>(function.getLoc(), value);
  return slot;
}

Value FunctionLowering::constantInt(Type integerType, int64_t value) {
  return constant(builder.getIntegerAttr(integerType, value));
}

Value FunctionLowering::constantI32(int64_t value) {
  return constant(builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value FunctionLowering::constantI64(int64_t value) {
  return constant(builder.getI64IntegerAttr(value));
}

Value FunctionLowering::constantFloat(Type floatType, double value) {
  return constant(builder.getFloatAttr(floatType, value));
}

Value FunctionLowering::zero(Type registerType) {
  if (llvm::isa<FloatType>(registerType))
    return constantFloat(registerType, 0.0);
  if (llvm::isa<IntegerType>(registerType))
    return constantInt(registerType, 0);
  return entryBuilder.create<LLVM::ZeroOp>(function.getLoc(), registerType);
}

unsigned FunctionLowering::bitWidth(Type registerType) {
  return llvm::isa<LLVM::LLVMPointerType>(registerType) ? 64 : registerType.getIntOrFloatBitWidth();
}

Value FunctionLowering::toBits(Value value) {
  Type type = value.getType();
  if (llvm::isa<IntegerType>(type))
    return value;
  Type integer = builder.getIntegerType(bitWidth(type));
  if (llvm::isa<LLVM::LLVMPointerType>(type))
    return builder.create<LLVM::PtrToIntOp>(loc, integer, value);
  return builder.create<LLVM::BitcastOp>(loc, integer, value);
}

Value FunctionLowering::fromBits(Value bits, Type registerType) {
  if (bits.getType() == registerType)
    return bits;
  if (llvm::isa<LLVM::LLVMPointerType>(registerType))
    return builder.create<LLVM::IntToPtrOp>(loc, registerType, bits);
  return builder.create<LLVM::BitcastOp>(loc, registerType, bits);
}

Value FunctionLowering::callExternal(llvm::StringRef name, Type result,
                                     llvm::ArrayRef<Value> operands) {
  auto module = function->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    llvm::SmallVector<Type> types;
    for (Value operand : operands)
      types.push_back(operand.getType());
    Type resultType = result ? result : LLVM::LLVMVoidType::get(builder.getContext());
    OpBuilder moduleBuilder(module.getBodyRegion());
    callee = moduleBuilder.create<LLVM::LLVMFuncOp>(function.getLoc(), name,
                                                    LLVM::LLVMFunctionType::get(resultType, types));
  }
  auto call = builder.create<LLVM::CallOp>(loc, callee, operands);
  return result ? call.getResult() : Value();
}

Value FunctionLowering::stringConstant(llvm::StringRef text) {
  auto module = function->getParentOfType<ModuleOp>();
  std::string bytes = text.str();
  bytes.push_back('\0');
  auto attribute = builder.getStringAttr(bytes);
  // Equal texts share one global; the name is only for reading the PTX.
  std::string name;
  for (int index = 0;; ++index) {
    name = "__tw_text_" + std::to_string(index);
    auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
    if (global && global.getValueOrNull() == attribute)
      break;
    if (global)
      continue;
    OpBuilder moduleBuilder(module.getBodyRegion());
    moduleBuilder.create<LLVM::GlobalOp>(
        function.getLoc(), LLVM::LLVMArrayType::get(builder.getIntegerType(8), bytes.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name, attribute,
        /*alignment=*/1, /*addrSpace=*/1);
    break;
  }
  Value address = builder.create<LLVM::AddressOfOp>(
      loc, LLVM::LLVMPointerType::get(builder.getContext(), 1), name);
  return builder.create<LLVM::AddrSpaceCastOp>(
      loc, LLVM::LLVMPointerType::get(builder.getContext()), address);
}

Value FunctionLowering::inlineAsm(Type result, llvm::ArrayRef<Value> operands,
                                  llvm::StringRef assembly, llvm::StringRef constraints,
                                  bool hasSideEffects) {
  auto op = builder.create<LLVM::InlineAsmOp>(
      loc, result ? TypeRange(result) : TypeRange(), operands, assembly, constraints,
      hasSideEffects, /*is_align_stack=*/false, LLVM::AsmDialectAttr(), ArrayAttr());
  return result ? op.getResult(0) : Value();
}

Registers FunctionLowering::inlineAsmResults(llvm::ArrayRef<Type> results,
                                             llvm::ArrayRef<Value> operands,
                                             llvm::StringRef assembly, llvm::StringRef constraints,
                                             bool hasSideEffects) {
  if (results.empty()) {
    inlineAsm(Type(), operands, assembly, constraints, hasSideEffects);
    return {};
  }
  if (results.size() == 1)
    return {inlineAsm(results.front(), operands, assembly, constraints, hasSideEffects)};
  // Several results are a struct, which is taken apart at once and never
  // rebuilt.
  Type structType = LLVM::LLVMStructType::getLiteral(builder.getContext(), results);
  Value packed = inlineAsm(structType, operands, assembly, constraints, hasSideEffects);
  Registers values;
  for (size_t index = 0; index < results.size(); ++index)
    values.push_back(
        builder.create<LLVM::ExtractValueOp>(loc, packed, static_cast<int64_t>(index)));
  return values;
}

} // namespace tilewright::codegen
