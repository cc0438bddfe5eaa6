//===- LowerMath.cpp - math on registers ----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: elementary functions.
//
// How: three sources. The approximate instructions of PTX where they are
// accurate enough; functions of our device library (codegen/emit/device) where
// more is needed in f32; libdevice for f64 and for the rare functions. f16, bf16
// and fp8 are computed in f32 and rounded once.
//
// Reference: errors in f32, in units in the last place.
//   exp         ex2.approx(x * log2 e): 2 + |1.2 x|, as CUDA's __expf
//   exp2        ex2.approx: 2; of both, results below 2^-126 are zero, unless the module
//               asks for them (keepDenormalsAttr): the form that keeps them costs a
//               comparison and two multiplications per element
//   sqrt        sqrt.approx: 1;  tw.precise_sqrt is correctly rounded
//   rsqrt       rsqrt.approx: 2
//   others      stated with each function in DeviceMath.c
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/ElementwiseInternal.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Where each function comes from
//===----------------------------------------------------------------------===//

namespace {

/// How a function is computed in f32 (an instruction or a function) and in f64.
struct MathFunction {
  const char *op;
  /// Inline PTX of one f32 operand, or null.
  const char *instruction;
  /// Functions for f32 and f64; the f32 one is used where `instruction` is null.
  const char *single;
  const char *twice;
};

} // namespace

static const MathFunction functions[] = {
    // lg2.approx is 1 ULP off for 2^-k, and far off near 1.
    {"math.log2", nullptr, "__tw_log2f", "__nv_log2"},
    {"math.rsqrt", "rsqrt.approx.f32 $0, $1;", nullptr, "__nv_rsqrt"},
    {"math.log", nullptr, "__tw_logf", "__nv_log"},
    {"math.sin", nullptr, "__tw_sinf", "__nv_sin"},
    {"math.cos", nullptr, "__tw_cosf", "__nv_cos"},
    {"math.tanh", nullptr, "__tw_tanhf", "__nv_tanh"},
    {"math.erf", nullptr, "__tw_erff", "__nv_erf"},
    {"math.tan", nullptr, "__tw_tanf", "__nv_tan"},
    {"math.log10", nullptr, "__tw_log10f", "__nv_log10"},
    {"math.log1p", nullptr, "__tw_log1pf", "__nv_log1p"},
    {"math.expm1", nullptr, "__tw_expm1f", "__nv_expm1"},
    {"math.sinh", nullptr, "__tw_sinhf", "__nv_sinh"},
    {"math.cosh", nullptr, "__tw_coshf", "__nv_cosh"},
    {"math.asin", nullptr, "__nv_asinf", "__nv_asin"},
    {"math.acos", nullptr, "__nv_acosf", "__nv_acos"},
    {"math.atan", nullptr, "__nv_atanf", "__nv_atan"},
    {"math.atan2", nullptr, "__nv_atan2f", "__nv_atan2"},
    {"math.asinh", nullptr, "__nv_asinhf", "__nv_asinh"},
    {"math.acosh", nullptr, "__nv_acoshf", "__nv_acosh"},
    {"math.atanh", nullptr, "__nv_atanhf", "__nv_atanh"},
    {"math.cbrt", nullptr, "__nv_cbrtf", "__nv_cbrt"},
    {"math.powf", nullptr, "__tw_powf", "__nv_pow"},
};

static LogicalResult lowerFunction(Operation *op, FunctionLowering &lowering) {
  const MathFunction *function = llvm::find_if(functions, [&](const MathFunction &entry) {
    return op->getName().getStringRef() == entry.op;
  });
  return mapInSinglePrecision(op, lowering, [&](llvm::ArrayRef<Value> operands, Type type) {
    if (!type.isF32())
      return lowering.callExternal(function->twice, type, operands);
    if (function->instruction)
      return lowering.inlineAsm(type, operands, function->instruction, "=f,f",
                                /*hasSideEffects=*/false);
    return lowering.callExternal(function->single, type, operands);
  });
}

/// exp and exp2.
static LogicalResult lowerExponential(Operation *op, FunctionLowering &lowering) {
  bool isNatural = llvm::isa<math::ExpOp>(op);
  return mapInSinglePrecision(
      op, lowering, [&](llvm::ArrayRef<Value> operands, Type type) -> Value {
        if (!type.isF32())
          return lowering.callExternal(isNatural ? "__nv_exp" : "__nv_exp2", type, operands);
        Value power = operands[0];
        if (isNatural) {
          Value scale = lowering.constantFloat(type, 1.4426950408889634);
          power = lowering.builder.create<LLVM::FMulOp>(lowering.loc, power, scale);
        }
        return lowering.inlineAsm(type, {power},
                                  lowering.keepsDenormals ? "ex2.approx.f32 $0, $1;"
                                                          : "ex2.approx.ftz.f32 $0, $1;",
                                  "=f,f", /*hasSideEffects=*/false);
      });
}

static LogicalResult lowerSqrt(Operation *op, FunctionLowering &lowering) {
  return mapInSinglePrecision(
      op, lowering, [&](llvm::ArrayRef<Value> operands, Type type) -> Value {
        if (type.isF32())
          return lowering.inlineAsm(type, operands, "sqrt.approx.f32 $0, $1;", "=f,f",
                                    /*hasSideEffects=*/false);
        return lowering.builder.create<LLVM::SqrtOp>(lowering.loc, operands[0]);
      });
}

/// Functions that LLVM expands into exact instructions in every float type.
template <typename Target>
static LogicalResult lowerIntrinsic(Operation *op, FunctionLowering &lowering) {
  auto compute = [&](llvm::ArrayRef<Value> operands, Type) -> Value {
    return lowering.builder.create<Target>(lowering.loc, operands[0].getType(), operands);
  };
  return mapInSinglePrecision(op, lowering, compute);
}

/// As lowerIntrinsic, but f16 and bf16 stay as they are: fma must round once.
static LogicalResult lowerFma(Operation *op, FunctionLowering &lowering) {
  auto compute = [&](llvm::ArrayRef<Value> operands, Type) -> Value {
    return lowering.builder.create<LLVM::FMAOp>(lowering.loc, operands[0].getType(), operands);
  };
  if (ir::isFp8(resultElementType(op)))
    return mapInSinglePrecision(op, lowering, compute);
  return mapPairs(op, lowering,
                  [&](llvm::ArrayRef<Value> operands) { return compute(operands, Type()); });
}

/// |x| clears the sign bit, of NaN too. Of a pair both at once, which LLVM 19 takes apart.
static LogicalResult lowerAbsFloat(Operation *op, FunctionLowering &lowering) {
  OpBuilder &builder = lowering.builder;
  bool isFp8 = ir::isFp8(resultElementType(op));
  return mapPairs(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    Type type = operands[0].getType();
    if (isFp8)
      return builder.create<LLVM::AndOp>(lowering.loc, operands[0],
                                         lowering.constantInt(type, 0x7f));
    if (!llvm::isa<VectorType>(type))
      return builder.create<LLVM::FAbsOp>(lowering.loc, type, operands);
    Value bits = builder.create<LLVM::BitcastOp>(lowering.loc, builder.getI32Type(), operands[0]);
    Value cleared =
        builder.create<LLVM::AndOp>(lowering.loc, bits, lowering.constantI32(0x7fff7fff));
    return builder.create<LLVM::BitcastOp>(lowering.loc, type, cleared);
  });
}

static LogicalResult lowerAbsInteger(Operation *op, FunctionLowering &lowering) {
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    return lowering.builder.create<LLVM::AbsOp>(lowering.loc, operands[0].getType(), operands[0],
                                                /*is_int_min_poison=*/false);
  });
}

/// A function that the language names itself: one call per register.
/// The same function in the library of our own, where that has it: it needs no libdevice.
static std::string ownSymbol(llvm::StringRef symbol) {
  llvm::StringRef name = symbol;
  static const llvm::StringSet<> own = {"tanf",  "log10f", "log1pf", "expm1f", "exp10f",
                                        "sinhf", "coshf",  "powf",   "powif",  "powi"};
  return name.consume_front("__nv_") && own.contains(name) ? ("__tw_" + name).str() : symbol.str();
}

static LogicalResult lowerExternCall(Operation *op, FunctionLowering &lowering) {
  std::string symbol = ownSymbol(llvm::cast<ir::ExternCallOp>(op).getSymbol());
  Type type = lowering.registerType(resultElementType(op));
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) {
    return lowering.callExternal(symbol, type, operands);
  });
}

template <typename Target>
static LogicalResult lowerCountZeros(Operation *op, FunctionLowering &lowering) {
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    return lowering.builder.create<Target>(lowering.loc, operands[0].getType(), operands[0],
                                           /*is_zero_poison=*/false);
  });
}

static LogicalResult lowerPopulation(Operation *op, FunctionLowering &lowering) {
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    return lowering.builder.create<LLVM::CtPopOp>(lowering.loc, operands[0].getType(), operands);
  });
}

void addMathLowerings(LoweringTable &table) {
  for (const MathFunction &function : functions)
    table.add(function.op, lowerFunction);
  table.add("math.exp", lowerExponential);
  table.add("math.exp2", lowerExponential);
  table.add("tw.extern_call", lowerExternCall);
  table.add("math.sqrt", lowerSqrt);
  table.add("tw.precise_sqrt", lowerIntrinsic<LLVM::SqrtOp>);
  table.add("math.floor", lowerIntrinsic<LLVM::FFloorOp>);
  table.add("math.ceil", lowerIntrinsic<LLVM::FCeilOp>);
  table.add("math.trunc", lowerIntrinsic<LLVM::FTruncOp>);
  table.add("math.round", lowerIntrinsic<LLVM::RoundOp>);
  table.add("math.roundeven", lowerIntrinsic<LLVM::RoundEvenOp>);
  table.add("math.copysign", lowerIntrinsic<LLVM::CopySignOp>);
  table.add("math.fma", lowerFma);
  table.add("math.absf", lowerAbsFloat);
  table.add("math.absi", lowerAbsInteger);
  table.add("math.ctlz", lowerCountZeros<LLVM::CountLeadingZerosOp>);
  table.add("math.cttz", lowerCountZeros<LLVM::CountTrailingZerosOp>);
  table.add("math.ctpop", lowerPopulation);
}

} // namespace tilewright::codegen
