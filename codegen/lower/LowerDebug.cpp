//===- LowerDebug.cpp - Printing, assertions, assumptions -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.print through the driver's vprintf, tw.assert through __assertfail,
// tw.assume.
//
// How: one line per element, printed by the thread that owns it:
//
//     pid (0, 0, 0) idx ( 3) prefix: 1.000000
//
// A failing assertion names the place in the Python source and ends the context;
// there is no way to stop one kernel only.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/ElementwiseInternal.h"
#include "codegen/lower/MemoryInternal.h"
#include "ir/dialect/SourcePlace.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Running code in some threads
//===----------------------------------------------------------------------===//

/// Runs `emit` in the threads where `condition` holds (null: in all).
static void emitWhere(FunctionLowering &lowering, Value condition,
                      llvm::function_ref<void()> emit) {
  if (!condition)
    return emit();
  OpBuilder &builder = lowering.builder;
  Block *inside = new Block, *after = new Block;
  Region &body = lowering.function.getBody();
  body.push_back(inside);
  body.push_back(after);
  builder.create<LLVM::CondBrOp>(lowering.loc, condition, inside, after);
  builder.setInsertionPointToEnd(inside);
  emit();
  builder.create<LLVM::BrOp>(lowering.loc, ValueRange(), after);
  builder.setInsertionPointToEnd(after);
}

//===----------------------------------------------------------------------===//
// Print
//===----------------------------------------------------------------------===//

namespace {

/// The format and the arguments of one vprintf.
struct PrintLine {
  std::string format;
  llvm::SmallVector<Value> arguments;
  void add(const std::string &conversion, Value argument) {
    format += conversion;
    arguments.push_back(argument);
  }
};

} // namespace

/// C's variadic promotions: at least 32 bits, floats as f64.
static void addValue(FunctionLowering &lowering, PrintLine &line, Value value, Type elementType,
                     bool hex, bool isSigned) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  if (llvm::isa<ir::PointerType>(elementType))
    return line.add("%p", lowering.toBits(value));
  if (auto type = llvm::dyn_cast<FloatType>(elementType); type && !hex) {
    // fp8 values are held as bits; convertFloat knows them.
    Value wide = convertFloat(lowering, value, type, builder.getF64Type());
    return line.add("%f", wide);
  }
  Value bits = lowering.toBits(value);
  unsigned width = FunctionLowering::bitWidth(bits.getType());
  Type wide = builder.getIntegerType(width <= 32 ? 32 : 64);
  bool extendsSign = isSigned && !hex && width > 1;
  if (bits.getType() != wide)
    bits = extendsSign ? builder.create<LLVM::SExtOp>(loc, wide, bits).getResult()
                       : builder.create<LLVM::ZExtOp>(loc, wide, bits).getResult();
  const char *length = width <= 32 ? "" : "ll";
  std::string conversion = hex ? "0x%0" + std::to_string(std::max(1u, width / 4)) + length + "x"
                               : std::string("%") + length + (isSigned || width == 1 ? "d" : "u");
  line.add(conversion, bits);
}

/// Packs the arguments into a local array, each aligned to its size, and calls
/// int vprintf(const char *format, void *arguments).
static void emitPrint(FunctionLowering &lowering, const PrintLine &line) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  llvm::SmallVector<Type> types;
  for (Value argument : line.arguments)
    types.push_back(argument.getType());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value buffer = lowering.zero(pointer);
  if (!types.empty()) {
    auto structType = LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
    // In the entry block, so that a loop does not grow the stack.
    Value one = lowering.constantI32(1);
    buffer = lowering.entryBuilder.create<LLVM::AllocaOp>(loc, pointer, structType, one,
                                                          /*alignment=*/8);
    for (auto [index, argument] : llvm::enumerate(line.arguments)) {
      Value slot =
          builder.create<LLVM::GEPOp>(loc, pointer, structType, buffer,
                                      llvm::ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(index)});
      builder.create<LLVM::StoreOp>(loc, argument, slot);
    }
  }
  lowering.callExternal("vprintf", builder.getI32Type(),
                        {lowering.stringConstant(line.format), buffer});
}

/// A literal within a format.
static std::string escapePercent(llvm::StringRef text) {
  std::string result;
  for (char character : text)
    result += character == '%' ? std::string("%%") : std::string(1, character);
  return result;
}

static void addProgramIndex(FunctionLowering &lowering, PrintLine &line) {
  line.format = "pid (";
  for (int axis = 0; axis < 3; ++axis)
    line.add(axis ? ", %u" : "%u", programId(lowering, axis));
  line.format += ")";
}

/// " idx ( 1, 2)" of the element in a register, each index as wide as the largest.
static void addElementIndex(FunctionLowering &lowering, PrintLine &line, const LinearLayout &layout,
                            int index) {
  OpBuilder &builder = lowering.builder;
  Value element = lowering.elementIndex(layout, index);
  line.format += " idx (";
  for (int axis = 0; axis < layout.rank(); ++axis) {
    Value coordinate = lowering.constantI32(0);
    if (layout.log2Shape()[axis] > 0) {
      coordinate = builder.create<LLVM::LShrOp>(lowering.loc, element,
                                                lowering.constantI32(layout.dimStartBit(axis)));
      coordinate = builder.create<LLVM::AndOp>(
          lowering.loc, coordinate, lowering.constantI32((1 << layout.log2Shape()[axis]) - 1));
    }
    size_t width = std::to_string((1 << layout.log2Shape()[axis]) - 1).size();
    line.add((axis ? ", %" : "%") + (width > 1 ? std::to_string(width) : "") + "u", coordinate);
  }
  line.format += ")";
}

static LogicalResult lowerPrint(Operation *op, FunctionLowering &lowering) {
  auto print = llvm::cast<ir::PrintOp>(op);
  std::string prefix = escapePercent(print.getPrefix());
  if (print.getValues().empty()) {
    emitWhere(lowering, lowering.ownsElements(lowering.builder.getI32Type()), [&] {
      PrintLine line;
      addProgramIndex(lowering, line);
      line.format += prefix + "\n";
      emitPrint(lowering, line);
    });
    return success();
  }
  for (size_t position = 0; position < print.getValues().size(); ++position) {
    Value value = print.getValues()[position];
    Type type = value.getType();
    auto tile = llvm::dyn_cast<RankedTensorType>(type);
    uint32_t copies = tile ? ir::getLinearLayout(tile).freeVariableMask(InDim::Register) : 0;
    bool isSigned = position < print.getIsSigned().size() ? print.getIsSigned()[position] : true;
    const Registers &registers = lowering.get(value);
    emitWhere(lowering, lowering.ownsElements(type), [&] {
      for (size_t index = 0; index < registers.size(); ++index) {
        if (index & copies)
          continue;
        PrintLine line;
        addProgramIndex(lowering, line);
        if (tile)
          addElementIndex(lowering, line, ir::getLinearLayout(tile), static_cast<int>(index));
        else
          line.format += " idx ()";
        line.format += prefix;
        if (print.getValues().size() > 1)
          line.format += "(operand " + std::to_string(position) + ") ";
        addValue(lowering, line, registers[index], getElementTypeOrSelf(type), print.getHex(),
                 isSigned);
        line.format += "\n";
        emitPrint(lowering, line);
      }
    });
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Assert, assume
//===----------------------------------------------------------------------===//

static LogicalResult lowerAssert(Operation *op, FunctionLowering &lowering) {
  auto assertion = llvm::cast<ir::AssertOp>(op);
  OpBuilder &builder = lowering.builder;
  // All elements of a thread together: one branch.
  Value holds;
  for (Value condition : lowering.get(assertion.getCondition()))
    holds = conjunction(lowering, holds, condition);
  if (isAlways(holds))
    return success();
  Value fails =
      builder.create<LLVM::XOrOp>(lowering.loc, holds, lowering.constantInt(holds.getType(), 1));
  FileLineColLoc place = ir::innermostPlace(op->getLoc());
  emitWhere(lowering, fails, [&] {
    // void __assertfail(message, file, line, function, character size)
    lowering.callExternal(
        "__assertfail", Type(),
        {lowering.stringConstant(assertion.getMessage()),
         lowering.stringConstant(place ? place.getFilename().strref() : "unknown"),
         lowering.constantI32(place ? place.getLine() : 0),
         lowering.stringConstant(lowering.function.getName()), lowering.constantI64(1)});
  });
  return success();
}

static LogicalResult lowerAssume(Operation *op, FunctionLowering &lowering) {
  lowering.builder.create<LLVM::AssumeOp>(lowering.loc, lowering.getScalar(op->getOperand(0)));
  return success();
}

void addDebugLowerings(LoweringTable &table) {
  table.add(ir::PrintOp::getOperationName(), lowerPrint);
  table.add(ir::AssertOp::getOperationName(), lowerAssert);
  table.add(ir::AssumeOp::getOperationName(), lowerAssume);
}

} // namespace tilewright::codegen
