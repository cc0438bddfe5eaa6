//===- SemanticMemory.cpp - Loads and stores ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: (1) the operand must be a pointer; (2) mask and value get its shape, and
// for a load the pointer may grow to theirs; (3) a boolean in memory is a byte,
// read as != 0 and written as 0 or 1.
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

namespace tilewright::semantic {

static void requirePointer(const Value &pointer, const char *name) {
  if (!pointer.type.scalar.isPointer())
    throwTypeMismatch("pass a pointer argument plus offsets", "tl.{} needs a pointer, got {}", name,
                      pointer.type.name());
  if (pointer.type.scalar.pointee().kind() == ScalarKind::Void)
    throwUnsupportedType("cast it: p.to(tl.pointer_type(tl.float32))",
                         "tl.{} cannot use a pointer to void", name);
}

/// The mask as int1. Its shape may still be smaller than the pointer's.
Value Semantic::maskOperand(const Operand &mask, const Value &pointer, const char *name) {
  if (const Literal *literal = std::get_if<Literal>(&mask))
    return cast(*literal, boolType);
  const Value &value = std::get<Value>(mask);
  if (!value.type.scalar.isBool())
    throwTypeMismatch("compare it: mask != 0", "tl.{}: the mask must be int1, got {}", name,
                      value.type.name());
  if (value.type.isTile() && !pointer.type.isTile())
    throwInvalidShape("make the pointer a tile: add tl.arange offsets",
                      "tl.{}: a scalar pointer takes a scalar mask, got {}", name,
                      value.type.name());
  return value;
}

std::optional<Value> Semantic::maskLanes(const std::optional<Operand> &mask, const Value &pointer,
                                         const char *name) {
  if (!mask)
    return std::nullopt;
  return broadcastTo(maskOperand(*mask, pointer, name), pointer.type.shape);
}

/// A pointer to booleans as one to bytes, everything else as it is.
static Value accessPointer(TileBuilder &builder, const Value &pointer) {
  const DType &type = pointer.type.scalar;
  if (!type.pointee().isBool())
    return pointer;
  DType bytes = DType::pointerTo(ScalarKind::Int8, type.isConst(), type.addressSpace());
  return builder.cast(CastOp::PointerCast, pointer, bytes, Rounding::NearestEven);
}

Value Semantic::load(const Value &pointer, const std::optional<Operand> &mask,
                     const std::optional<Operand> &other, const LoadOptions &options) {
  requirePointer(pointer, "load");
  if (other && !mask)
    throwInvalidArgument("add mask=, or leave other= out",
                         "tl.load: other= has no meaning without mask=");
  const DType pointee = pointer.type.scalar.pointee();
  bool isBool = pointee.isBool();
  Value address = accessPointer(builder, pointer);
  std::optional<Value> laneMask, laneOther;
  if (mask)
    laneMask = maskOperand(*mask, pointer, "load");
  if (other) {
    if (const Value *value = std::get_if<Value>(&*other))
      if (value->type.isTile() && !pointer.type.isTile())
        throwInvalidShape("make the pointer a tile: add tl.arange offsets",
                          "tl.load: a scalar pointer takes a scalar other=, got {}",
                          value->type.name());
    laneOther = cast(*other, pointee);
    if (isBool)
      laneOther = castTo(*laneOther, ScalarKind::Int8);
  }
  // Mask and other may enlarge the pointer; a second round lets the smaller of
  // the two grow to the shape that the first found.
  for (int round = 0; round < 2; ++round) {
    if (laneMask)
      std::tie(address, *laneMask) = broadcast(address, *laneMask);
    if (laneOther)
      std::tie(address, *laneOther) = broadcast(address, *laneOther);
  }
  Value loaded = builder.load(address, laneMask, laneOther, options);
  return isBool ? castTo(loaded, pointee) : loaded;
}

void Semantic::store(const Value &pointer, const Operand &operand,
                     const std::optional<Operand> &mask, const StoreOptions &options) {
  requirePointer(pointer, "store");
  if (pointer.type.scalar.isConst())
    throwTypeMismatch("drop tl.const from the parameter", "Cannot store to a constant pointer: {}",
                      pointer.type.name());
  if (const Value *value = std::get_if<Value>(&operand))
    if (value->type.isTile() && !pointer.type.isTile())
      throwInvalidShape("make the pointer a tile: add tl.arange offsets",
                        "tl.store: cannot store {} through the scalar pointer {}",
                        value->type.name(), pointer.type.name());
  const DType pointee = pointer.type.scalar.pointee();
  Value stored = cast(operand, pointee);
  if (pointee.isBool())
    stored = castTo(stored, ScalarKind::Int8);
  stored = broadcastTo(stored, pointer.type.shape);
  builder.store(accessPointer(builder, pointer), stored, maskLanes(mask, pointer, "store"),
                options);
}

//===----------------------------------------------------------------------===//
// Blocks through descriptors
//===----------------------------------------------------------------------===//

Value TileBuilder::descriptorLoad(const Value &, const std::vector<Value> &, const LoadOptions &) {
  throwInvalidArgument("compile the kernel", "a tensor map cannot be read here");
}

void TileBuilder::descriptorStore(const Value &, const std::vector<Value> &, const Value &,
                                  std::optional<AtomicOp>) {
  throwInvalidArgument("compile the kernel", "a tensor map cannot be written here");
}

std::vector<Value> Semantic::castAll(const std::vector<Operand> &operands, ScalarKind type) {
  std::vector<Value> result;
  for (const Operand &operand : operands)
    result.push_back(cast(operand, type));
  return result;
}

std::optional<Value> Semantic::makeDescriptor(const Value &base, const std::vector<Operand> &shape,
                                              const std::vector<Operand> &strides,
                                              const std::vector<int64_t> &block, bool padsWithNan) {
  return builder.makeDescriptor(base, castAll(shape, ScalarKind::Int64),
                                castAll(strides, ScalarKind::Int64), block, padsWithNan);
}

bool Semantic::canLoadByTma(const Value &descriptor, const std::vector<Operand> &offsets) {
  return builder.canLoadByTma(descriptor, castAll(offsets, ScalarKind::Int32));
}

bool Semantic::canStoreByTma(const Value &descriptor, const std::vector<Operand> &offsets,
                             const Operand &extent, const std::vector<Operand> &strides) {
  return builder.canStoreByTma(descriptor, castAll(offsets, ScalarKind::Int32),
                               cast(extent, ScalarKind::Int64),
                               castAll(strides, ScalarKind::Int64));
}

Value Semantic::descriptorLoad(const Value &descriptor, const std::vector<Operand> &offsets,
                               const LoadOptions &options) {
  return builder.descriptorLoad(descriptor, castAll(offsets, ScalarKind::Int32), options);
}

void Semantic::descriptorStore(const Value &descriptor, const std::vector<Operand> &offsets,
                               const Operand &value) {
  const DType &type = descriptor.type.scalar;
  builder.descriptorStore(descriptor, castAll(offsets, ScalarKind::Int32),
                          broadcastTo(cast(value, type.pointee()), type.block()), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Options by name
//===----------------------------------------------------------------------===//

/// The value of `name` in a table of names; E0117 that lists them otherwise.
template <typename Enum, size_t N>
static Enum parseName(const std::string &name, const char *option,
                      const std::pair<const char *, Enum> (&table)[N]) {
  std::string known;
  for (const auto &[candidate, value] : table) {
    if (name == candidate)
      return value;
    known += (known.empty() ? "'" : ", '") + std::string(candidate) + "'";
  }
  throwInvalidArgument("choose one of " + known, "{} is '{}'", option, name);
}

static EvictionPolicy parseEviction(const std::string &name) {
  static const std::pair<const char *, EvictionPolicy> table[] = {
      {"", EvictionPolicy::Normal},
      {"evict_normal", EvictionPolicy::Normal},
      {"evict_first", EvictionPolicy::EvictFirst},
      {"evict_last", EvictionPolicy::EvictLast}};
  return parseName(name, "eviction_policy", table);
}

LoadOptions Semantic::parseLoadOptions(const std::string &cacheModifier,
                                       const std::string &evictionPolicy, bool isVolatile) {
  static const std::pair<const char *, CacheModifier> table[] = {{"", CacheModifier::None},
                                                                 {".ca", CacheModifier::CA},
                                                                 {".cg", CacheModifier::CG},
                                                                 {".cs", CacheModifier::CS},
                                                                 {".cv", CacheModifier::CV}};
  LoadOptions options;
  options.cache = parseName(cacheModifier, "cache_modifier", table);
  options.eviction = parseEviction(evictionPolicy);
  options.isVolatile = isVolatile;
  return options;
}

StoreOptions Semantic::parseStoreOptions(const std::string &cacheModifier,
                                         const std::string &evictionPolicy) {
  static const std::pair<const char *, CacheModifier> table[] = {{"", CacheModifier::None},
                                                                 {".wb", CacheModifier::WB},
                                                                 {".cg", CacheModifier::CG},
                                                                 {".cs", CacheModifier::CS},
                                                                 {".wt", CacheModifier::WT}};
  StoreOptions options;
  options.cache = parseName(cacheModifier, "cache_modifier", table);
  options.eviction = parseEviction(evictionPolicy);
  return options;
}

MemorySemantic Semantic::parseSemantic(const std::string &name) {
  static const std::pair<const char *, MemorySemantic> table[] = {
      {"acquire", MemorySemantic::Acquire},
      {"release", MemorySemantic::Release},
      {"acq_rel", MemorySemantic::AcquireRelease},
      {"relaxed", MemorySemantic::Relaxed}};
  return name.empty() ? MemorySemantic::AcquireRelease : parseName(name, "sem", table);
}

MemoryScope Semantic::parseScope(const std::string &name) {
  static const std::pair<const char *, MemoryScope> table[] = {
      {"cta", MemoryScope::Block}, {"gpu", MemoryScope::Gpu}, {"sys", MemoryScope::System}};
  return name.empty() ? MemoryScope::Gpu : parseName(name, "scope", table);
}

} // namespace tilewright::semantic
