//===- ValueTree.h - Values of any shape across regions ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: an `if` returns run-time values only, and a loop carries run-time
// values only. But a variable may hold a tuple of them, or a record. A
// ValueTree is such an object with its run-time parts (leaves) taken out: it
// can be rebuilt around other leaves, and another object can be matched against
// it.
//
// Records take part by two methods: `__tilewright_flatten__()` gives a tuple of
// the fields, `__tilewright_unflatten__(fields)` a copy with others.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_VALUETREE_H
#define TILEWRIGHT_FRONTEND_PYTHON_VALUETREE_H

#include "frontend/python/PythonValue.h"

#include <set>

namespace tilewright {

/// Whether an object is a bool, int or float: what becomes a run-time scalar
/// when it is assigned.
bool isNumber(pybind11::handle object);

/// The words of messages: "fp32[64]" for a tile, "i32" for a number, "None".
/// What E0105 says of a name, with the words that programs look for.
inline std::string mismatchOfName(const std::string &name) {
  return "Mismatched type for " + name + ":";
}

std::string describeValue(pybind11::handle object);

/// Whether two compile-time values are the same: identity, or equality with
/// one class (True is not 1).
bool isSameConstant(pybind11::handle lhs, pybind11::handle rhs);

/// Whether two arguments lead to one instance of a function: the same constant, or run-time
/// values of one type. A recursion over other constants or other shapes may end.
bool isSameArgument(pybind11::handle lhs, pybind11::handle rhs);

class ValueTree {
public:
  /// The values and constants of an object are counted from left to right;
  /// numbers at the positions in `promoted` become run-time scalars of their own
  /// type.
  static ValueTree flatten(semantic::Semantic &semantic, pybind11::handle object,
                           const std::set<size_t> &promoted, std::vector<semantic::Value> &leaves);
  /// As above with every number promoted, or none.
  static ValueTree flatten(semantic::Semantic &semantic, pybind11::handle object,
                           bool numbersAreLeaves, std::vector<semantic::Value> &leaves);
  /// Adds to `promoted` the positions of the numbers of `before` that are
  /// something else in `after`; true if there are any.
  static bool findChangedNumbers(pybind11::handle before, pybind11::handle after,
                                 std::set<size_t> &promoted);
  /// The run-time parts of `other`, which must have this tree's form, types and
  /// constants; false where it does not. A number fits a leaf of its own type.
  bool match(semantic::Semantic &semantic, pybind11::handle other,
             std::vector<semantic::Value> &leaves) const;
  /// The object around new leaves, from `position` on, which is advanced.
  pybind11::object rebuild(const std::vector<semantic::Value> &leaves, size_t &position) const;
  bool hasLeaves() const;

  /// A tree that both objects fit, with both lists of leaves; a number and a
  /// scalar of its type, or two numbers of one type, meet as a scalar. False
  /// where there is none.
  static bool merge(pybind11::handle lhs, pybind11::handle rhs, ValueTree &tree,
                    std::vector<semantic::Operand> &lhsLeaves,
                    std::vector<semantic::Operand> &rhsLeaves);

private:
  /// Null `promoted` means all numbers.
  static ValueTree flattenFrom(semantic::Semantic &semantic, pybind11::handle object,
                               const std::set<size_t> *promoted,
                               std::vector<semantic::Value> &leaves, size_t &position);

  enum class Kind { Constant, Leaf, Tuple, Record };
  Kind kind = Kind::Constant;
  semantic::Type type;     // of a leaf
  pybind11::object object; // the constant, or the class or record to rebuild from
  std::vector<ValueTree> items;
};

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_VALUETREE_H
