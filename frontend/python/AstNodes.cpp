//===- AstNodes.cpp - Python's AST from C++ -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/python/AstNodes.h"
#include "frontend/python/InternedName.h"
#include "frontend/python/LanguageNames.h"

#include <functional>

namespace py = pybind11;

namespace tilewright {

AstNodes::AstNodes() {
  py::module_ ast = py::module_::import("ast");
  baseClass = ast.attr("AST");
#define X(NAME) kinds[ast.attr(#NAME).ptr()] = NodeKind::NAME;
  TILEWRIGHT_NODE_KINDS(X)
#undef X
#define X(NAME) fields.NAME = PyUnicode_InternFromString(#NAME);
  TILEWRIGHT_NODE_FIELDS(X)
#undef X
}

const AstNodes &AstNodes::get() {
  // The import that this makes gives the interpreter lock away.
  static std::atomic<const AstNodes *> tables{nullptr};
  return *madeOnce(
      tables, [] { return new const AstNodes(); }, [](const AstNodes *unused) { delete unused; });
}

bool AstNodes::isNode(py::handle object) const {
  return PyObject_IsInstance(object.ptr(), baseClass.ptr()) == 1;
}

int intField(py::handle node, PyObject *name, int ifAbsent) {
  PyObject *value = PyObject_GetAttr(node.ptr(), name);
  if (!value) {
    PyErr_Clear();
    return ifAbsent;
  }
  int result = PyLong_Check(value) ? static_cast<int>(PyLong_AsLong(value)) : ifAbsent;
  Py_DECREF(value);
  return result;
}

//===----------------------------------------------------------------------===//
// Questions about subtrees
//===----------------------------------------------------------------------===//

/// Calls `visit` on every node below `object` (a node, a list or a plain
/// value), parents first; a subtree for which it returns false is left out.
static void forEachNode(const AstNodes &nodes, py::handle object,
                        const std::function<bool(py::handle)> &visit) {
  if (PyList_Check(object.ptr())) {
    for (py::handle item : py::reinterpret_borrow<py::list>(object))
      forEachNode(nodes, item, visit);
    return;
  }
  if (!nodes.isNode(object) || !visit(object))
    return;
  for (py::handle name : py::reinterpret_borrow<py::tuple>(field(object, nodes.fields._fields)))
    // Optional fields may be missing on nodes that were built by hand.
    if (PyObject *child = PyObject_GetAttr(object.ptr(), name.ptr()))
      forEachNode(nodes, py::reinterpret_steal<py::object>(child), visit);
    else
      PyErr_Clear();
}

std::vector<py::object> assignedNames(py::handle jitFunction, py::handle statements) {
  const AstNodes &nodes = AstNodes::get();
  std::vector<py::object> names;
  py::set seen;
  forEachNode(nodes, statements, [&](py::handle node) {
    switch (nodes.kind(node)) {
    case NodeKind::ListComp:
    case NodeKind::Lambda:
    case NodeKind::FunctionDef:
      return false; // scopes of their own
    case NodeKind::AnnAssign:
      return !isConstexprAnnotation(jitFunction, field(node, nodes.fields.annotation));
    case NodeKind::Name: {
      if (nodes.kind(field(node, nodes.fields.ctx)) != NodeKind::Store)
        return true;
      py::object id = field(node, nodes.fields.id);
      if (!seen.contains(id)) {
        seen.add(id);
        names.push_back(std::move(id));
      }
      return true;
    }
    default:
      return true;
    }
  });
  return names;
}

bool containsReturn(py::handle statements) {
  const AstNodes &nodes = AstNodes::get();
  bool found = false;
  forEachNode(nodes, statements, [&](py::handle node) {
    NodeKind kind = nodes.kind(node);
    found |= kind == NodeKind::Return;
    return !found && kind != NodeKind::FunctionDef && kind != NodeKind::Lambda;
  });
  return found;
}

bool returnsDirectly(py::handle statements) {
  const AstNodes &nodes = AstNodes::get();
  for (py::handle statement : py::reinterpret_borrow<py::list>(statements))
    if (nodes.kind(statement) == NodeKind::Return)
      return true;
  return false;
}

bool isReadOutsideItsLoops(py::handle statements, py::handle name) {
  const AstNodes &nodes = AstNodes::get();
  auto isName = [&](py::handle node, bool isStored) {
    return nodes.kind(node) == NodeKind::Name &&
           (nodes.kind(field(node, nodes.fields.ctx)) == NodeKind::Store) == isStored &&
           field(node, nodes.fields.id).equal(name);
  };
  bool found = false;
  forEachNode(nodes, statements, [&](py::handle node) {
    NodeKind kind = nodes.kind(node);
    bool mayTarget = kind == NodeKind::For || kind == NodeKind::AugAssign;
    bool isTarget = mayTarget && isName(field(node, nodes.fields.target), /*isStored=*/true);
    if (isTarget && kind == NodeKind::For) {
      found |= isReadOutsideItsLoops(field(node, nodes.fields.iter), name);
      return false;
    }
    found |= isTarget || isName(node, /*isStored=*/false);
    return !found;
  });
  return found;
}

std::string unparse(py::handle node) {
  try {
    return py::str(py::module_::import("ast").attr("unparse")(node));
  } catch (py::error_already_set &) {
    return "<expression>"; // a hand-made node; the message goes without it
  }
}

} // namespace tilewright
