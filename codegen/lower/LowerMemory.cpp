//===- LowerMemory.cpp - Loads and stores ---------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.load and tw.store as vector accesses of up to 16 bytes per thread.
//
// How: registers that hold consecutive elements form one access, as wide as the
// passes have proven (tw.vector_elements). An access without mask and modifier
// is a native LLVM one, so that LLVM folds its address and schedules it; all
// others are inline PTX under a predicate, since a branch around each access
// would serialise them. Masked-off elements keep the initial value of the
// register, which is `other` or zero. A load with more masks than the
// assembler issues in a row is there twice, behind one branch: without masks, and
// with them.
//
// Every thread loads what it holds. Where several threads hold copies, one
// stores: equal values to one address are harmless but cost bandwidth.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/AddressBases.h"
#include "codegen/lower/MemoryInternal.h"

#include "ir/layout/LayoutMemory.h"
#include "ir/support/Hardware.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Grouping
//===----------------------------------------------------------------------===//

AccessPlan planAccesses(Operation *op, Type type, const TargetInfo &target, int64_t maxElements) {
  AccessPlan plan;
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  if (!tile) {
    plan.accesses = {{0}};
    plan.copyOf = {0};
    return plan;
  }
  LinearLayout layout = ir::getLinearLayout(tile);
  auto proven = op->getAttrOfType<IntegerAttr>(ir::vectorElementsAttr);
  auto dimension = op->getAttrOfType<IntegerAttr>(ir::vectorDimensionAttr);
  int64_t widest = target.maxVectorBytes * 8 / ir::elementBits(tile.getElementType());
  int64_t elements =
      std::max<int64_t>(1, std::min({widest, maxElements, proven ? proven.getInt() : 1}));
  int axis = dimension ? static_cast<int>(dimension.getInt()) : layout.rank() - 1;
  VectorRegisters vectors = vectorRegisters(layout, axis, llvm::Log2_64(elements));

  // Registers whose zero columns are set repeat the one without them.
  uint32_t copies = layout.freeVariableMask(InDim::Register);
  plan.copyOf.resize(layout.inSize(InDim::Register));
  for (int index = 0; index < layout.inSize(InDim::Register); ++index)
    plan.copyOf[index] = index & ~copies;
  for (int vector = 0; vector < vectors.numVectors(); ++vector) {
    auto first = vectors.registers.begin() + vector * vectors.numElements();
    if (*first & copies)
      continue;
    plan.accesses.emplace_back(first, first + vectors.numElements());
  }
  return plan;
}

Value conjunction(FunctionLowering &lowering, Value left, Value right) {
  if (!left || !right)
    return left ? left : right;
  return lowering.builder.create<LLVM::AndOp>(lowering.loc, left, right);
}

bool isAlways(Value predicate) {
  if (!predicate)
    return true;
  auto constant = predicate.getDefiningOp<LLVM::ConstantOp>();
  auto value = constant ? llvm::dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  return value && !value.getValue().isZero();
}

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

/// Made once per kernel would be enough, and LLVM merges equal ones since they
/// are pure.
Value makePolicy(FunctionLowering &lowering, ir::Eviction eviction) {
  std::string assembly =
      "createpolicy.fractional.L2::" + ir::stringifyEviction(eviction).str() + ".b64 $0, 1.0;";
  return lowering.inlineAsm(lowering.builder.getI64Type(), {}, assembly, "=l",
                            /*hasSideEffects=*/false);
}

AccessModifiers modifiersOf(FunctionLowering &lowering, unsigned addressSpace,
                            ir::CacheModifier cache, ir::Eviction eviction, bool isVolatile) {
  AccessModifiers result;
  result.text = isVolatile ? ".volatile" : "";
  result.text += addressSpace == 3 ? ".shared" : ".global";
  result.isPlain = !isVolatile;
  // Shared memory has no caches, and a volatile access takes no hints.
  if (isVolatile || addressSpace == 3)
    return result;
  if (cache != ir::CacheModifier::none) {
    result.text += "." + ir::stringifyCacheModifier(cache).str();
    result.isPlain = false;
  }
  if (eviction != ir::Eviction::normal && lowering.target.hasEvictionHints) {
    // An instruction has either a cache operator or an L1 priority.
    if (cache == ir::CacheModifier::none)
      result.text += ".L1::" + ir::stringifyEviction(eviction).str();
    result.text += ".L2::cache_hint";
    result.policy = makePolicy(lowering, eviction);
    result.isPlain = false;
  }
  return result;
}

/// ".v4.b32".
static std::string widthSuffix(const WordFormat &format) {
  std::string result = format.numWords > 1 ? ".v" + std::to_string(format.numWords) : "";
  return result + ".b" + std::to_string(format.wordBits);
}

std::string wordList(int first, int count) {
  std::string result = "{";
  for (int index = 0; index < count; ++index)
    result += (index ? ", $" : "$") + std::to_string(first + index);
  return result + "}";
}

/// The words as registers of inline PTX, and back: bytes widen to 16 bits.
static Value widenByte(FunctionLowering &lowering, Value word) {
  if (!word.getType().isInteger(8))
    return word;
  return lowering.builder.create<LLVM::ZExtOp>(lowering.loc, lowering.builder.getIntegerType(16),
                                               word);
}

static Value narrowByte(FunctionLowering &lowering, Value word, const WordFormat &format) {
  if (format.wordBits != 8)
    return word;
  return lowering.builder.create<LLVM::TruncOp>(lowering.loc, lowering.builder.getIntegerType(8),
                                                word);
}

//===----------------------------------------------------------------------===//
// Load
//===----------------------------------------------------------------------===//

/// ld under a predicate; `initial` are the words where it is false.
static llvm::SmallVector<Value> emitPredicatedLoad(FunctionLowering &lowering, Value address,
                                                   Value predicate, const WordFormat &format,
                                                   llvm::ArrayRef<Value> initial,
                                                   const AccessModifiers &modifiers,
                                                   bool isVolatile) {
  OpBuilder &builder = lowering.builder;
  int numWords = format.numWords;
  // Operands: outputs, address, then predicate, policy, initial values.
  llvm::SmallVector<Value> operands{address};
  std::string constraints;
  for (int word = 0; word < numWords; ++word)
    constraints += std::string(word ? ",=" : "=") + format.constraint();
  constraints += ",l";
  std::string assembly;
  if (predicate) {
    assembly = "@$" + std::to_string(numWords + operands.size()) + " ";
    operands.push_back(predicate);
    constraints += ",b";
  }
  assembly += "ld" + modifiers.text + widthSuffix(format) + " " + wordList(0, numWords) + ", [$" +
              std::to_string(numWords) + "]";
  if (modifiers.policy) {
    assembly += ", $" + std::to_string(numWords + operands.size());
    operands.push_back(modifiers.policy);
    constraints += ",l";
  }
  if (predicate)
    for (int word = 0; word < numWords; ++word) {
      operands.push_back(widenByte(lowering, initial[word]));
      constraints += "," + std::to_string(word);
    }
  constraints += ",~{memory}";

  Type wordType = format.wordBits == 8 ? builder.getIntegerType(16) : format.wordType(builder);
  llvm::SmallVector<Value> words;
  if (numWords == 1) {
    Value word = lowering.inlineAsm(wordType, operands, assembly + ";", constraints, isVolatile);
    words.push_back(narrowByte(lowering, word, format));
    return words;
  }
  llvm::SmallVector<Type> types(numWords, wordType);
  Type structType = LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  Value all = lowering.inlineAsm(structType, operands, assembly + ";", constraints, isVolatile);
  for (int word = 0; word < numWords; ++word)
    words.push_back(builder.create<LLVM::ExtractValueOp>(lowering.loc, all, word));
  return words;
}

llvm::SmallVector<Value> emitPlainLoad(FunctionLowering &lowering, Value address,
                                       const WordFormat &format) {
  OpBuilder &builder = lowering.builder;
  unsigned alignment = format.wordBits * format.numWords / 8;
  if (format.numWords == 1)
    return {
        builder.create<LLVM::LoadOp>(lowering.loc, format.wordType(builder), address, alignment)};
  Type vectorType = VectorType::get({format.numWords}, format.wordType(builder));
  Value vector = builder.create<LLVM::LoadOp>(lowering.loc, vectorType, address, alignment);
  llvm::SmallVector<Value> words;
  for (int word = 0; word < format.numWords; ++word)
    words.push_back(
        builder.create<LLVM::ExtractElementOp>(lowering.loc, vector, lowering.constantI32(word)));
  return words;
}

static llvm::SmallVector<Value> loadWords(FunctionLowering &lowering, Value address, Value mask,
                                          llvm::ArrayRef<Value> initial, const WordFormat &format,
                                          const AccessModifiers &modifiers, bool isVolatile) {
  if (isAlways(mask) && modifiers.isPlain)
    return emitPlainLoad(lowering, address, format);
  return emitPredicatedLoad(lowering, address, isAlways(mask) ? Value() : mask, format,
                            packWords(lowering, format, initial), modifiers, isVolatile);
}

llvm::SmallVector<Value> loadElements(FunctionLowering &lowering, Value address, Value mask,
                                      llvm::ArrayRef<Value> initial, const WordFormat &format,
                                      const AccessModifiers &modifiers, bool isVolatile) {
  return unpackWords(lowering, format,
                     loadWords(lowering, address, mask, initial, format, modifiers, isVolatile),
                     initial.front().getType());
}

llvm::SmallVector<Value> emitClusterLoad(FunctionLowering &lowering, Value address,
                                         const WordFormat &format) {
  OpBuilder &builder = lowering.builder;
  std::string constraints;
  for (int word = 0; word < format.numWords; ++word)
    constraints += std::string("=") + format.constraint() + ",";
  Type wordType = format.wordBits == 8 ? builder.getIntegerType(16) : format.wordType(builder);
  // It reads memory, so it must stay after the preceding barrier.
  Registers words = lowering.inlineAsmResults(
      llvm::SmallVector<Type>(format.numWords, wordType), {address},
      "ld.shared::cluster" + widthSuffix(format) + " " + wordList(0, format.numWords) + ", [$" +
          std::to_string(format.numWords) + "];",
      constraints + "r,~{memory}", /*hasSideEffects=*/false);
  for (Value &word : words)
    word = narrowByte(lowering, word, format);
  return words;
}

/// Masks up to which the assembler issues loads in a row. With more than there are predicate
/// registers it may let them wait for each other, and with twice as many it does: ten of 16 loads
/// behind 8 masks stand in a row, or three, and none of 16 behind 16 (ptxas 13.0). A branch costs
/// registers, which products lack.
static size_t maxMasksInARow(const FunctionLowering &lowering) {
  return (lowering.hasProducts ? 2 : 1) * hardware::predicateRegisters;
}
static constexpr size_t registersOfAddress = 2;

/// Whether one branch chooses between loads with masks and without. Before it stand all addresses,
/// behind it all words: they must leave a quarter of a thread's registers to others. Elements a
/// stride apart have an address each. 128 of them in fp16, as in a batch normalisation of 64 x 256,
/// took 255 registers and spilled (193 without the branch, ptxas 13.0), and a product of 64x64x256
/// in fp8, whose second operand has rows of 971 bytes, spilled 3604 bytes and none without it.
static bool wantsBranch(const FunctionLowering &lowering, size_t numMasks, const AccessPlan &plan,
                        const Registers &pointers, size_t numWords) {
  if (numMasks <= maxMasksInARow(lowering))
    return false;
  llvm::SmallVector<Value> addresses;
  for (const AccessRegisters &access : plan.accesses)
    addresses.push_back(pointers[access.front()]);
  const TargetInfo &target = lowering.target;
  int64_t threads = int64_t(lowering.numWarps) << target.log2WarpSize;
  int64_t registers = std::min(target.maxRegistersPerThread, target.registersFor(threads));
  size_t needed = numWords + registersOfAddress * countAddressBases(addresses);
  return needed < static_cast<size_t>(registers - registers / 4);
}

/// Whether a mask is computed from a tile that is loaded, as of a gather whose indices may lie
/// outside: a branch would wait for all of it before the first load. Or from remainders, as of
/// windows of an image, whose columns i % n end within most warps: the branch would hardly ever be
/// taken, and loads of the windows wait for each other's. 41 us with it for a maximum over 3 x 3
/// windows of 64 x 64 images, 30 without (H200, November 2026).
static bool isLoadedOrPeriodic(Value mask) {
  llvm::SetVector<Value> from;
  from.insert(mask);
  for (size_t index = 0; index < from.size(); ++index) {
    Operation *op = from[index].getDefiningOp();
    if (op && llvm::isa<ir::LoadOp, arith::RemSIOp, arith::RemUIOp>(op))
      return true;
    for (Value operand : op ? op->getOperands() : ValueRange())
      if (llvm::isa<RankedTensorType>(operand.getType()))
        from.insert(operand);
  }
  return false;
}

/// The words of a load without masks where all of this warp's hold, as in every block but the
/// last of an array; else with them. With too few predicates for all masked loads in a row, the
/// assembler puts each where its elements are used: memory is waited for as many times.
static llvm::SmallVector<Value>
loadWholeOrMasked(FunctionLowering &lowering, llvm::ArrayRef<Value> distinctMasks,
                  llvm::function_ref<llvm::SmallVector<Value>(bool isMasked)> loadAll) {
  OpBuilder &builder = lowering.builder;
  Value isWhole;
  for (Value mask : distinctMasks)
    isWhole = conjunction(lowering, isWhole, mask);
  // A warp stays together: instructions that follow want all of its lanes at once.
  isWhole = lowering.inlineAsm(builder.getI1Type(), {isWhole},
                               "vote.sync.all.pred $0, $1, 0xffffffff;", "=b,b",
                               /*hasSideEffects=*/false);
  Block *before = builder.getInsertionBlock();
  Block *after = before->splitBlock(builder.getInsertionPoint());
  Block *whole = builder.createBlock(after), *masked = builder.createBlock(after);
  builder.setInsertionPointToEnd(before);
  builder.create<LLVM::CondBrOp>(lowering.loc, isWhole, whole, masked);
  for (Block *block : {whole, masked}) {
    builder.setInsertionPointToStart(block);
    llvm::SmallVector<Value> words = loadAll(/*isMasked=*/block == masked);
    builder.create<LLVM::BrOp>(lowering.loc, words, after);
    if (block == masked)
      for (Value word : words)
        after->addArgument(word.getType(), lowering.loc);
  }
  builder.setInsertionPointToStart(after);
  return llvm::to_vector_of<Value>(after->getArguments());
}

static LogicalResult lowerLoad(Operation *op, FunctionLowering &lowering) {
  auto load = llvm::cast<ir::LoadOp>(op);
  Type elementType = getElementTypeOrSelf(load.getType());
  Type registerType = lowering.registerType(elementType);
  auto pointerType = llvm::cast<ir::PointerType>(getElementTypeOrSelf(load.getPointer()));
  AccessPlan plan = planAccesses(op, load.getType(), lowering.target);
  AccessModifiers modifiers = modifiersOf(lowering, pointerType.getAddressSpace(), load.getCache(),
                                          load.getEviction(), load.getIsVolatile());
  const Registers &pointers = lowering.get(load.getPointer());
  const Registers *masks = load.getMask() ? &lowering.get(load.getMask()) : nullptr;
  const Registers *others = load.getOther() ? &lowering.get(load.getOther()) : nullptr;
  WordFormat format(ir::elementBits(elementType), static_cast<int>(plan.accesses.front().size()));
  bool isReadOnce = load.mayChangeMeanwhile() && !load.getResult().use_empty();
  Value owner = isReadOnce ? lowering.ownsElements(load.getType()) : Value();

  auto wordsOf = [&](const AccessRegisters &access, bool isMasked) {
    llvm::SmallVector<Value> initial;
    for (int index : access)
      initial.push_back(others ? (*others)[index] : lowering.zero(registerType));
    // The mask is equal within a vector, by what vector_elements promises.
    Value mask = isMasked ? (*masks)[access.front()] : Value();
    if (owner)
      mask = isAlways(mask) ? owner : conjunction(lowering, mask, owner);
    return loadWords(lowering, pointers[access.front()], mask, initial, format, modifiers,
                     load.mayChangeMeanwhile());
  };
  Registers results(pointers.size());
  auto unpack = [&](const AccessRegisters &access, llvm::ArrayRef<Value> words) {
    for (auto [index, element] :
         llvm::zip(access, unpackWords(lowering, format, words, registerType)))
      results[index] = element;
  };
  llvm::SetVector<Value> distinctMasks;
  for (const AccessRegisters &access : plan.accesses)
    if (masks && !isAlways((*masks)[access.front()]))
      distinctMasks.insert((*masks)[access.front()]);
  size_t numWords = plan.accesses.size() * format.numWords * llvm::divideCeil(format.wordBits, 32);
  if (wantsBranch(lowering, distinctMasks.size(), plan, pointers, numWords) &&
      !load.mayChangeMeanwhile() && !isLoadedOrPeriodic(load.getMask())) {
    llvm::SmallVector<Value> words =
        loadWholeOrMasked(lowering, distinctMasks.getArrayRef(), [&](bool isMasked) {
          llvm::SmallVector<Value> all;
          for (const AccessRegisters &access : plan.accesses)
            llvm::append_range(all, wordsOf(access, isMasked));
          return all;
        });
    for (auto [index, access] : llvm::enumerate(plan.accesses))
      unpack(access, llvm::ArrayRef(words).slice(index * format.numWords, format.numWords));
  } else {
    for (const AccessRegisters &access : plan.accesses)
      unpack(access, wordsOf(access, /*isMasked=*/masks != nullptr));
  }
  if (isReadOnce && failed(spreadResult(op, lowering, results, plan)))
    return failure();
  for (size_t index = 0; index < results.size(); ++index)
    results[index] = results[plan.copyOf[index]];
  lowering.set(load.getResult(), std::move(results));
  return success();
}

//===----------------------------------------------------------------------===//
// Store
//===----------------------------------------------------------------------===//

static void emitPredicatedStore(FunctionLowering &lowering, Value address, Value predicate,
                                const WordFormat &format, llvm::ArrayRef<Value> words,
                                const AccessModifiers &modifiers) {
  llvm::SmallVector<Value> operands{address};
  std::string constraints = "l", assembly;
  for (Value word : words) {
    operands.push_back(widenByte(lowering, word));
    constraints += std::string(",") + format.constraint();
  }
  if (predicate) {
    assembly = "@$" + std::to_string(operands.size()) + " ";
    operands.push_back(predicate);
    constraints += ",b";
  }
  assembly +=
      "st" + modifiers.text + widthSuffix(format) + " [$0], " + wordList(1, format.numWords);
  if (modifiers.policy) {
    assembly += ", $" + std::to_string(operands.size());
    operands.push_back(modifiers.policy);
    constraints += ",l";
  }
  constraints += ",~{memory}";
  lowering.inlineAsm(Type(), operands, assembly + ";", constraints, /*hasSideEffects=*/true);
}

void emitPlainStore(FunctionLowering &lowering, Value address, const WordFormat &format,
                    llvm::ArrayRef<Value> words) {
  OpBuilder &builder = lowering.builder;
  unsigned alignment = format.wordBits * format.numWords / 8;
  Value stored = words.front();
  if (format.numWords > 1) {
    stored = builder.create<LLVM::UndefOp>(
        lowering.loc, VectorType::get({format.numWords}, format.wordType(builder)));
    for (int word = 0; word < format.numWords; ++word)
      stored = builder.create<LLVM::InsertElementOp>(lowering.loc, stored, words[word],
                                                     lowering.constantI32(word));
  }
  builder.create<LLVM::StoreOp>(lowering.loc, stored, address, alignment);
}

void emitSharedStore(FunctionLowering &lowering, std::pair<Value, int64_t> address,
                     const WordFormat &format, llvm::ArrayRef<Value> words, Value predicate) {
  llvm::SmallVector<Value> operands{address.first};
  std::string constraints = "r", assembly;
  for (Value word : words) {
    operands.push_back(widenByte(lowering, word));
    constraints += std::string(",") + format.constraint();
  }
  if (!isAlways(predicate)) {
    assembly = "@$" + std::to_string(operands.size()) + " ";
    operands.push_back(predicate);
    constraints += ",b";
  }
  assembly += "st.shared" + widthSuffix(format) + " [$0+" + std::to_string(address.second) + "], " +
              wordList(1, format.numWords) + ";";
  lowering.inlineAsm(Type(), operands, assembly, constraints + ",~{memory}",
                     /*hasSideEffects=*/true);
}

static LogicalResult lowerStore(Operation *op, FunctionLowering &lowering) {
  auto store = llvm::cast<ir::StoreOp>(op);
  Type valueType = store.getValue().getType();
  auto pointerType = llvm::cast<ir::PointerType>(getElementTypeOrSelf(store.getPointer()));
  AccessPlan plan = planAccesses(op, valueType, lowering.target);
  AccessModifiers modifiers = modifiersOf(lowering, pointerType.getAddressSpace(), store.getCache(),
                                          store.getEviction(), /*isVolatile=*/false);
  const Registers &pointers = lowering.get(store.getPointer());
  const Registers &values = lowering.get(store.getValue());
  const Registers *masks = store.getMask() ? &lowering.get(store.getMask()) : nullptr;
  Value owner = lowering.ownsElements(valueType);

  for (const AccessRegisters &access : plan.accesses) {
    WordFormat format(ir::elementBits(getElementTypeOrSelf(valueType)),
                      static_cast<int>(access.size()));
    llvm::SmallVector<Value> elements;
    for (int index : access)
      elements.push_back(values[index]);
    llvm::SmallVector<Value> words = packWords(lowering, format, elements);
    Value mask = masks ? (*masks)[access.front()] : Value();
    Value predicate = isAlways(mask) ? owner : conjunction(lowering, mask, owner);
    if (!predicate && modifiers.isPlain)
      emitPlainStore(lowering, pointers[access.front()], format, words);
    else
      emitPredicatedStore(lowering, pointers[access.front()], predicate, format, words, modifiers);
  }
  return success();
}

void addMemoryLowerings(LoweringTable &table) {
  table.add(ir::LoadOp::getOperationName(), lowerLoad);
  table.add(ir::StoreOp::getOperationName(), lowerStore);
}

} // namespace tilewright::codegen
