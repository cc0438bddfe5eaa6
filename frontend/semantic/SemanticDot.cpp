//===- SemanticDot.cpp - Matrix products ----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tl.dot: which operands go together, the type of the result, the smallest
// tiles, the precision of f32 operands.
//
// How the result is typed: int8 gives int32, f64 gives f64, f32 and bf16 give
// f32. f16 and fp8 give f16 or f32 as out_dtype says; without it they give the
// accumulator's type, and without an accumulator f32.
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

#include <algorithm>
#include <cctype>

namespace tilewright::semantic {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static bool hasProduct(const DType &type) {
  switch (type.kind()) {
  case ScalarKind::Int8:
  case ScalarKind::Float16:
  case ScalarKind::BFloat16:
  case ScalarKind::Float32:
  case ScalarKind::Float64:
    return true;
  default:
    return type.isFloat8();
  }
}

static void checkOperandTypes(const DType &a, const DType &b, const Semantic::DotOptions &options) {
  auto isMissing = [&](const DType &type) {
    return type.kind() == ScalarKind::Float8E4M3 && !options.hasFloat8Products;
  };
  bool isKnown = hasProduct(a) && (a == b || (a.isFloat8() && b.isFloat8()));
  if (isKnown && !isMissing(a) && !isMissing(b))
    return;
  const char *supported =
      isKnown ? "fp8e4nv only on GPUs with fp8 units; cast it to fp16, which holds all its values"
              : "equal types out of int8, fp16, bf16, fp32, fp64, or any two of fp8e4nv, fp8e5";
  throw makeError(ErrorCode::E0109, fmt::arg("a", a.name()), fmt::arg("b", b.name()),
                  fmt::arg("arch", options.target), fmt::arg("list", supported));
}

/// `wanted` is what out_dtype, or else the accumulator, says. Like Triton it
/// counts only where the operands leave a choice: old kernels pass float32
/// always.
static DType resultTypeOf(const DType &operand, const std::optional<DType> &wanted) {
  if (wanted && wanted->kind() == ScalarKind::BFloat16)
    throwInvalidArgument("use tl.float32 or tl.float16, and cast the result",
                         "tl.dot cannot accumulate in bf16");
  switch (operand.kind()) {
  case ScalarKind::Int8:
    return int32Type;
  case ScalarKind::Float64:
    return operand;
  case ScalarKind::Float32:
  case ScalarKind::BFloat16:
    return float32Type;
  default:
    return wanted && wanted->kind() == ScalarKind::Float16 ? *wanted : float32Type;
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The smallest inner dimension: one step of the matrix units. M and N may be
/// anything; the units' larger tiles are padded.
static int64_t smallestInner(const DType &operand) { return 256 / operand.bitWidth(); }

/// The shape of the product, or E0108, E0121.
static std::vector<int64_t> productShape(const Type &a, const Type &b) {
  size_t rank = a.shape.size();
  if (rank < 2 || b.shape.size() != rank)
    throwInvalidShape("both operands need two dimensions, or more, of which all before the last "
                      "two are batches",
                      "tl.dot of {} and {}", a.name(), b.name());
  int64_t inner = a.shape[rank - 1];
  if (inner != b.shape[rank - 2])
    throw makeError(ErrorCode::E0108, fmt::arg("k1", inner), fmt::arg("k2", b.shape[rank - 2]));
  for (size_t i = 0; i + 2 < rank; ++i)
    if (a.shape[i] != b.shape[i])
      throwInvalidShape("broadcast one operand to the batch of the other",
                        "tl.dot: batches differ, {} and {}", a.shape[i], b.shape[i]);
  int64_t least = smallestInner(a.scalar);
  if (inner < least)
    throw makeError(ErrorCode::E0121,
                    fmt::arg("message", fmt::format("tl.dot: inner dimension is {}; {} needs at "
                                                    "least {}",
                                                    inner, a.scalar.name(), least)),
                    fmt::arg("help", fmt::format("use at least {} and mask the rest", least)))
        .setSentence(fmt::format("Input shapes should have M >= 1, N >= 1 and K >= {}", least));
  std::vector<int64_t> shape = a.shape;
  shape[rank - 1] = b.shape[rank - 1];
  Semantic::checkShape(shape);
  return shape;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

DotPrecision Semantic::parseDotPrecision(const std::string &inputPrecision,
                                         std::optional<bool> allowTf32,
                                         const std::string &defaultPrecision) {
  if (!inputPrecision.empty() && allowTf32)
    throwInvalidArgument("allow_tf32 is the older form of input_precision",
                         "tl.dot takes input_precision or allow_tf32, not both");
  std::string name = inputPrecision;
  if (allowTf32)
    name = *allowTf32 ? "tf32" : "ieee";
  if (name.empty())
    name = defaultPrecision.empty() ? "tf32" : defaultPrecision;
  static const std::pair<const char *, DotPrecision> table[] = {
      {"tf32", DotPrecision::Tf32},
      {"tf32x3", DotPrecision::Tf32x3},
      {"ieee", DotPrecision::Ieee},
      {"bf16x3", DotPrecision::BFloat16x3},
      {"bf16x6", DotPrecision::BFloat16x6}};
  for (const auto &[candidate, precision] : table) {
    if (name.size() == std::string_view(candidate).size() &&
        std::equal(name.begin(), name.end(), candidate,
                   [](unsigned char x, unsigned char y) { return std::tolower(x) == y; }))
      return precision;
  }
  throwInvalidArgument(
      "choose one of 'tf32', the fastest, 'tf32x3', 'bf16x3', 'bf16x6', 'ieee', the "
      "exact one; fast_math is an option of tl.dot_scaled",
      "input_precision is '{}'", name);
}

/// 0 where the accumulator need not be promoted inside the product.
static int32_t promotionInterval(const DType &operand, int64_t inner,
                                 const Semantic::DotOptions &options) {
  if (!operand.isFloat8())
    return 0;
  if (!options.maxImprecise) // a default beyond K means never
    return options.defaultImprecise <= inner ? static_cast<int32_t>(options.defaultImprecise) : 0;
  int64_t asked = *options.maxImprecise;
  if (asked < 0 || asked > inner)
    throwCompared(ErrorCode::E0117, "it counts steps of the inner dimension K; 0 is for never",
                  "max_num_imprecise_acc ({}) must be <= K ({})", asked, inner);
  return static_cast<int32_t>(asked);
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

Value Semantic::dot(const Value &a, const Value &b, const std::optional<Value> &acc,
                    const DotOptions &options) {
  checkOperandTypes(a.type.scalar, b.type.scalar, options);
  std::vector<int64_t> shape = productShape(a.type, b.type);
  std::optional<DType> wanted = options.result;
  if (!wanted && acc)
    wanted = acc->type.scalar;
  Type result(resultTypeOf(a.type.scalar, wanted), shape);
  if (acc && acc->type != result)
    throwTypeMismatch(fmt::format("start the accumulator as tl.zeros({}, tl.{})", shapeName(shape),
                                  result.scalar.longName()),
                      "tl.dot: the accumulator is {}, the product of {} and {} is {}",
                      acc->type.name(), a.type.name(), b.type.name(), result.name());
  int32_t interval = promotionInterval(a.type.scalar, a.type.shape.back(), options);
  // Precision is about f32 alone; elsewhere it would only keep equal products apart.
  bool isFloat32 = a.type.scalar == float32Type;
  DotPrecision precision = isFloat32 ? options.precision : DotPrecision::Tf32;
  Value start = acc ? *acc : full(shape, Literal::integer(0), result.scalar);
  // f16 holds all values of the 8-bit floats that exist in software only.
  bool isSoftware = a.type.scalar.isSoftwareFloat8() || b.type.scalar.isSoftwareFloat8();
  auto prepared = [&](const Value &operand) {
    return flattenBatches(isSoftware ? castTo(operand, ScalarKind::Float16) : operand);
  };
  Value product = builder.dot(prepared(a), prepared(b), flattenBatches(start), precision,
                              isSoftware ? 0 : interval);
  return reshape(product, shape, /*mayReorder=*/false);
}

/// Matrix products know one batch: several become one, row by row.
Value Semantic::flattenBatches(const Value &value) {
  const std::vector<int64_t> &shape = value.type.shape;
  if (shape.size() <= 3)
    return value;
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  return reshape(value, {value.type.numElements() / (rows * columns), rows, columns},
                 /*mayReorder=*/false);
}

} // namespace tilewright::semantic
