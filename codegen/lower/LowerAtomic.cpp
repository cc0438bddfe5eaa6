//===- LowerAtomic.cpp - Atomic read-modify-write -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.atomic_rmw and tw.atomic_cas.
//
// How: one instruction per element, done by the thread that owns the element
// and only where the mask holds; sums of f16, bf16 and f32 take a vector at once where
// the target can (tw.vector_elements), each element for itself. Strategies:
//
//   result unused           red, which does not wait for the old value
//   one thread per element  atom
//   copies in lanes         atom by the first of them, then a shuffle
//   copies in warps, too    atom, then through scratch in shared memory
//   a scalar                thread 0, then through scratch: once per program
//   copies in blocks        the same; all blocks read the scratch of the first of them
//   loads and stores       ld and st with order and scope, by the same threads
//   extrema of f16 and bf16, and sums of bf16 below sm_90
//                           a loop of atom.cas.b16
//
// A load that may find other programs' writes (LowerMemory.cpp) hands on its result likewise.
//
// A red has no acquire semantics. Without a result the kernel cannot tell what it has
// acquired, so acquire becomes relaxed and acq_rel becomes release.
//
// An ordered atomic waits for all of its thread's accesses. Where a thread has several
// elements it waits once: a fence before them, relaxed atomics, and a fence after them if
// something is acquired (PTX ISA, release and acquire patterns).
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/MemoryInternal.h"

#include "ir/layout/LayoutMemory.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {

/// What one kind of atomic does to all its elements.
struct AtomicForm {
  /// Between "atom" or "red" and the operands: ".release.gpu.global.add.f32".
  std::string suffix;
  /// The elements of one instruction as registers of inline PTX.
  WordFormat format;
  bool hasResult = false;
  /// Where there is no instruction: what computes "next" from "expected" and $2 in a
  /// loop of compare-and-swap.
  std::string retried;
};

} // namespace

/// ".add.noftz.v2.bf16x2" for words of floats.
static std::string additionSuffix(Type type, const WordFormat &format) {
  bool isHalf = type.isF16() || type.isBF16();
  std::string result = isHalf ? ".add.noftz" : ".add";
  if (format.numWords > 1)
    result += ".v" + std::to_string(format.numWords);
  result += type.isBF16() ? ".bf16" : ".f" + std::to_string(format.elementBits);
  return result + (format.perWord == 2 ? "x2" : "");
}

/// ".add.f32" for a kind and element type; empty where there is none.
static std::string operationSuffix(ir::AtomicKind kind, Type type, const WordFormat &format) {
  unsigned width = FunctionLowering::bitWidth(type);
  std::string bits = std::to_string(width);
  bool isFloat = llvm::isa<FloatType>(type);
  if (kind == ir::AtomicKind::fadd)
    return isFloat && width >= 16 ? additionSuffix(type, format) : "";
  if (width != 32 && width != 64)
    return "";
  switch (kind) {
  case ir::AtomicKind::exchange:
    return ".exch.b" + bits;
  case ir::AtomicKind::add:
    return isFloat ? "" : ".add.u" + bits;
  case ir::AtomicKind::bit_and:
    return isFloat ? "" : ".and.b" + bits;
  case ir::AtomicKind::bit_or:
    return isFloat ? "" : ".or.b" + bits;
  case ir::AtomicKind::bit_xor:
    return isFloat ? "" : ".xor.b" + bits;
  case ir::AtomicKind::smax:
    return isFloat ? "" : ".max.s" + bits;
  case ir::AtomicKind::smin:
    return isFloat ? "" : ".min.s" + bits;
  case ir::AtomicKind::umax:
    return isFloat ? "" : ".max.u" + bits;
  case ir::AtomicKind::umin:
    return isFloat ? "" : ".min.u" + bits;
  case ir::AtomicKind::fadd:
  case ir::AtomicKind::fmax:
  case ir::AtomicKind::fmin:
  case ir::AtomicKind::load:
  case ir::AtomicKind::store:
    break;
  }
  return "";
}

/// What computes "next" from "expected" and $2 where f16 and bf16 need a loop; else empty.
static std::string retriedOperation(ir::AtomicKind kind, Type type, const TargetInfo &target) {
  if (!type.isF16() && !type.isBF16())
    return "";
  std::string name = type.isF16() ? "f16" : "bf16";
  // There is no addition of bf16 in registers either; fma(expected, 1, $2) rounds once.
  if (kind == ir::AtomicKind::fadd && type.isBF16() && !target.hasBf16AtomicAdd)
    return "mov.b16 next, 0x3f80;\nfma.rn.bf16 next, expected, next, $2;\n";
  if (kind == ir::AtomicKind::fmax)
    return "max." + name + " next, expected, $2;\n";
  if (kind == ir::AtomicKind::fmin)
    return "min." + name + " next, expected, $2;\n";
  return "";
}

/// How the atomics of one op are ordered.
struct AtomicOrder {
  /// The order of each single instruction.
  ir::MemorySemantic semantic;
  ir::MemoryScope scope;
  bool hasFenceBefore = false, hasFenceBehind = false;

  /// ".acq_rel.gpu.global"
  std::string suffix(unsigned addressSpace) const { return ordering() + space(addressSpace); }
  /// ".global.acq_rel.gpu": assemblers take both, and programs look for Triton's spelling
  /// of a compare-and-swap.
  std::string suffixOfSwap(unsigned addressSpace) const { return space(addressSpace) + ordering(); }

private:
  std::string ordering() const {
    return "." + ir::stringifyMemorySemantic(semantic).str() + "." +
           ir::stringifyMemoryScope(scope).str();
  }
  static std::string space(unsigned addressSpace) {
    return addressSpace == 3 ? ".shared" : ".global";
  }
};

/// Weakens the semantic of a red, and replaces that of many atomics, as said above.
static AtomicOrder orderOf(ir::MemorySemantic semantic, ir::MemoryScope scope, bool hasResult,
                           const AccessPlan &plan) {
  using ir::MemorySemantic;
  if (!hasResult && semantic == MemorySemantic::acquire)
    semantic = MemorySemantic::relaxed;
  if (!hasResult && semantic == MemorySemantic::acq_rel)
    semantic = MemorySemantic::release;
  AtomicOrder order{semantic, scope};
  if (plan.accesses.size() <= 1 || semantic == MemorySemantic::relaxed)
    return order;
  order.hasFenceBefore = semantic != MemorySemantic::acquire;
  order.hasFenceBehind = semantic != MemorySemantic::release;
  order.semantic = MemorySemantic::relaxed;
  return order;
}

/// In the threads for which `predicate` holds (null: in all).
static void emitFence(FunctionLowering &lowering, ir::MemoryScope scope, Value predicate) {
  std::string fence = "fence.acq_rel." + ir::stringifyMemoryScope(scope).str() + ";";
  if (predicate)
    lowering.inlineAsm(Type(), {predicate}, "@$0 " + fence, "b,~{memory}", /*hasSideEffects=*/true);
  else
    lowering.inlineAsm(Type(), {}, fence, "~{memory}", /*hasSideEffects=*/true);
}

static const char *constraintOf(unsigned width) {
  return width == 64 ? "l" : width == 32 ? "r" : "h";
}

/// "@$3 " where there is a predicate, which is the last operand.
static std::string guardOf(llvm::SmallVectorImpl<Value> &operands, std::string &constraints,
                           int numOutputs, Value predicate) {
  if (!predicate)
    return "";
  std::string guard = "@$" + std::to_string(numOutputs + operands.size()) + " ";
  operands.push_back(predicate);
  constraints += ",b";
  return guard;
}

/// One atom or red on words of elements, or with two operands of one word each; returns the old
/// words, none without a result.
static Registers emitAtomic(FunctionLowering &lowering, const AtomicForm &form, Value address,
                            llvm::ArrayRef<Value> words, Value predicate) {
  llvm::SmallVector<Value> operands{address};
  int numWords = form.format.numWords, numOutputs = form.hasResult ? numWords : 0;
  // "$0" or "{$0, $1}"
  auto list = [&](int first) {
    return numWords > 1 ? wordList(first, numWords) : "$" + std::to_string(first);
  };
  std::string constraints, constraint = form.format.constraint();
  for (int word = 0; word < numOutputs; ++word)
    constraints += "=" + constraint + ",";
  constraints += "l";
  std::string assembly = (form.hasResult ? "atom" : "red") + form.suffix +
                         (form.hasResult ? " " + list(0) + "," : "") + " [$" +
                         std::to_string(numOutputs) + "]";
  for (size_t index = 0; index < words.size(); index += numWords)
    assembly += ", " + list(numOutputs + 1 + static_cast<int>(index));
  for (Value word : words) {
    operands.push_back(word);
    constraints += "," + constraint;
  }
  std::string guard = guardOf(operands, constraints, numOutputs, predicate);
  Type wordType = form.format.wordType(lowering.builder);
  // A register that a false predicate leaves unset must have a value all the same.
  for (int word = 0; predicate && word < numOutputs; ++word) {
    operands.push_back(lowering.zero(wordType));
    constraints += "," + std::to_string(word);
  }
  return lowering.inlineAsmResults(llvm::SmallVector<Type>(numOutputs, wordType), operands,
                                   guard + assembly + ";", constraints + ",~{memory}",
                                   /*hasSideEffects=*/true);
}

/// `form.retried` until no other thread came between.
static Value emitRetried(FunctionLowering &lowering, const AtomicForm &form, Value address,
                         Value value, Value predicate) {
  llvm::SmallVector<Value> operands{address, lowering.toBits(value)};
  std::string constraints = "=&h,l,h";
  std::string skip = guardOf(operands, constraints, 1, predicate);
  std::string assembly = "{\n"
                         ".reg .pred again;\n"
                         ".reg .b16 expected, next;\n"
                         "mov.b16 $0, 0;\n";
  if (predicate)
    assembly += "@!" + skip.substr(1) + "bra done;\n";
  assembly += "ld.relaxed.gpu.global.b16 $0, [$1];\n"
              "retry:\n"
              "mov.b16 expected, $0;\n" +
              form.retried + "atom" + form.suffix +
              " $0, [$1], expected, next;\n"
              "setp.ne.b16 again, $0, expected;\n"
              "@again bra retry;\n"
              "done:\n"
              "}";
  return lowering.inlineAsm(form.format.wordType(lowering.builder), operands, assembly,
                            constraints + ",~{memory}", /*hasSideEffects=*/true);
}

/// One ld or st. Bytes travel in registers of 16 bits, which PTX has as the smallest.
static Value emitOrderedAccess(FunctionLowering &lowering, bool isLoad, const std::string &order,
                               unsigned width, Value address, Value value, Value predicate) {
  OpBuilder &builder = lowering.builder;
  Type wire = builder.getIntegerType(std::max(16u, width));
  std::string constraint = constraintOf(width), type = ".b" + std::to_string(width);
  llvm::SmallVector<Value> operands{address};
  std::string constraints = isLoad ? "=" + constraint + ",l" : "l";
  if (!isLoad) {
    Value bits = lowering.toBits(value);
    operands.push_back(width < 16 ? builder.create<LLVM::ZExtOp>(lowering.loc, wire, bits) : bits);
    constraints += "," + constraint;
  }
  std::string guard = guardOf(operands, constraints, isLoad ? 1 : 0, predicate);
  // A register that a false predicate leaves unset must have a value all the same.
  if (isLoad && predicate) {
    operands.push_back(lowering.zero(wire));
    constraints += ",0";
  }
  std::string assembly =
      isLoad ? "ld" + order + type + " $0, [$1];" : "st" + order + type + " [$0], $1;";
  Value loaded = lowering.inlineAsm(isLoad ? wire : Type(), operands, guard + assembly,
                                    constraints + ",~{memory}", /*hasSideEffects=*/true);
  if (!isLoad || width >= 16)
    return loaded;
  return builder.create<LLVM::TruncOp>(lowering.loc, builder.getIntegerType(width), loaded);
}

//===----------------------------------------------------------------------===//
// Spreading the result
//===----------------------------------------------------------------------===//

/// The bits of the block's rank that tell copies apart.
static uint32_t duplicateBlocks(FunctionLowering &lowering, Type type) {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  return tile ? ir::duplicateBlockMask(ir::getLinearLayout(tile), lowering.numBlocks)
              : static_cast<uint32_t>(lowering.numBlocks - 1);
}

/// Gives the old values that owners hold to all threads that hold copies, through
/// scratch. The barrier before the write is the barrier pass's business; the one
/// between write and read is ours.
static LogicalResult spreadThroughShared(Operation *op, FunctionLowering &lowering,
                                         Registers &results, const AccessPlan &plan) {
  if (!op->hasAttr(ir::scratchOffsetAttr))
    return op->emitOpError("has no scratch in shared memory for its result");
  OpBuilder &builder = lowering.builder;
  Type type = op->getResult(0).getType();
  Type transport =
      builder.getIntegerType(std::max(8u, FunctionLowering::bitWidth(results.front().getType())));
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  Value base = lowering.sharedAddress(lowering.scratchOffset(op));
  auto addressOf = [&](int index) -> Value {
    if (!tile)
      return base;
    Value element = lowering.elementIndex(ir::getLinearLayout(tile), index);
    return builder.create<LLVM::GEPOp>(lowering.loc, base.getType(), transport, base,
                                       ValueRange{element});
  };
  ++lowering.sharedTraffic.unexamined;
  WordFormat format(FunctionLowering::bitWidth(transport), 1);
  Value owner = lowering.ownsElements(type);
  for (const AccessRegisters &access : plan.accesses)
    for (int index : access) {
      llvm::SmallVector<Value> words = packWords(lowering, format, results[index]);
      std::string assembly = "@$2 st.shared.b" + std::to_string(format.wordBits) + " [$0], $1;";
      lowering.inlineAsm(Type(), {addressOf(index), words.front(), owner}, assembly,
                         std::string("l,") + format.constraint() + ",b,~{memory}",
                         /*hasSideEffects=*/true);
    }
  uint32_t blockMask = duplicateBlocks(lowering, type);
  Value rank;
  if (blockMask) {
    rank = builder.create<LLVM::AndOp>(lowering.loc, lowering.blockRank(),
                                       lowering.constantI32(~blockMask));
    lowering.barrierOfBlocks();
  } else {
    lowering.barrier();
  }
  for (const AccessRegisters &access : plan.accesses)
    for (int index : access) {
      Value address = addressOf(index);
      llvm::SmallVector<Value> words =
          rank ? emitClusterLoad(lowering, lowering.addressInBlock(address, rank), format)
               : emitPlainLoad(lowering, address, format);
      results[index] = unpackWords(lowering, format, words, results[index].getType()).front();
    }
  return success();
}

/// Gives the owners' values to the lanes that hold copies: each reads the lane
/// with the copying bits cleared.
static void spreadThroughLanes(FunctionLowering &lowering, uint32_t laneMask, Registers &results) {
  Value kept = lowering.constantI32(~laneMask & 31);
  Value source = lowering.builder.create<LLVM::AndOp>(lowering.loc, lowering.laneId(), kept);
  for (Value &result : results)
    if (result)
      result = lowering.shuffleIndex(result, source);
}

LogicalResult spreadResult(Operation *op, FunctionLowering &lowering, Registers &results,
                           const AccessPlan &plan) {
  auto tile = llvm::dyn_cast<RankedTensorType>(op->getResult(0).getType());
  HardwareIndex duplicates;
  if (tile)
    duplicates = duplicateThreadMasks(ir::getLinearLayout(tile));
  if (!tile || duplicates[InDim::Warp] != 0 || duplicateBlocks(lowering, tile) != 0)
    return spreadThroughShared(op, lowering, results, plan);
  if (duplicates[InDim::Lane] != 0)
    spreadThroughLanes(lowering, duplicates[InDim::Lane], results);
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Runs `emit(registers, predicate)` for each access of this op and sets the results to the
/// elements that it gives.
static LogicalResult mapAtomics(Operation *op, FunctionLowering &lowering, const AccessPlan &plan,
                                const AtomicOrder &order, Value pointer, Value mask, bool hasResult,
                                llvm::function_ref<Registers(llvm::ArrayRef<int>, Value)> emit) {
  Type type = op->getResult(0).getType();
  const Registers *masks = mask ? &lowering.get(mask) : nullptr;
  Value owner = lowering.ownsElements(type);
  Registers results(lowering.get(pointer).size());
  if (order.hasFenceBefore)
    emitFence(lowering, order.scope, owner);
  for (const AccessRegisters &access : plan.accesses) {
    Value predicate = masks ? (*masks)[access.front()] : Value();
    predicate = isAlways(predicate) ? owner : conjunction(lowering, predicate, owner);
    Registers elements = emit(access, predicate);
    if (hasResult)
      for (auto [index, element] : llvm::zip_equal(access, elements))
        results[index] = element;
  }
  if (order.hasFenceBehind)
    emitFence(lowering, order.scope, owner);
  if (!hasResult)
    return success();
  if (failed(spreadResult(op, lowering, results, plan)))
    return failure();
  for (size_t index = 0; index < results.size(); ++index)
    results[index] = results[plan.copyOf[index]];
  lowering.set(op->getResult(0), std::move(results));
  return success();
}

static unsigned addressSpaceOf(Value pointer) {
  return llvm::cast<ir::PointerType>(getElementTypeOrSelf(pointer.getType())).getAddressSpace();
}

/// An atomic load, whose result is read or not, or a store.
static LogicalResult lowerOrderedAccess(ir::AtomicRmwOp atomic, FunctionLowering &lowering) {
  bool isLoad = atomic.getKind() == ir::AtomicKind::load;
  Type type = lowering.registerType(getElementTypeOrSelf(atomic.getValue()));
  AccessPlan plan =
      planAccesses(atomic, atomic.getResult().getType(), lowering.target, /*maxElements=*/1);
  AtomicOrder order = orderOf(atomic.getSemantic(), atomic.getScope(), /*hasResult=*/isLoad, plan);
  std::string suffix = order.suffix(addressSpaceOf(atomic.getPointer()));
  const Registers &pointers = lowering.get(atomic.getPointer()),
                  &values = lowering.get(atomic.getValue());
  return mapAtomics(atomic, lowering, plan, order, atomic.getPointer(), atomic.getMask(),
                    isLoad && !atomic.getResult().use_empty(),
                    [&](llvm::ArrayRef<int> access, Value predicate) -> Registers {
                      int index = access.front();
                      Value bits = emitOrderedAccess(
                          lowering, isLoad, suffix, FunctionLowering::bitWidth(type),
                          pointers[index], isLoad ? Value() : values[index], predicate);
                      return {isLoad ? lowering.fromBits(bits, type) : Value()};
                    });
}

static LogicalResult lowerAtomicRmw(Operation *op, FunctionLowering &lowering) {
  auto atomic = llvm::cast<ir::AtomicRmwOp>(op);
  if (atomic.getKind() == ir::AtomicKind::load || atomic.getKind() == ir::AtomicKind::store)
    return lowerOrderedAccess(atomic, lowering);
  Type type = lowering.registerType(getElementTypeOrSelf(atomic.getValue()));
  std::string retried = retriedOperation(atomic.getKind(), type, lowering.target);
  bool takesVectors = atomic.getKind() == ir::AtomicKind::fadd && retried.empty();
  AccessPlan plan =
      planAccesses(op, op->getResult(0).getType(), lowering.target, takesVectors ? INT64_MAX : 1);
  WordFormat format(FunctionLowering::bitWidth(type), plan.accesses.front().size());
  std::string operation =
      retried.empty() ? operationSuffix(atomic.getKind(), type, format) : ".cas.b16";
  if (operation.empty())
    return op->emitOpError("has no instruction for ") << getElementTypeOrSelf(atomic.getValue());
  bool isResultUsed = !op->getResult(0).use_empty();
  // `red` has no exchange: the old value goes to a register that is not read.
  bool hasResult = isResultUsed || atomic.getKind() == ir::AtomicKind::exchange;
  AtomicOrder order =
      orderOf(atomic.getSemantic(), atomic.getScope(), hasResult || !retried.empty(), plan);
  AtomicForm form{order.suffix(addressSpaceOf(atomic.getPointer())) + operation, format, hasResult,
                  retried};
  const Registers &pointers = lowering.get(atomic.getPointer()),
                  &values = lowering.get(atomic.getValue());
  return mapAtomics(op, lowering, plan, order, atomic.getPointer(), atomic.getMask(), isResultUsed,
                    [&](llvm::ArrayRef<int> access, Value predicate) {
                      Value address = pointers[access.front()];
                      Registers elements, words;
                      for (int index : access)
                        elements.push_back(values[index]);
                      if (retried.empty())
                        words = emitAtomic(lowering, form, address,
                                           packWords(lowering, format, elements), predicate);
                      else
                        words = {emitRetried(lowering, form, address, elements.front(), predicate)};
                      return unpackWords(lowering, format, words, type);
                    });
}

static LogicalResult lowerAtomicCas(Operation *op, FunctionLowering &lowering) {
  auto atomic = llvm::cast<ir::AtomicCasOp>(op);
  Type type = lowering.registerType(getElementTypeOrSelf(atomic.getValue()));
  unsigned width = FunctionLowering::bitWidth(type);
  if (width < 16)
    return op->emitOpError("has no instruction for ") << getElementTypeOrSelf(atomic.getValue());
  AccessPlan plan =
      planAccesses(op, op->getResult(0).getType(), lowering.target, /*maxElements=*/1);
  AtomicOrder order = orderOf(atomic.getSemantic(), atomic.getScope(), /*hasResult=*/true, plan);
  // There is no red form of it.
  AtomicForm form{order.suffixOfSwap(addressSpaceOf(atomic.getPointer())) + ".cas.b" +
                      std::to_string(width),
                  WordFormat(width, 1), /*hasResult=*/true, /*retried=*/""};
  const Registers &pointers = lowering.get(atomic.getPointer());
  const Registers &compares = lowering.get(atomic.getCompare()),
                  &values = lowering.get(atomic.getValue());
  return mapAtomics(
      op, lowering, plan, order, atomic.getPointer(), /*mask=*/Value(),
      !op->getResult(0).use_empty(), [&](llvm::ArrayRef<int> access, Value predicate) {
        int index = access.front();
        llvm::SmallVector<Value> words{lowering.toBits(compares[index]),
                                       lowering.toBits(values[index])};
        return unpackWords(lowering, form.format,
                           emitAtomic(lowering, form, pointers[index], words, predicate), type);
      });
}

void addAtomicLowerings(LoweringTable &table) {
  table.add(ir::AtomicRmwOp::getOperationName(), lowerAtomicRmw);
  table.add(ir::AtomicCasOp::getOperationName(), lowerAtomicCas);
}

} // namespace tilewright::codegen
