//===- InterpreterBindings.cpp - The interpreter as Python sees it --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: `_core.InterpreterContext`, and small functions that rewritten kernels
// call where plain Python would mean something else than the language
// (assignment of a number, conditions, and/or/not). They are C functions without
// argument parsing because a kernel calls them on every line.
//
//===----------------------------------------------------------------------===//

#include "frontend/python/Guarded.h"
#include "frontend/python/LanguageNames.h"
#include "frontend/python/NearestName.h"
#include "frontend/python/StatementErrors.h"
#include "frontend/python/ValueTree.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/interpreter/InterpreterContext.h"
#include "runtime/interpreter/LaneValues.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright {

/// What a name holds after `name = object`: numbers become run-time scalars of
/// their own type, also inside tuples; everything else stays.
static py::object assigned(py::handle object) {
  if (isTensor(object))
    return py::reinterpret_borrow<py::object>(object);
  py::object plain = unwrapConstexpr(object);
  if (isNumber(plain))
    return wrapValue(toValue(requireContext("assignment").semantic(), plain, "value"));
  if (!PyTuple_Check(plain.ptr()))
    return plain;
  py::tuple items = py::reinterpret_borrow<py::tuple>(plain);
  py::tuple result(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    result[i] = assigned(items[i]);
  if (py::hasattr(plain, "_fields")) // a namedtuple stays one
    return py::type::handle_of(plain).attr("_make")(result);
  return std::move(result);
}

/// The value of the condition of an "if", "while" or "if ... else". A tensor
/// must have one element; a compile-time value must be a bool, an int or None.
static bool truth(py::handle object, const char *construct) {
  if (object.ptr() == Py_True)
    return true;
  if (object.ptr() == Py_False || object.is_none())
    return false;
  if (isTensor(object)) {
    const semantic::Value &value = unwrapValue(object);
    std::optional<semantic::Literal> literal = requireContext("condition").concreteScalar(value);
    if (!literal)
      throw tileConditionError(construct, value.type.name());
    return literal->kind == semantic::Literal::Kind::Float ? literal->floatValue != 0
                                                           : literal->intValue != 0;
  }
  py::object plain = unwrapConstexpr(object);
  if (!plain.is_none() && !PyBool_Check(plain.ptr()) && !PyLong_Check(plain.ptr()))
    throw wrongConditionError(construct, Py_TYPE(plain.ptr())->tp_name);
  return PyObject_IsTrue(plain.ptr()) == 1;
}

/// Whether a compile-time operand alone decides `and` (false) or `or` (true).
static bool decides(py::handle object, bool deciding) {
  if (isTensor(object))
    return false;
  py::object plain = unwrapConstexpr(object);
  int value = PyObject_IsTrue(plain.ptr());
  if (value < 0)
    throw py::error_already_set();
  return (value == 1) == deciding;
}

/// `lhs and rhs` (or `or`) where lhs did not decide: compile-time operands that
/// do not decide have no effect, run-time operands combine without a branch.
static py::object joinLogical(py::handle lhs, py::handle rhs, bool isOr) {
  if (!isTensor(lhs))
    return py::reinterpret_borrow<py::object>(rhs);
  if (!isTensor(rhs))
    return py::reinterpret_borrow<py::object>(decides(rhs, isOr) ? rhs : lhs);
  semantic::Semantic &meaning = requireContext("and").semantic();
  const semantic::Value &a = unwrapValue(lhs), &b = unwrapValue(rhs);
  return wrapValue(isOr ? meaning.logicalOr(a, b) : meaning.logicalAnd(a, b));
}

static py::object logicalNot(py::handle object) {
  if (isTensor(object))
    return wrapValue(requireContext("not").semantic().logicalNot(unwrapValue(object)));
  return py::bool_(decides(object, false));
}

/// `value` for a tuple of names: of each name whether it was annotated constexpr, of a tuple
/// among them the same again.
static py::object unpacked(py::handle object, const py::tuple &names) {
  py::object value = unwrapConstexpr(object);
  if (!PyTuple_Check(value.ptr()))
    throw unpackedValueError(describeValue(assigned(value)), names.size());
  py::tuple items = py::reinterpret_borrow<py::tuple>(value), result(names.size());
  if (items.size() != names.size())
    throw unpackedSizeError(items.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    py::handle name = names[i], item = items[i];
    if (PyTuple_Check(name.ptr()))
      result[i] = unpacked(item, py::reinterpret_borrow<py::tuple>(name));
    else
      result[i] = name.ptr() == Py_True ? unwrapConstexpr(item) : assigned(item);
  }
  return std::move(result);
}

extern "C" {
static PyObject *assignFunction(PyObject *, PyObject *object) {
  if (isTensor(object))
    return Py_NewRef(object);
  return guardedObject([&] { return assigned(object); });
}
static PyObject *unwrapFunction(PyObject *, PyObject *object) {
  return guardedObject([&] { return unwrapConstexpr(object); });
}
/// loop_index(number, dtype): an index of a run-time loop.
static PyObject *loopIndex(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guardedObject([&] {
    semantic::DType type = toDType(args[1], "loop index");
    uint64_t bits = PyLong_AsUnsignedLongLongMask(args[0]);
    return wrapValue(requireContext("range").semantic().tileBuilder().constantInt(type, bits));
  });
}
static PyObject *truthOfIf(PyObject *, PyObject *object) {
  return guardedObject([&] { return py::bool_(truth(object, "if")); });
}
static PyObject *truthOfWhile(PyObject *, PyObject *object) {
  return guardedObject([&] { return py::bool_(truth(object, "while")); });
}
static PyObject *truthOfChoice(PyObject *, PyObject *object) {
  return guardedObject([&] { return py::bool_(truth(object, "if ... else")); });
}
/// unpack(value, names): the tuple that is assigned to them. A function that returns
/// on one way only gives None on the other one.
static PyObject *unpackFunction(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guardedObject(
      [&] { return unpacked(args[0], py::reinterpret_borrow<py::tuple>(args[1])); });
}
/// An int argument may be a number in one launch and a scalar in the next:
/// `n.to(tl.int64)` means the same in both.
static PyObject *promoteFunction(PyObject *, PyObject *object) {
  if (!isNumber(object) && !isConstexpr(object))
    return Py_NewRef(object);
  return guardedObject([&] {
    py::object plain = unwrapConstexpr(object);
    return isNumber(plain) ? assigned(plain) : plain;
  });
}
static PyObject *isTensorFunction(PyObject *, PyObject *object) {
  return Py_NewRef(isTensor(object) ? Py_True : Py_False);
}
static PyObject *contentsFunction(PyObject *, PyObject *object) {
  return guardedObject([&]() -> py::object {
    EvaluationContext *context = currentContext();
    return context && isTensor(object) ? context->concreteArray(unwrapValue(object)) : py::none();
  });
}
static PyObject *describeFunction(PyObject *, PyObject *object) {
  return guardedObject([&] { return py::str(describeValue(object)); });
}
/// How a kernel calls this: "value" with everything, "static" with Python's values, "kernel",
/// "library" for what libraries have marked, "constant" for tl.constexpr. What the front end has refused is as good as anything.
static PyObject *kindOfCallee(PyObject *, PyObject *callee) {
  return guardedObject([&] {
    const LanguageNames &names = LanguageNames::get();
    const char *name = "value";
    switch (names.kindOfCallee(callee)) {
    case CalleeKind::OfPython:
      name = names.isStaticBuiltin(callee) ? "static" : "value";
      break;
    case CalleeKind::ToConstant:
      name = "constant";
      break;
    case CalleeKind::Language:
      break;
    case CalleeKind::Library:
      name = "library";
      break;
    case CalleeKind::Kernel:
      name = "kernel";
      break;
    case CalleeKind::Static:
    case CalleeKind::Foreign:
      name = names.isForLooking(callee) ? "value" : "static";
      break;
    }
    return py::str(name);
  });
}
/// is_constexpr_annotation(jit function, annotation)
static PyObject *declaresConstant(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guardedObject([&] { return py::bool_(isConstexprAnnotation(args[0], args[1])); });
}
/// Numbers that a kernel knows while it runs: scalars and Python's integers.
static std::vector<int64_t> integersOf(py::handle items) {
  std::vector<int64_t> numbers;
  for (py::handle item : py::reinterpret_borrow<py::tuple>(items)) {
    if (isTensor(item))
      numbers.push_back(interpreter::laneAsInteger(unwrapValue(item), 0));
    else
      numbers.push_back(unwrapConstexpr(item).cast<int64_t>());
  }
  return numbers;
}
/// The builder of a running kernel, if it makes this check; null in the compiler.
static interpreter::CpuTileBuilder *blockChecker(interpreter::Check check) {
  EvaluationContext &context = requireContext("a block");
  if (context.isCompiling())
    return nullptr;
  interpreter::CpuTileBuilder &builder = static_cast<InterpreterContext &>(context).tileBuilder();
  builder.valueWasRead();
  return builder.checks.looksFor(check) ? &builder : nullptr;
}
static PyObject *scalarText(PyObject *, PyObject *object) {
  return guardedObject([&] { return py::str(interpreter::laneAsText(unwrapValue(object), 0)); });
}
/// check_coordinates(access, bytes of an element, offsets)
static PyObject *checkCoordinates(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guardedObject([&] {
    if (interpreter::CpuTileBuilder *builder = blockChecker(interpreter::Check::Portable))
      builder->checkCoordinates(py::cast<std::string>(py::handle(args[0])),
                                py::cast<int>(py::handle(args[1])), integersOf(args[2]));
    return py::none();
  });
}
/// check_block(access, offsets, extents, block, dimensions that are masked)
static PyObject *checkBlock(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guardedObject([&] {
    if (interpreter::CpuTileBuilder *builder = blockChecker(interpreter::Check::Blocks))
      builder->checkBlock(py::cast<std::string>(py::handle(args[0])), integersOf(args[1]),
                          integersOf(args[2]), integersOf(args[3]), integersOf(args[4]));
    return py::none();
  });
}
static PyObject *notFunction(PyObject *, PyObject *object) {
  return guardedObject([&] { return logicalNot(object); });
}
static PyObject *decidesAnd(PyObject *, PyObject *object) {
  return guardedObject([&] { return py::bool_(decides(object, false)); });
}
static PyObject *decidesOr(PyObject *, PyObject *object) {
  return guardedObject([&] { return py::bool_(decides(object, true)); });
}
static PyObject *joinAnd(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guardedObject([&] { return joinLogical(args[0], args[1], false); });
}
static PyObject *joinOr(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guardedObject([&] { return joinLogical(args[0], args[1], true); });
}
} // extern "C"

static PyMethodDef kernelFunctions[] = {
    {"assign", assignFunction, METH_O, "The value a name holds after `name = x`."},
    {"unwrap", unwrapFunction, METH_O, "`constexpr(x)` as x."},
    {"loop_index", asMethod(loopIndex), METH_FASTCALL, "An index of a loop."},
    {"promote", promoteFunction, METH_O, "A number as a run-time scalar; else x."},
    {"truth_if", truthOfIf, METH_O, "The value of the condition of an `if`."},
    {"truth_while", truthOfWhile, METH_O, "The value of the condition of a `while`."},
    {"truth_choice", truthOfChoice, METH_O, "The value of the condition of `a if c else b`."},
    {"contents", contentsFunction, METH_O, "The elements of x as a NumPy array; None if compiled."},
    {"describe", describeFunction, METH_O, "x in the words of messages: fp32[64], i32, None."},
    {"is_tensor", isTensorFunction, METH_O, "Whether x is a run-time value."},
    {"unpack", asMethod(unpackFunction), METH_FASTCALL, "The value of `a, b = x`."},
    {"kind_of_callee", kindOfCallee, METH_O, "How a kernel calls x."},
    {"is_constexpr_annotation", asMethod(declaresConstant), METH_FASTCALL,
     "Whether an annotation declares a compile-time value."},
    {"check_coordinates", asMethod(checkCoordinates), METH_FASTCALL,
     "E0418 for a block of a descriptor that TMA refuses."},
    {"check_block", asMethod(checkBlock), METH_FASTCALL,
     "E0418 for a block pointer that leaves its array."},
    {"scalar_text", scalarText, METH_O, "The number that a scalar holds."},
    {"logical_not", notFunction, METH_O, "`not x`."},
    {"decides_and", decidesAnd, METH_O, "Whether a compile-time x makes `x and ...` x."},
    {"decides_or", decidesOr, METH_O, "Whether a compile-time x makes `x or ...` x."},
    {"join_and", asMethod(joinAnd), METH_FASTCALL, "`x and y`."},
    {"join_or", asMethod(joinOr), METH_FASTCALL, "`x or y`."},
    {nullptr, nullptr, 0, nullptr},
};

/// Text of an error whose frames were found afterwards.
static std::string renderError(const std::string &code, const std::string &message,
                               const std::string &help, const std::vector<py::tuple> &frames,
                               const std::vector<std::string> &notes, const std::string &sentence) {
  const ErrorEntry *entry = findErrorEntry(code);
  if (!entry)
    return message;
  Error error(entry->code, message, help);
  for (const py::tuple &frame : frames)
    error.addFrame({frame[0].cast<std::string>(), frame[1].cast<std::string>(),
                    frame[2].cast<int>(), frame[3].cast<int>(), frame[4].cast<int>(),
                    frame[5].cast<int>(), frame[6].cast<std::string>()});
  for (const std::string &note : notes)
    error.addNote(note);
  return error.setSentence(sentence).render();
}

void bindInterpreter(py::module_ &module) {
  py::module_ kernel = module.def_submodule("kernel", "What rewritten kernels call.");
  PyModule_AddFunctions(kernel.ptr(), kernelFunctions);
  module.def("render_error", renderError);
  module.def("nearest_name", nearestName);

  py::class_<NativeFunction>(module, "NativeFunction")
      .def(py::init([](py::handle jit, py::object function, std::pair<int64_t, int64_t> arity) {
        return NativeFunction{jit, std::move(function), arity};
      }))
      .def_readonly("function", &NativeFunction::function);

  py::class_<InterpreterContext>(module, "InterpreterContext")
      .def(py::init<py::object, py::dict>())
      .def("add_array", &InterpreterContext::addArray)
      .def("scalar", &InterpreterContext::scalar)
      .def("was_written", &InterpreterContext::wasWritten)
      .def("run", &InterpreterContext::run)
      .def("set_order", [](InterpreterContext &self, bool isReversed,
                           uint64_t seed) { self.order = {isReversed, seed}; })
      .def("watch",
           [](InterpreterContext &self, uint64_t low, uint64_t high, uint64_t isWritten) {
             self.tileBuilder().memory.watch(low, high, reinterpret_cast<uint8_t *>(isWritten));
           })
      .def("collect", &InterpreterContext::collect)
      .def("observe", &InterpreterContext::observe)
      .def("watch_element", &InterpreterContext::watchElement)
      .def("choose", &InterpreterContext::choose)
      .def_property_readonly("has_choice", &InterpreterContext::hasChoice)
      .def_property_readonly("program",
                             [](InterpreterContext &self) {
                               return py::tuple(py::cast(self.tileBuilder().program.id));
                             })
      .def("look_for", [](InterpreterContext &self, const std::string &name, bool on) {
        for (const interpreter::CheckEntry &entry : interpreter::checkEntries())
          if (name == entry.name)
            self.tileBuilder().checks.set(entry.check, on);
      });

  module.def("interpreter_checks", [] {
    py::list rows;
    for (const interpreter::CheckEntry &entry : interpreter::checkEntries())
      rows.append(py::make_tuple(entry.name, entry.isDefault, entry.codes, entry.meaning));
    return rows;
  });
}

} // namespace tilewright
