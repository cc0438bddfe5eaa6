//===- LanguageNames.cpp - Objects the walker must recognise --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/python/LanguageNames.h"
#include "frontend/python/AstNodes.h"
#include "frontend/python/InternedName.h"
#include "frontend/python/PythonValue.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright {

LanguageNames::LanguageNames() {
  py::module_ language = py::module_::import("tilewright.language");
  constexprClass = language.attr("constexpr");
  rangeClass = language.attr("range");
  staticRangeClass = language.attr("static_range");
  dtypeClass = language.attr("dtype");
  tensorClass = language.attr("tensor");
  deviceAssert = language.attr("device_assert");
  typeOf = py::module_::import("tilewright.language._values").attr("type_of");
  builtinMark =
      py::reinterpret_steal<py::object>(PyUnicode_InternFromString("__tilewright_builtin__"));
  tritonMark = py::reinterpret_steal<py::object>(PyUnicode_InternFromString("__triton_builtin__"));
  libraryFunction = py::module_::import("tilewright.language.basics").attr("function_of_a_library");
  constexprFunctionMark = py::reinterpret_steal<py::object>(
      PyUnicode_InternFromString("__tilewright_constexpr_function__"));

  py::module_ python = py::module_::import("builtins");
  const std::pair<const char *, Builtin> table[] = {
      {"print", Builtin::Print},
      {"range", Builtin::Range},
      {"len", Builtin::Len},
      {"float", Builtin::Float},
      {"int", Builtin::Int},
      {"bool", Builtin::Bool},
      {"str", Builtin::Str},
      {"list", Builtin::List},
      {"tuple", Builtin::Tuple},
      {"isinstance", Builtin::IsInstance},
      {"getattr", Builtin::GetAttr},
      {"hasattr", Builtin::HasAttr},
      {"min", Builtin::Min},
      {"max", Builtin::Max},
      {"abs", Builtin::Abs},
      {"round", Builtin::Round},
      {"any", Builtin::Any},
      {"all", Builtin::All},
      {"sum", Builtin::Sum},
      {"zip", Builtin::Zip},
      {"enumerate", Builtin::Enumerate},
  };
  for (const auto &[name, id] : table)
    builtins[py::object(python.attr(name)).ptr()] = id; // builtins live as long as the process
  importFunction = python.attr("__import__");
  py::module_ rules = py::module_::import("tilewright.frontend_rules");
  for (py::handle name : rules.attr("FOR_LOOKING"))
    forLooking.insert(py::object(python.attr(name)).ptr());
  debuggers = py::cast<std::set<std::string>>(rules.attr("DEBUGGERS"));
}

const LanguageNames &LanguageNames::get() {
  static std::atomic<const LanguageNames *> names{nullptr};
  return *madeOnce(
      names, [] { return new const LanguageNames(); },
      [](const LanguageNames *unused) { delete unused; });
}

Builtin LanguageNames::builtin(py::handle callee) const {
  auto found = builtins.find(callee.ptr());
  return found == builtins.end() ? Builtin::None : found->second;
}

/// By what its class says of itself (python/tilewright/runtime/interface.py): subclasses and
/// stand-ins count, and the front end imports no package of the launcher.
bool LanguageNames::isJitFunction(py::handle object) const {
  static const InternedName kernelMark("__tilewright_kernel__");
  PyObject *type = reinterpret_cast<PyObject *>(Py_TYPE(object.ptr()));
  return PyObject_HasAttr(type, kernelMark);
}

py::object LanguageNames::innerJitFunction(py::handle object) const {
  if (isJitFunction(object))
    return py::reinterpret_borrow<py::object>(object);
  if (PyFunction_Check(object.ptr()) || PyType_Check(object.ptr()))
    return {};
  py::module_ interface = py::module_::import("tilewright.runtime.interface");
  py::object inner = interface.attr("kernel_inside")(object);
  return inner.is_none() ? py::object() : inner;
}

bool LanguageNames::isMarked(py::handle object, py::handle mark) const {
  PyObject *value = PyObject_GetAttr(object.ptr(), mark.ptr());
  if (!value) {
    PyErr_Clear();
    return false;
  }
  bool marked = PyObject_IsTrue(value) == 1;
  Py_DECREF(value);
  return marked;
}

bool LanguageNames::isConstexprObject(py::handle object) const {
  return PyObject_IsInstance(object.ptr(), constexprClass.ptr()) == 1;
}

//===----------------------------------------------------------------------===//
// Callables
//===----------------------------------------------------------------------===//

/// The module that defines an object; empty where it has none that can be read.
static std::string moduleOf(py::handle object) {
  static const InternedName moduleName("__module__");
  PyObject *module = PyObject_GetAttr(object.ptr(), moduleName);
  if (!module)
    PyErr_Clear();
  py::object held = py::reinterpret_steal<py::object>(module);
  return held && py::isinstance<py::str>(held) ? py::cast<std::string>(held) : "";
}

static bool hasAttribute(py::handle object, const char *name) {
  return PyObject_HasAttrString(object.ptr(), name) == 1;
}

/// Whether a bound method belongs to a value of the kernel: a tensor or record,
/// a type, or another object of the language.
static bool isMethodOfValue(py::handle self) {
  return isTensor(self) || LanguageNames::isOfLanguage(py::type::of(self)) ||
         hasAttribute(self, "__tilewright_flatten__");
}

/// `_replace` and `_asdict` of a namedtuple move values without looking at them.
static bool isNamedTupleHelper(py::handle self, py::handle callee) {
  if (!PyTuple_Check(self.ptr()) || !hasAttribute(self, "_fields"))
    return false;
  std::string name = py::cast<std::string>(py::str(py::getattr(callee, "__name__", py::str())));
  return name == "_replace" || name == "_asdict";
}

/// Classes that may be instantiated: those of the language, and namedtuples.
static bool isRecordClass(py::handle callee) {
  if (!PyType_Check(callee.ptr()))
    return false;
  bool isNamedTuple =
      PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(callee.ptr()), &PyTuple_Type) &&
      hasAttribute(callee, "_fields");
  return isNamedTuple || LanguageNames::isOfLanguage(callee) ||
         hasAttribute(callee, "__tilewright_flatten__");
}

bool LanguageNames::isDebugger(const std::string &module) const {
  return debuggers.count(module.substr(0, module.find('.'))) != 0;
}

bool LanguageNames::isForLooking(py::handle callee) const {
  return forLooking.count(callee.ptr()) != 0 || isDebugger(moduleOf(callee));
}

bool LanguageNames::isStaticBuiltin(py::handle callee) const {
  switch (builtin(callee)) {
  case Builtin::Float:
  case Builtin::Int:
  case Builtin::Bool:
  case Builtin::Str:
  case Builtin::Round:
  case Builtin::Any:
  case Builtin::All:
    return true;
  default:
    return false;
  }
}

CalleeKind LanguageNames::kindOfCallee(py::handle callee) const {
  if (builtin(callee) != Builtin::None)
    return CalleeKind::OfPython;
  if (callee.is(constexprClass))
    return CalleeKind::ToConstant;
  if (isMarked(callee, builtinMark))
    return CalleeKind::Language;
  if (PyFunction_Check(callee.ptr()) && isMarked(callee, tritonMark))
    return CalleeKind::Library;
  if (isConstexprObject(callee)) {
    // `constexpr(f)` declares a plain Python function as compile-time code.
    py::object inner = unwrapConstexpr(callee);
    return PyFunction_Check(inner.ptr()) && !isMarked(inner, builtinMark) ? CalleeKind::Static
                                                                          : kindOfCallee(inner);
  }
  if (isMarked(callee, constexprFunctionMark))
    return CalleeKind::Static;
  if (innerJitFunction(callee))
    return CalleeKind::Kernel;
  if (isRecordClass(callee))
    return CalleeKind::Language;
  std::string module = moduleOf(callee);
  if (module == "math" || module == "copy")
    return CalleeKind::Static;
  py::object self = py::getattr(callee, "__self__", py::none());
  if (!self.is_none() && !PyModule_Check(self.ptr()))
    return isMethodOfValue(self) || isNamedTupleHelper(self, callee) ? CalleeKind::Language
                                                                     : CalleeKind::Static;
  // Helpers of the language package that compute with types and shapes.
  if (PyCallable_Check(callee.ptr()) && isOfLanguage(callee))
    return CalleeKind::Language;
  return CalleeKind::Foreign;
}

bool LanguageNames::isOfLanguage(py::handle object) {
  py::object module = py::getattr(object, "__module__", py::none());
  if (!py::isinstance<py::str>(module))
    module = py::getattr(py::type::of(object), "__module__", py::none());
  if (!py::isinstance<py::str>(module))
    return false;
  std::string name = py::cast<std::string>(module);
  return name.rfind("tilewright.language", 0) == 0 || name.rfind("tilewright._core", 0) == 0;
}

/// What a dotted name of globals and modules stands for; null where it stands for nothing.
static py::object resolveName(py::handle jitFunction, py::handle node) {
  const AstNodes &nodes = AstNodes::get();
  try {
    if (nodes.kind(node) == NodeKind::Name)
      return jitFunction.attr("lookup_global")(field(node, nodes.fields.id));
    if (nodes.kind(node) == NodeKind::Attribute)
      if (py::object base = resolveName(jitFunction, field(node, nodes.fields.value)))
        return base.attr(field(node, nodes.fields.attr));
  } catch (py::error_already_set &) {
    return {}; // an annotation that names nothing is a hint for a reader, not code
  }
  return {};
}

bool isConstexprAnnotation(py::handle jitFunction, py::handle annotation) {
  NodeKind kind = AstNodes::get().kind(annotation);
  if (kind == NodeKind::Constant || kind == NodeKind::Subscript)
    return unparse(annotation).find("constexpr") != std::string::npos;
  py::object named = resolveName(jitFunction, annotation);
  return named && named.is(LanguageNames::get().constexprClass);
}

std::pair<std::string, std::string> LanguageNames::forbidden(const std::string &key) {
  py::dict table = py::module_::import("tilewright.frontend_rules").attr("FORBIDDEN");
  if (!table.contains(key))
    return {key, "use the constructs of the language reference"};
  py::tuple row = table[py::str(key)];
  return {py::cast<std::string>(row[0]), py::cast<std::string>(row[1])};
}

} // namespace tilewright
