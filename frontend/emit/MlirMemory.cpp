//===- MlirMemory.cpp - Loads, stores and atomics as ops ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/MlirBuilder.h"

#include "frontend/emit/MlirTypes.h"
#include "ir/dialect/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::emit {

namespace arith = mlir::arith;
using semantic::ScalarKind;

//===----------------------------------------------------------------------===//
// The language's options as attributes
//===----------------------------------------------------------------------===//

static ir::CacheModifier toIr(semantic::CacheModifier cache) {
  switch (cache) {
  case semantic::CacheModifier::None:
    return ir::CacheModifier::none;
  case semantic::CacheModifier::CA:
    return ir::CacheModifier::ca;
  case semantic::CacheModifier::CG:
    return ir::CacheModifier::cg;
  case semantic::CacheModifier::CS:
    return ir::CacheModifier::cs;
  case semantic::CacheModifier::CV:
    return ir::CacheModifier::cv;
  case semantic::CacheModifier::WB:
    return ir::CacheModifier::wb;
  case semantic::CacheModifier::WT:
    return ir::CacheModifier::wt;
  }
  llvm_unreachable("every modifier returns above");
}

static ir::Eviction toIr(semantic::EvictionPolicy eviction) {
  switch (eviction) {
  case semantic::EvictionPolicy::Normal:
    return ir::Eviction::normal;
  case semantic::EvictionPolicy::EvictFirst:
    return ir::Eviction::evict_first;
  case semantic::EvictionPolicy::EvictLast:
    return ir::Eviction::evict_last;
  }
  llvm_unreachable("every policy returns above");
}

static ir::AtomicKind toIr(semantic::AtomicOp op) {
  switch (op) {
  case semantic::AtomicOp::Add:
    return ir::AtomicKind::add;
  case semantic::AtomicOp::FloatAdd:
    return ir::AtomicKind::fadd;
  case semantic::AtomicOp::And:
    return ir::AtomicKind::bit_and;
  case semantic::AtomicOp::Or:
    return ir::AtomicKind::bit_or;
  case semantic::AtomicOp::Xor:
    return ir::AtomicKind::bit_xor;
  case semantic::AtomicOp::MaxSigned:
    return ir::AtomicKind::smax;
  case semantic::AtomicOp::MinSigned:
    return ir::AtomicKind::smin;
  case semantic::AtomicOp::MaxUnsigned:
    return ir::AtomicKind::umax;
  case semantic::AtomicOp::MinUnsigned:
    return ir::AtomicKind::umin;
  case semantic::AtomicOp::Exchange:
    return ir::AtomicKind::exchange;
  case semantic::AtomicOp::FloatMax:
    return ir::AtomicKind::fmax;
  case semantic::AtomicOp::FloatMin:
    return ir::AtomicKind::fmin;
  case semantic::AtomicOp::Load:
    return ir::AtomicKind::load;
  case semantic::AtomicOp::Store:
    return ir::AtomicKind::store;
  }
  llvm_unreachable("every operation returns above");
}

static ir::MemorySemantic toIr(semantic::MemorySemantic semantic) {
  switch (semantic) {
  case semantic::MemorySemantic::Relaxed:
    return ir::MemorySemantic::relaxed;
  case semantic::MemorySemantic::Acquire:
    return ir::MemorySemantic::acquire;
  case semantic::MemorySemantic::Release:
    return ir::MemorySemantic::release;
  case semantic::MemorySemantic::AcquireRelease:
    return ir::MemorySemantic::acq_rel;
  }
  llvm_unreachable("every semantic returns above");
}

static ir::MemoryScope toIr(semantic::MemoryScope scope) {
  switch (scope) {
  case semantic::MemoryScope::Block:
    return ir::MemoryScope::cta;
  case semantic::MemoryScope::Gpu:
    return ir::MemoryScope::gpu;
  case semantic::MemoryScope::System:
    return ir::MemoryScope::sys;
  }
  llvm_unreachable("every scope returns above");
}

static mlir::Value unwrapOptional(const std::optional<semantic::Value> &value) {
  return value ? MlirBuilder::unwrap(*value) : mlir::Value();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

semantic::Value MlirBuilder::load(const Value &pointer, const OptionalValue &mask,
                                  const OptionalValue &other,
                                  const semantic::LoadOptions &options) {
  Type result = pointer.type.withScalar(pointer.type.scalar.pointee());
  bool isBool = result.scalar.isBool();
  mlir::Type loaded = tileOf(toMemoryType(context(), result.scalar), result.shape);
  mlir::Value fallback = unwrapOptional(other);
  if (isBool && fallback)
    fallback = make<arith::ExtUIOp>(loaded, fallback);
  mlir::Value value =
      make<ir::LoadOp>(loaded, unwrap(pointer), unwrapOptional(mask), fallback, toIr(options.cache),
                       toIr(options.eviction), options.isVolatile);
  if (isBool) {
    // A stored boolean is any non-zero byte.
    mlir::Value zero = splatConstant(builder.getI8IntegerAttr(0), result.shape);
    value = make<arith::CmpIOp>(arith::CmpIPredicate::ne, value, zero);
  }
  return wrap(result, value);
}

void MlirBuilder::store(const Value &pointer, const Value &value, const OptionalValue &mask,
                        const semantic::StoreOptions &options) {
  mlir::Value stored = unwrap(value);
  if (value.type.scalar.isBool())
    stored = make<arith::ExtUIOp>(tileOf(builder.getI8Type(), value.type.shape), stored);
  make<ir::StoreOp>(unwrap(pointer), stored, unwrapOptional(mask), toIr(options.cache),
                    toIr(options.eviction));
}

semantic::Value MlirBuilder::atomicRmw(semantic::AtomicOp op, const Value &pointer,
                                       const Value &value, const OptionalValue &mask,
                                       semantic::MemorySemantic semantic,
                                       semantic::MemoryScope scope) {
  return emit<ir::AtomicRmwOp>(value.type, toIr(op), unwrap(pointer), unwrap(value),
                               unwrapOptional(mask), toIr(semantic), toIr(scope));
}

semantic::Value MlirBuilder::atomicCas(const Value &pointer, const Value &compare,
                                       const Value &value, semantic::MemorySemantic semantic,
                                       semantic::MemoryScope scope) {
  return emit<ir::AtomicCasOp>(value.type, unwrap(pointer), unwrap(compare), unwrap(value),
                               toIr(semantic), toIr(scope));
}

/// A loop of compare-and-swaps that change nothing: unlike loads they see what other
/// programs write, at once and in order, in every width.
semantic::Value MlirBuilder::atomicPoll(const Value &pointer, const Value &expected,
                                        const OptionalValue &timeout,
                                        semantic::MemorySemantic semantic,
                                        semantic::MemoryScope scope) {
  mlir::Type i1 = builder.getI1Type(), i64 = builder.getI64Type();
  auto readTimer = [&]() -> mlir::Value {
    return make<ir::InlineAsmOp>(mlir::TypeRange{i64}, mlir::ValueRange{},
                                 "mov.u64 $0, %globaltimer;", "=l", /*pack=*/1u, /*isPure=*/false)
        ->getResult(0);
  };
  mlir::Value start = timeout ? readTimer() : mlir::Value();
  auto loop = make<mlir::scf::WhileOp>(mlir::TypeRange{i1}, mlir::ValueRange{});
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&loop.getBefore());
  mlir::Value old = unwrap(atomicCas(pointer, expected, expected, semantic, scope));
  mlir::Value isEqual =
      make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, old, unwrap(expected));
  mlir::Value again =
      make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::ne, old, unwrap(expected));
  if (timeout) {
    mlir::Value passed = make<mlir::arith::SubIOp>(readTimer(), start);
    mlir::Value isLate =
        make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::sge, passed, unwrap(*timeout));
    // Clocks of threads differ, and all must leave the loop together.
    mlir::Type i32 = builder.getI32Type();
    mlir::Value own = make<mlir::arith::ExtUIOp>(i32, isLate);
    mlir::Value anyLate =
        make<ir::InlineAsmOp>(mlir::TypeRange{i32}, mlir::ValueRange{own},
                              "{ .reg .pred p, q; setp.ne.u32 q, $1, 0; bar.red.or.pred p, 0, q; "
                              "selp.u32 $0, 1, 0, p; }",
                              "=r,r", /*pack=*/1u, /*isPure=*/false)
            ->getResult(0);
    mlir::Value inTime = make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, anyLate,
                                                   make<mlir::arith::ConstantIntOp>(0, 32));
    again = make<mlir::arith::AndIOp>(again, inTime);
  }
  make<mlir::scf::ConditionOp>(again, mlir::ValueRange{isEqual});
  builder.createBlock(&loop.getAfter(), {}, {i1}, {location()});
  make<mlir::scf::YieldOp>(mlir::ValueRange{});
  return wrap(semantic::Type(semantic::DType(semantic::ScalarKind::Int1)), loop.getResult(0));
}

//===----------------------------------------------------------------------===//
// Blocks through descriptors
//===----------------------------------------------------------------------===//

static llvm::SmallVector<mlir::Value> unwrapAll(const std::vector<semantic::Value> &values) {
  llvm::SmallVector<mlir::Value> result;
  for (const semantic::Value &value : values)
    result.push_back(MlirBuilder::unwrap(value));
  return result;
}

semantic::Value MlirBuilder::descriptorLoad(const Value &descriptor,
                                            const std::vector<Value> &coordinates,
                                            const semantic::LoadOptions &options) {
  const DType &type = descriptor.type.scalar;
  return emit<ir::DescriptorLoadOp>(Type(type.pointee(), type.block()), unwrap(descriptor),
                                    unwrapAll(coordinates), toIr(options.eviction));
}

void MlirBuilder::descriptorStore(const Value &descriptor, const std::vector<Value> &coordinates,
                                  const Value &value, std::optional<semantic::AtomicOp> reduction) {
  auto kind =
      reduction ? ir::AtomicKindAttr::get(context(), toIr(*reduction)) : ir::AtomicKindAttr();
  make<ir::DescriptorStoreOp>(unwrap(descriptor), unwrapAll(coordinates), unwrap(value), kind);
}

} // namespace tilewright::emit
