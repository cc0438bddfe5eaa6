//===- SemanticInternal.h - Shorthands of the language's rules --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_SEMANTIC_SEMANTICINTERNAL_H
#define TILEWRIGHT_FRONTEND_SEMANTIC_SEMANTICINTERNAL_H

#include "frontend/semantic/Semantic.h"
#include "ir/support/Error.h"

namespace tilewright::semantic {

/// E0116: two types that do not go together.
template <typename... Args>
[[noreturn]] void throwTypeMismatch(const std::string &help, fmt::format_string<Args...> text,
                                    Args &&...args) {
  std::string message = fmt::format(text, std::forward<Args>(args)...);
  throw makeError(ErrorCode::E0116, fmt::arg("message", message), fmt::arg("help", help));
}

/// E0117: a value that an argument cannot take.
template <typename... Args>
[[noreturn]] void throwInvalidArgument(const std::string &help, fmt::format_string<Args...> text,
                                       Args &&...args) {
  std::string message = fmt::format(text, std::forward<Args>(args)...);
  throw makeError(ErrorCode::E0117, fmt::arg("message", message), fmt::arg("help", help));
}

/// E0120: an operation that a type does not have.
template <typename... Args>
[[noreturn]] void throwUnsupportedType(const std::string &help, fmt::format_string<Args...> text,
                                       Args &&...args) {
  std::string message = fmt::format(text, std::forward<Args>(args)...);
  throw makeError(ErrorCode::E0120, fmt::arg("message", message), fmt::arg("help", help));
}

/// E0121: a shape that an operation cannot take.
template <typename... Args>
[[noreturn]] void throwInvalidShape(const std::string &help, fmt::format_string<Args...> text,
                                    Args &&...args) {
  std::string message = fmt::format(text, std::forward<Args>(args)...);
  throw makeError(ErrorCode::E0121, fmt::arg("message", message), fmt::arg("help", help));
}

/// An error whose message is a sentence that programs compare: it is that of the cause, too.
template <typename... Args>
[[noreturn]] void throwCompared(ErrorCode code, const std::string &help,
                                fmt::format_string<Args...> text, Args &&...args) {
  std::string message = fmt::format(text, std::forward<Args>(args)...);
  throw makeError(code, fmt::arg("message", message), fmt::arg("help", help)).setSentence(message);
}

[[noreturn]] void throwCannotBroadcast(const std::vector<int64_t> &first,
                                       const std::vector<int64_t> &second);

/// E0106 for the extent of one dimension.
Error notPowerOfTwo(size_t dimension, int64_t extent);

/// "3", "-1", "0.5", "True": a literal as the user wrote it.
std::string literalName(const Literal &literal);

/// The type of an operand, for messages: "fp32[128]", or that of the literal.
std::string operandName(const Operand &operand);

/// The scalar type of an operand; a literal's is the one it takes alone.
DType scalarTypeOf(const Operand &operand);

bool isLiteral(const Operand &operand);

/// A value of the operand's scalar type that only promote() may look at: a
/// literal loses its weakness in it.
inline Operand typedStand(const DType &type) {
  Value stand;
  stand.type = Type(type);
  return stand;
}

/// No assertion on overflow while it lives: the functions of reductions, scans and
/// maps have no place for one.
class WithoutChecks {
public:
  explicit WithoutChecks(bool &areOn) : areOn(areOn), before(areOn) { areOn = false; }
  ~WithoutChecks() { areOn = before; }
  WithoutChecks(const WithoutChecks &) = delete;

private:
  bool &areOn;
  bool before;
};

/// Counts from the end where negative; E0117 outside [-rank, rank).
int normalizeAxis(int64_t axis, int rank);

inline bool isHalfPrecision(const DType &type) {
  return type.kind() == ScalarKind::Float16 || type.kind() == ScalarKind::BFloat16;
}

inline const DType int32Type(ScalarKind::Int32);
inline const DType int64Type(ScalarKind::Int64);
inline const DType boolType(ScalarKind::Int1);
inline const DType float32Type(ScalarKind::Float32);

} // namespace tilewright::semantic

#endif // TILEWRIGHT_FRONTEND_SEMANTIC_SEMANTICINTERNAL_H
