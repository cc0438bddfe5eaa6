//===- SemanticRecorder.h - A builder that writes down its calls *- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: each value is the text of the expression that made it, for example
// "Add(x, Cast<SignExtend, i32>(y))", so that a test states in one line what
// Semantic asked for. It also checks the contract of TileBuilder: operands of
// one type and shape, masks in the pointer's shape.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_SEMANTICRECORDER_H
#define TILEWRIGHT_TESTS_UNIT_SEMANTICRECORDER_H

#include "frontend/semantic/Semantic.h"
#include "ir/support/Error.h"

#include <gtest/gtest.h>

namespace tilewright::semantic {

class Recorder : public TileBuilder {
public:
  /// The effects in order: stores, atomics, prints.
  std::vector<std::string> effects;

  static Value make(Type type, const std::string &text) {
    return {std::move(type), std::make_shared<std::string>(text)};
  }
  static std::string text(const Value &value) {
    return value.handle ? *static_cast<std::string *>(value.handle.get()) : "none";
  }
  static DType scalar(const std::string &name) {
    DType type;
    EXPECT_TRUE(DType::parse(name, type)) << name;
    return type;
  }
  /// A run-time value: tile("x", "fp16", {128}).
  static Value tile(const std::string &name, const std::string &type,
                    std::vector<int64_t> shape = {}) {
    return make(Type(scalar(type), std::move(shape)), name);
  }

  Value constantInt(DType type, uint64_t bits) override {
    // Small types come in canonical form: the value itself, sign-extended.
    if (type.isUnsigned() && type.bitWidth() < 64) {
      EXPECT_EQ(bits >> type.bitWidth(), 0u);
    }
    std::string number =
        type.isSigned() ? std::to_string(static_cast<int64_t>(bits)) : std::to_string(bits);
    return make(type, number + ":" + type.name());
  }
  Value constantFloat(DType type, double value) override {
    return make(type, fmt::format("{}:{}", value, type.name()));
  }
  Value constantNull(DType type) override { return make(type, "null:" + type.name()); }
  Value programId(int axis) override {
    return make(Type(ScalarKind::Int32), fmt::format("pid({})", axis));
  }
  Value numPrograms(int axis) override {
    return make(Type(ScalarKind::Int32), fmt::format("programs({})", axis));
  }
  Value range(int32_t start, int32_t end) override {
    return make(Type(ScalarKind::Int32, {end - start}), fmt::format("range({}, {})", start, end));
  }

  Value splat(const Value &scalar, const std::vector<int64_t> &shape) override {
    EXPECT_FALSE(scalar.type.isTile());
    EXPECT_FALSE(shape.empty());
    return make(scalar.type.withShape(shape), "Splat(" + text(scalar) + ")");
  }
  Value broadcast(const Value &tile, const std::vector<int64_t> &shape) override {
    EXPECT_EQ(tile.type.shape.size(), shape.size());
    return make(tile.type.withShape(shape),
                "Broadcast" + shapeName(shape) + "(" + text(tile) + ")");
  }
  Value expandDims(const Value &tile, int axis) override {
    EXPECT_TRUE(tile.type.isTile());
    std::vector<int64_t> shape = tile.type.shape;
    shape.insert(shape.begin() + axis, 1);
    return make(tile.type.withShape(shape), fmt::format("Expand{}({})", axis, text(tile)));
  }
  Value reshape(const Value &tile, const std::vector<int64_t> &shape, bool mayReorder) override {
    return make(tile.type.withShape(shape),
                (mayReorder ? "View" : "Reshape") + shapeName(shape) + "(" + text(tile) + ")");
  }
  std::optional<Value> gather(const Value &source, const Value &index, int axis) override {
    return make(source.type.withShape(index.type.shape),
                "Gather(" + text(source) + ", " + text(index) + ", " + std::to_string(axis) + ")");
  }
  Value permute(const Value &tile, const std::vector<int> &order) override {
    std::vector<int64_t> shape, axes(order.begin(), order.end());
    for (int axis : order)
      shape.push_back(tile.type.shape[axis]);
    return make(tile.type.withShape(shape), "Permute" + shapeName(axes) + "(" + text(tile) + ")");
  }
  Value join(const Value &lhs, const Value &rhs) override {
    EXPECT_EQ(lhs.type, rhs.type);
    std::vector<int64_t> shape = lhs.type.shape;
    shape.push_back(2);
    return make(lhs.type.withShape(shape), "Join(" + text(lhs) + ", " + text(rhs) + ")");
  }
  std::pair<Value, Value> split(const Value &tile) override {
    std::vector<int64_t> shape = tile.type.shape;
    shape.pop_back();
    EXPECT_FALSE(shape.empty());
    return {make(tile.type.withShape(shape), "Split0(" + text(tile) + ")"),
            make(tile.type.withShape(shape), "Split1(" + text(tile) + ")")};
  }
  Value concatenate(const Value &lhs, const Value &rhs) override {
    std::vector<int64_t> shape = lhs.type.shape;
    shape[0] += rhs.type.shape[0];
    return make(lhs.type.withShape(shape), "Cat(" + text(lhs) + ", " + text(rhs) + ")");
  }
  Value extractScalar(const Value &tile) override {
    EXPECT_EQ(tile.type.numElements(), 1);
    return make(tile.type.withShape({}), "Extract(" + text(tile) + ")");
  }

  Value unary(UnaryOp op, const Value &operand) override {
    static const char *const names[] = {"NegFloat",    "AbsFloat", "AbsInt",    "Exp",   "Exp2",
                                        "Log",         "Log2",     "Sin",       "Cos",   "Sqrt",
                                        "SqrtRounded", "Rsqrt",    "Erf",       "Floor", "Ceil",
                                        "Trunc",       "Round",    "RoundEven", "Tanh"};
    return make(operand.type, std::string(names[static_cast<int>(op)]) + "(" + text(operand) + ")");
  }
  Value binary(BinaryOp op, const Value &lhs, const Value &rhs) override {
    static const char *const names[] = {"Add",
                                        "Sub",
                                        "Mul",
                                        "DivSigned",
                                        "DivUnsigned",
                                        "RemSigned",
                                        "RemUnsigned",
                                        "DivFloat",
                                        "RemFloat",
                                        "DivFloatRounded",
                                        "And",
                                        "Or",
                                        "Xor",
                                        "ShiftLeft",
                                        "ShiftRightLogical",
                                        "ShiftRightArithmetic",
                                        "MinSigned",
                                        "MaxSigned",
                                        "MinUnsigned",
                                        "MaxUnsigned",
                                        "MinNumber",
                                        "MaxNumber",
                                        "MinPropagateNan",
                                        "MaxPropagateNan",
                                        "MulHighSigned",
                                        "MulHighUnsigned"};
    EXPECT_EQ(lhs.type, rhs.type);
    return make(lhs.type, std::string(names[static_cast<int>(op)]) + "(" + text(lhs) + ", " +
                              text(rhs) + ")");
  }
  Value compare(ComparePredicate predicate, const Value &lhs, const Value &rhs) override {
    static const char *const names[] = {"Equal",           "NotEqual",
                                        "LessSigned",      "LessEqualSigned",
                                        "GreaterSigned",   "GreaterEqualSigned",
                                        "LessUnsigned",    "LessEqualUnsigned",
                                        "GreaterUnsigned", "GreaterEqualUnsigned",
                                        "FloatEqual",      "FloatNotEqual",
                                        "FloatLess",       "FloatLessEqual",
                                        "FloatGreater",    "FloatGreaterEqual"};
    EXPECT_EQ(lhs.type, rhs.type);
    return make(lhs.type.withScalar(ScalarKind::Int1),
                std::string(names[static_cast<int>(predicate)]) + "(" + text(lhs) + ", " +
                    text(rhs) + ")");
  }
  Value select(const Value &condition, const Value &ifTrue, const Value &ifFalse) override {
    EXPECT_TRUE(condition.type.scalar.isBool());
    EXPECT_EQ(condition.type.shape, ifTrue.type.shape);
    EXPECT_EQ(ifTrue.type, ifFalse.type);
    return make(ifTrue.type,
                "Select(" + text(condition) + ", " + text(ifTrue) + ", " + text(ifFalse) + ")");
  }
  Value externCall(const std::string &symbol, const std::vector<Value> &operands,
                   const DType &result) override {
    std::string call = symbol + "(";
    for (const Value &operand : operands)
      call += (&operand == &operands[0] ? "" : ", ") + text(operand);
    return make(operands[0].type.withScalar(result), call + ")");
  }
  Value fma(const Value &x, const Value &y, const Value &z) override {
    EXPECT_EQ(x.type, y.type);
    EXPECT_EQ(x.type, z.type);
    return make(x.type, "Fma(" + text(x) + ", " + text(y) + ", " + text(z) + ")");
  }
  Value cast(CastOp op, const Value &operand, const DType &to, Rounding rounding) override {
    static const char *const names[] = {
        "SignExtend",    "ZeroExtend",      "Truncate",      "FloatExtend",     "FloatTruncate",
        "SignedToFloat", "UnsignedToFloat", "FloatToSigned", "FloatToUnsigned", "PointerToInt",
        "IntToPointer",  "PointerCast",     "Bitcast"};
    bool towardZero = op == CastOp::FloatTruncate && rounding == Rounding::TowardZero;
    return make(operand.type.withScalar(to),
                fmt::format("{}{}<{}>({})", names[static_cast<int>(op)],
                            towardZero ? "TowardZero" : "", to.name(), text(operand)));
  }
  Value addPointer(const Value &pointer, const Value &offset) override {
    EXPECT_EQ(pointer.type.shape, offset.type.shape);
    EXPECT_TRUE(offset.type.scalar.isInteger());
    return make(pointer.type, "AddPointer(" + text(pointer) + ", " + text(offset) + ")");
  }

  Value dot(const Value &a, const Value &b, const Value &acc, DotPrecision precision,
            int32_t maxImprecise) override {
    static const char *const names[] = {"", "Tf32x3", "Ieee", "BFloat16x3", "BFloat16x6"};
    EXPECT_TRUE(a.type.scalar == b.type.scalar ||
                (a.type.scalar.isFloat8() && b.type.scalar.isFloat8()));
    std::string interval = maxImprecise ? fmt::format("Every{}", maxImprecise) : "";
    return make(acc.type, fmt::format("Dot{}{}({}, {}, {})", names[static_cast<int>(precision)],
                                      interval, text(a), text(b), text(acc)));
  }

  Value load(const Value &pointer, const std::optional<Value> &mask,
             const std::optional<Value> &other, const LoadOptions &) override {
    checkMask(pointer, mask);
    if (other) {
      EXPECT_EQ(other->type, pointer.type.withScalar(pointer.type.scalar.pointee()));
    }
    return make(pointer.type.withScalar(pointer.type.scalar.pointee()),
                "Load(" + text(pointer) + optional(mask) + optional(other) + ")");
  }
  void store(const Value &pointer, const Value &value, const std::optional<Value> &mask,
             const StoreOptions &) override {
    checkMask(pointer, mask);
    EXPECT_EQ(value.type, pointer.type.withScalar(pointer.type.scalar.pointee()));
    effects.push_back("Store(" + text(pointer) + ", " + text(value) + optional(mask) + ")");
  }
  Value atomicRmw(AtomicOp op, const Value &pointer, const Value &value,
                  const std::optional<Value> &mask, MemorySemantic, MemoryScope) override {
    static const char *const names[] = {"Add",         "FloatAdd",  "And",       "Or",
                                        "Xor",         "MaxSigned", "MinSigned", "MaxUnsigned",
                                        "MinUnsigned", "Exchange"};
    checkMask(pointer, mask);
    EXPECT_EQ(value.type, pointer.type.withScalar(pointer.type.scalar.pointee()));
    effects.push_back(fmt::format("Atomic{}({}, {}{})", names[static_cast<int>(op)], text(pointer),
                                  text(value), optional(mask)));
    return make(value.type, fmt::format("old{}", effects.size()));
  }
  Value atomicPoll(const Value &pointer, const Value &expected, const std::optional<Value> &timeout,
                   MemorySemantic, MemoryScope) override {
    EXPECT_EQ(expected.type, pointer.type.withScalar(pointer.type.scalar.pointee()));
    effects.push_back(fmt::format("Poll({}, {}{})", text(pointer), text(expected),
                                  timeout ? ", " + text(*timeout) : ""));
    return make(Type(DType(ScalarKind::Int1)), fmt::format("old{}", effects.size()));
  }
  Value atomicCas(const Value &pointer, const Value &compare, const Value &value, MemorySemantic,
                  MemoryScope) override {
    EXPECT_EQ(value.type, pointer.type.withScalar(pointer.type.scalar.pointee()));
    EXPECT_EQ(value.type, compare.type);
    effects.push_back(fmt::format("Cas({}, {}, {})", text(pointer), text(compare), text(value)));
    return make(value.type, fmt::format("old{}", effects.size()));
  }

  std::vector<Value> reduce(const std::vector<Value> &inputs, int axis,
                            const CombineFunction &combine) override {
    std::vector<Value> scalars, results;
    std::vector<int64_t> shape = inputs[0].type.shape;
    shape.erase(shape.begin() + axis);
    for (const Value &input : inputs)
      scalars.push_back(make(Type(input.type.scalar), "e"));
    std::vector<Value> combined = combine(scalars, scalars);
    for (size_t i = 0; i < inputs.size(); ++i)
      results.push_back(
          make(inputs[i].type.withShape(shape),
               fmt::format("Reduce{}({}; {})", axis, text(inputs[i]), text(combined[i]))));
    return results;
  }
  std::vector<Value> scan(const std::vector<Value> &inputs, int axis, bool reverse,
                          const CombineFunction &combine) override {
    std::vector<Value> scalars, results;
    for (const Value &input : inputs)
      scalars.push_back(make(Type(input.type.scalar), "e"));
    std::vector<Value> combined = combine(scalars, scalars);
    for (size_t i = 0; i < inputs.size(); ++i)
      results.push_back(
          make(inputs[i].type, fmt::format("Scan{}{}({}; {})", axis, reverse ? "Reverse" : "",
                                           text(inputs[i]), text(combined[i]))));
    return results;
  }

  std::vector<Value> mapElements(const std::vector<Value> &inputs, int pack,
                                 const MapFunction &function) override {
    std::vector<Value> elements, results;
    for (const Value &input : inputs)
      for (int k = 0; k < pack; ++k)
        elements.push_back(make(Type(input.type.scalar), fmt::format("{}.{}", text(input), k)));
    std::vector<Value> mapped = function(elements);
    for (size_t i = 0; i < mapped.size(); i += pack)
      results.push_back(
          make(mapped[i].type.withShape(inputs[0].type.shape), "Map(" + text(mapped[i]) + ")"));
    return results;
  }
  std::vector<Value> inlineAsm(const InlineAsm &code, const std::vector<Value> &inputs,
                               const std::vector<DType> &types,
                               const std::vector<int64_t> &shape) override {
    std::string call = (code.isPure ? "Asm(" : "AsmVolatile(") + code.assembly;
    for (const Value &input : inputs)
      call += ", " + text(input);
    std::vector<Value> results;
    for (size_t i = 0; i < types.size(); ++i)
      results.push_back(make(Type(types[i], shape), fmt::format("{}){}", call, i)));
    return results;
  }

  Value hint(HintKind, const Value &value, const std::vector<int64_t> &values) override {
    return make(value.type, "Hint" + shapeName(values) + "(" + text(value) + ")");
  }
  void assume(const Value &condition) override {
    effects.push_back("Assume(" + text(condition) + ")");
  }
  void barrier() override { effects.push_back("Barrier()"); }
  void print(const std::string &prefix, const std::vector<Value> &values, bool hex) override {
    std::string out = "Print" + std::string(hex ? "Hex" : "") + "(" + prefix;
    for (const Value &value : values)
      out += ", " + text(value);
    effects.push_back(out + ")");
  }
  void deviceAssert(const Value &condition, const std::string &message,
                    const std::optional<Value> &mask) override {
    checkMask(condition, mask);
    effects.push_back("Assert(" + text(condition) + ", " + message + optional(mask) + ")");
  }

private:
  static std::string optional(const std::optional<Value> &value) {
    return value ? ", " + text(*value) : "";
  }
  static void checkMask(const Value &shaped, const std::optional<Value> &mask) {
    if (mask) {
      EXPECT_TRUE(mask->type.scalar.isBool());
      EXPECT_EQ(mask->type.shape, shaped.type.shape);
    }
  }
};

/// "E0119 value ..." for the error that `body` raises.
template <typename Body> std::string errorOf(Body body) {
  try {
    body();
  } catch (const Error &error) {
    return std::string(error.catalogueEntry().codeName) + " " + error.message();
  }
  return "no error";
}

class SemanticTest : public ::testing::Test {
protected:
  Recorder recorder;
  Semantic semantic{recorder};

  static Value tile(const std::string &name, const std::string &type,
                    std::vector<int64_t> shape = {}) {
    return Recorder::tile(name, type, std::move(shape));
  }
  static std::string text(const Value &value) { return Recorder::text(value); }
  static DType scalar(const std::string &name) { return Recorder::scalar(name); }
};

} // namespace tilewright::semantic

#endif // TILEWRIGHT_TESTS_UNIT_SEMANTICRECORDER_H
