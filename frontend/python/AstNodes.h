//===- AstNodes.h - Python's AST from C++ -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: node classes as an enum, and field names as interned strings. Also two
// questions about subtrees that control flow asks before it visits them: which
// names does this code assign, and does it return?
//
// Why: a walk touches every node several times; comparing class names or
// creating attribute strings would cost more than the IR it makes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_ASTNODES_H
#define TILEWRIGHT_FRONTEND_PYTHON_ASTNODES_H

#include <pybind11/pybind11.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {

// clang-format has no fixed point for these lists.
// clang-format off

// Every class the walker treats; all others are refused with a message.
#define TILEWRIGHT_NODE_KINDS(X)                                                                   \
  X(FunctionDef)                                                                                   \
  X(Return) X(Assign) X(AugAssign) X(AnnAssign) X(For) X(While) X(If) X(Assert) X(Expr) X(Pass)    \
      X(BoolOp) X(NamedExpr) X(BinOp) X(UnaryOp) X(IfExp) X(Compare) X(Call) X(JoinedStr)          \
          X(FormattedValue) X(Constant) X(Attribute) X(Subscript) X(Starred) X(Name) X(List)       \
              X(Tuple) X(Slice) X(ListComp) X(Add) X(Sub) X(Mult) X(Div) X(FloorDiv) X(Mod) X(Pow) \
                  X(LShift) X(RShift) X(BitOr) X(BitXor) X(BitAnd) X(MatMult) X(And) X(Or) X(Not)  \
                      X(USub) X(UAdd) X(Invert) X(Eq) X(NotEq) X(Lt) X(LtE) X(Gt) X(GtE) X(Is)     \
                          X(IsNot) X(In) X(NotIn) X(Store) X(Lambda) X(Import)

// clang-format on

enum class NodeKind {
#define X(NAME) NAME,
  TILEWRIGHT_NODE_KINDS(X)
#undef X
      Other
};

// clang-format off
#define TILEWRIGHT_NODE_FIELDS(X)                                                                  \
  X(body)                                                                                          \
  X(test) X(orelse) X(target) X(targets) X(value) X(iter) X(left) X(right) X(op) X(ops)            \
      X(comparators) X(operand) X(func) X(args) X(keywords) X(arg) X(id) X(ctx) X(elts) X(attr)    \
          X(slice) X(lower) X(upper) X(step) X(values) X(generators) X(elt) X(ifs) X(lineno)       \
              X(col_offset) X(end_lineno) X(end_col_offset) X(annotation) X(msg) X(conversion)     \
                  X(format_spec) X(vararg) X(kwarg) X(kwonlyargs) X(is_async) X(name) X(names)       \
                      X(asname) X(_fields)

// clang-format on

/// Interned names of the fields of nodes.
struct NodeFields {
#define X(NAME) PyObject *NAME;
  // Python's names. NOLINTNEXTLINE(readability-identifier-naming)
  TILEWRIGHT_NODE_FIELDS(X)
#undef X
};

class AstNodes {
public:
  /// The tables of this process; needs the GIL. Never destroyed: module
  /// teardown order would free the strings first.
  static const AstNodes &get();

  NodeFields fields;

  NodeKind kind(pybind11::handle node) const {
    auto found = kinds.find(reinterpret_cast<PyObject *>(Py_TYPE(node.ptr())));
    return found == kinds.end() ? NodeKind::Other : found->second;
  }
  bool isNode(pybind11::handle object) const;

private:
  AstNodes();
  std::unordered_map<PyObject *, NodeKind> kinds;
  pybind11::object baseClass;
};

/// A field of a node; raises what Python raises where it is absent.
inline pybind11::object field(pybind11::handle node, PyObject *name) {
  PyObject *value = PyObject_GetAttr(node.ptr(), name);
  if (!value)
    throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(value);
}
int intField(pybind11::handle node, PyObject *name, int ifAbsent);

/// Names that a list of statements assigns, in order of appearance, without
/// those of comprehensions and those annotated constexpr.
std::vector<pybind11::object> assignedNames(pybind11::handle jitFunction,
                                            pybind11::handle statements);

/// Whether a `return` stands anywhere below.
bool containsReturn(pybind11::handle statements);
/// Whether a `return` is one of these statements themselves.
bool returnsDirectly(pybind11::handle statements);

/// Whether a name is read anywhere but in the bodies of the `for` loops that count with
/// it.
bool isReadOutsideItsLoops(pybind11::handle statements, pybind11::handle name);

/// The source text of an expression, normalised; for messages only.
std::string unparse(pybind11::handle node);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_ASTNODES_H
