//===- SharedExchange.cpp - Registers through shared scratch --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/SharedExchange.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"

using namespace mlir;

namespace tilewright::codegen {

Value SharedExchange::isOwner(const HardwareIndex &duplicates) {
  OpBuilder &builder = lowering.builder;
  Value bits;
  auto include = [&](uint32_t mask, auto index) {
    if (!mask)
      return;
    Value part = builder.create<LLVM::AndOp>(lowering.loc, index(), lowering.constantI32(mask));
    bits = bits ? builder.create<LLVM::OrOp>(lowering.loc, bits, part).getResult() : part;
  };
  include(duplicates[InDim::Lane], [&] { return lowering.laneId(); });
  include(duplicates[InDim::Warp], [&] { return lowering.warpId(); });
  if (!bits)
    return {};
  return builder.create<LLVM::ICmpOp>(lowering.loc, LLVM::ICmpPredicate::eq, bits,
                                      lowering.constantI32(0));
}

void SharedExchange::onlyOwners(const HardwareIndex &duplicates, llvm::function_ref<void()> body) {
  Value owner = isOwner(duplicates);
  if (!owner)
    return body();
  OpBuilder &builder = lowering.builder;
  Block *before = builder.getInsertionBlock();
  Block *after = before->splitBlock(builder.getInsertionPoint());
  Block *owners = builder.createBlock(after);
  builder.setInsertionPointToEnd(before);
  builder.create<LLVM::CondBrOp>(lowering.loc, owner, owners, after);
  builder.setInsertionPointToStart(owners);
  body();
  builder.create<LLVM::BrOp>(lowering.loc, ValueRange(), after);
  builder.setInsertionPointToStart(after);
}

Value SharedExchange::address(int64_t base, Value slot, int storedBits) {
  OpBuilder &builder = lowering.builder;
  Value start = lowering.sharedAddress(scratchOffset + base);
  return builder.create<LLVM::GEPOp>(lowering.loc, start.getType(),
                                     builder.getIntegerType(storedBits), start, slot);
}

Value SharedExchange::toStored(Value value, int storedBits) {
  OpBuilder &builder = lowering.builder;
  Type stored = builder.getIntegerType(storedBits);
  Value bits = lowering.toBits(value);
  return bits.getType() == stored ? bits : builder.create<LLVM::ZExtOp>(lowering.loc, stored, bits);
}

Value SharedExchange::fromStored(Value stored, Type registerType) {
  OpBuilder &builder = lowering.builder;
  Type bits = builder.getIntegerType(FunctionLowering::bitWidth(registerType));
  if (stored.getType() != bits)
    stored = builder.create<LLVM::TruncOp>(lowering.loc, bits, stored);
  return lowering.fromBits(stored, registerType);
}

void SharedExchange::send(BlockExchange &blocks, Value rank, int64_t base, Value slot,
                          int storedBits, Value value, Value predicate) {
  blocks.send(address(base, slot, storedBits), toStored(value, storedBits), rank, predicate);
}

void SharedExchange::store(int64_t base, Value slot, int storedBits, ArrayRef<Value> values) {
  OpBuilder &builder = lowering.builder;
  ++lowering.sharedTraffic.unexamined;
  Value where = address(base, slot, storedBits);
  if (values.size() == 1) {
    builder.create<LLVM::StoreOp>(lowering.loc, toStored(values.front(), storedBits), where,
                                  storedBits / 8);
    return;
  }
  auto type = LLVM::getFixedVectorType(builder.getIntegerType(storedBits), values.size());
  Value vector = builder.create<LLVM::UndefOp>(lowering.loc, type);
  for (auto [index, value] : llvm::enumerate(values))
    vector = builder.create<LLVM::InsertElementOp>(
        lowering.loc, vector, toStored(value, storedBits), lowering.constantI32(index));
  builder.create<LLVM::StoreOp>(lowering.loc, vector, where, storedBits / 8 * values.size());
}

Registers SharedExchange::load(int64_t base, Value slot, int storedBits, Type registerType,
                               int count) {
  OpBuilder &builder = lowering.builder;
  Value where = address(base, slot, storedBits);
  Type stored = builder.getIntegerType(storedBits);
  Registers loaded;
  int perVector = std::min(count, std::max(1, 128 / storedBits));
  for (int start = 0; start < count; start += perVector) {
    Value place = start == 0
                      ? where
                      : builder.create<LLVM::GEPOp>(lowering.loc, where.getType(), stored, where,
                                                    ArrayRef<LLVM::GEPArg>{int32_t(start)});
    if (perVector == 1) {
      Value element = builder.create<LLVM::LoadOp>(lowering.loc, stored, place, storedBits / 8);
      loaded.push_back(fromStored(element, registerType));
      continue;
    }
    if (storedBits == 8 && perVector == 2) {
      // A vector of two bytes that is taken apart in another block goes through
      // local memory in LLVM's back end.
      Type word = builder.getI16Type();
      Value both = builder.create<LLVM::LoadOp>(lowering.loc, word, place, /*alignment=*/2);
      Value eight = builder.create<LLVM::ConstantOp>(lowering.loc, word, 8);
      Value high = builder.create<LLVM::LShrOp>(lowering.loc, both, eight);
      for (Value byte : {both, high})
        loaded.push_back(
            fromStored(builder.create<LLVM::TruncOp>(lowering.loc, stored, byte), registerType));
      continue;
    }
    Value vector =
        builder.create<LLVM::LoadOp>(lowering.loc, LLVM::getFixedVectorType(stored, perVector),
                                     place, storedBits / 8 * perVector);
    for (int index = 0; index < perVector; ++index) {
      Value element =
          builder.create<LLVM::ExtractElementOp>(lowering.loc, vector, lowering.constantI32(index));
      loaded.push_back(fromStored(element, registerType));
    }
  }
  return loaded;
}

} // namespace tilewright::codegen
