//===- LowerUserCode.cpp - Code of the user on registers ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.map, whose region is lowered once per group of registers, and
// tw.inline_asm, which is one LLVM inline assembly per group.
//
// How: a group is `pack` neighbouring registers of a thread; where the thread has
// fewer, the last one repeats. Operands of inline assembly are packed into
// integers, the first element lowest, and take the type that their constraint
// asks for: Triton's kernels name "r" for floats as well.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/Lowering.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::codegen {

/// Calls `body` with the registers of each group of the operands, in their order,
/// and makes results of what it returns in the same order.
static LogicalResult
lowerGroups(Operation *op, FunctionLowering &lowering, unsigned pack,
            llvm::function_ref<FailureOr<Registers>(llvm::ArrayRef<Value>)> body) {
  size_t count = FunctionLowering::numRegisters(op->getResult(0).getType());
  llvm::SmallVector<Registers> results(op->getNumResults());
  for (size_t start = 0; start < count; start += pack) {
    llvm::SmallVector<Value> group;
    for (Value operand : op->getOperands())
      for (size_t k = 0; k < pack; ++k)
        group.push_back(lowering.get(operand)[std::min(start + k, count - 1)]);
    FailureOr<Registers> values = body(group);
    if (failed(values))
      return failure();
    for (auto [index, value] : llvm::enumerate(*values))
      if (start + index % pack < count)
        results[index / pack].push_back(value);
  }
  for (auto [result, registers] : llvm::zip(op->getResults(), results))
    lowering.set(result, registers);
  return success();
}

static LogicalResult lowerMap(Operation *op, FunctionLowering &lowering) {
  auto map = llvm::cast<ir::MapOp>(op);
  return lowerGroups(op, lowering, map.getPack(), [&](llvm::ArrayRef<Value> group) {
    return lowering.inlineCombine(map.getBody(), group);
  });
}

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

namespace {

/// Elements of one type in the registers of one group.
struct Packing {
  Type type;           // of an element's register
  unsigned bits;       // of an element
  unsigned perOperand; // elements that share an assembly register

  Packing(FunctionLowering &lowering, Type element, unsigned pack)
      : type(lowering.registerType(element)), bits(std::max(8u, FunctionLowering::bitWidth(type))),
        perOperand(std::clamp(32 / bits, 1u, pack)) {}
};

class AssemblyLowering {
public:
  AssemblyLowering(ir::InlineAsmOp op, FunctionLowering &lowering) : op(op), lowering(lowering) {
    llvm::SmallVector<llvm::StringRef> entries;
    op.getConstraints().split(entries, ',');
    for (llvm::StringRef entry : entries) {
      entry = entry.trim();
      if (entry.empty() || entry.starts_with("~"))
        continue;
      bool isOutput = entry.consume_front("=");
      entry.consume_front("&");
      if (isOutput)
        outputs.push_back(typeOf(entry));
      else // a digit ties an input to an output
        inputs.push_back(llvm::isDigit(entry.front()) ? outputs[entry.front() - '0']
                                                      : typeOf(entry));
    }
  }

  /// The results of one group. Fails where an immediate is no constant.
  FailureOr<Registers> lower(llvm::ArrayRef<Value> group) {
    unsigned pack = op.getPack();
    llvm::SmallVector<Value> operands;
    for (auto [index, source] : llvm::enumerate(op.getSources())) {
      Packing packing(lowering, getElementTypeOrSelf(source.getType()), pack);
      llvm::ArrayRef<Value> elements = group.slice(index * pack, pack);
      for (; !elements.empty(); elements = elements.drop_front(packing.perOperand)) {
        Type type = inputs[operands.size()];
        if (!type && !llvm::all_of(elements, isConstant))
          return notConstant(index);
        operands.push_back(toOperand(elements.take_front(packing.perOperand), packing, type));
      }
    }
    std::string constraints = op.getConstraints().str();
    if (!op.getIsPure())
      constraints += ",~{memory}";
    Registers raw = lowering.inlineAsmResults(outputs, operands, op.getAssembly(), constraints,
                                              /*hasSideEffects=*/!op.getIsPure());
    Registers results;
    size_t next = 0;
    for (Value result : op.getResults()) {
      Packing packing(lowering, getElementTypeOrSelf(result.getType()), pack);
      for (unsigned k = 0; k < pack; k += packing.perOperand)
        fromResult(raw[next++], packing, results);
    }
    return results;
  }

private:
  static bool isConstant(Value element) { return matchPattern(element, m_Constant()); }

  LogicalResult notConstant(size_t index) {
    InFlightDiagnostic error = op->emitError("[E0117] tl.inline_asm_elementwise: args[")
                               << index << "] has a constraint for constants, 'n' or 'i'";
    error.attachNote() << "pass a constant, or use h, r or l for a register";
    return error;
  }

  /// The register type of a constraint's letter, none for immediates, which have that of the value.
  Type typeOf(llvm::StringRef constraint) {
    OpBuilder &builder = lowering.builder;
    switch (constraint.front()) {
    case 'i':
    case 'n':
      return Type();
    case 'b':
      return builder.getI1Type();
    case 'c':
    case 'h':
      return builder.getI16Type();
    case 'l':
      return builder.getI64Type();
    case 'f':
      return builder.getF32Type();
    case 'd':
      return builder.getF64Type();
    default:
      return builder.getI32Type();
    }
  }

  /// An integer in another width: high bits are zero or cut off.
  Value resize(Value value, unsigned width) {
    unsigned from = value.getType().getIntOrFloatBitWidth();
    Type type = lowering.builder.getIntegerType(width);
    if (from == width)
      return value;
    if (from < width)
      return lowering.builder.create<LLVM::ZExtOp>(lowering.loc, type, value);
    return lowering.builder.create<LLVM::TruncOp>(lowering.loc, type, value);
  }

  Value toOperand(llvm::ArrayRef<Value> elements, const Packing &packing, Type operandType) {
    OpBuilder &builder = lowering.builder;
    unsigned width = packing.bits * packing.perOperand;
    Value packed = resize(lowering.toBits(elements[0]), width);
    for (auto [k, element] : llvm::enumerate(elements.drop_front())) {
      Value wide = resize(lowering.toBits(element), width);
      Value distance = lowering.constantInt(wide.getType(), (k + 1) * packing.bits);
      Value shifted = builder.create<LLVM::ShlOp>(lowering.loc, wide, distance);
      packed = builder.create<LLVM::OrOp>(lowering.loc, packed, shifted);
    }
    if (!operandType)
      return packed;
    return lowering.fromBits(resize(packed, operandType.getIntOrFloatBitWidth()), operandType);
  }

  void fromResult(Value raw, const Packing &packing, Registers &results) {
    Value bits = resize(lowering.toBits(raw), packing.bits * packing.perOperand);
    for (unsigned k = 0; k < packing.perOperand; ++k) {
      Value element = bits;
      if (k > 0)
        element = lowering.builder.create<LLVM::LShrOp>(
            lowering.loc, bits, lowering.constantInt(bits.getType(), k * packing.bits));
      element = resize(element, FunctionLowering::bitWidth(packing.type));
      results.push_back(lowering.fromBits(element, packing.type));
    }
  }

  ir::InlineAsmOp op;
  FunctionLowering &lowering;
  llvm::SmallVector<Type> outputs, inputs;
};

} // namespace

static LogicalResult lowerInlineAsm(Operation *op, FunctionLowering &lowering) {
  auto assembly = llvm::cast<ir::InlineAsmOp>(op);
  // Blocks would each decide for themselves whether time is up.
  if (lowering.numBlocks > 1 && assembly.getAssembly().contains("bar.red")) {
    InFlightDiagnostic error = op->emitError("[E0209] num_ctas=")
                               << lowering.numBlocks
                               << "; bar.red, which a timeout of atomic_poll uses, needs programs "
                                  "of one block";
    error.attachNote() << "use num_ctas=1, or leave timeout_ns out";
    return error;
  }
  AssemblyLowering group(assembly, lowering);
  if (op->getNumResults() == 0)
    return group.lower({});
  return lowerGroups(op, lowering, assembly.getPack(),
                     [&](llvm::ArrayRef<Value> registers) -> FailureOr<Registers> {
                       return group.lower(registers);
                     });
}

void addUserCodeLowerings(LoweringTable &table) {
  table.add(ir::MapOp::getOperationName(), lowerMap);
  table.add(ir::InlineAsmOp::getOperationName(), lowerInlineAsm);
}

} // namespace tilewright::codegen
