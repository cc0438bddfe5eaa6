//===- InterpreterBindings.cpp - The interpreter as Python sees it --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: `_core.InterpreterContext`, and the small functions that rewritten
// kernels call where native Python would mean something else than the language
// (assignment of a number, conditions, and/or/not). They are C functions without
// argument parsing because a kernel calls them on every line.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/ValueTree.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/InterpreterContext.h"
#include "runtime/interpreter/LaneValues.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright {

// Of frontend/ast/Names.cpp, whose header would bring MLIR into this file.
std::string nearestName(const std::string &name, py::handle candidates);

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
      throw makeError(
          ErrorCode::E0121,
          fmt::arg("message", fmt::format("condition of '{}' is a tile {}; a scalar is required",
                                          construct, value.type.name())),
          fmt::arg("help", "use tl.where for elements, or reduce the tile with tl.max"));
    return literal->kind == semantic::Literal::Kind::Float ? literal->floatValue != 0
                                                           : literal->intValue != 0;
  }
  py::object plain = unwrapConstexpr(object);
  if (!plain.is_none() && !PyBool_Check(plain.ptr()) && !PyLong_Check(plain.ptr()))
    throw makeError(
        ErrorCode::E0120,
        fmt::arg("message", fmt::format("condition of '{}' has type {}; bool, int or None is "
                                        "required",
                                        construct, Py_TYPE(plain.ptr())->tp_name)),
        fmt::arg("help", "compare it with a value, for example with == or 'is not None'"));
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

/// Whether one name may hold both values: a compiled branch or loop has one
/// type, or one constant, for each name. Numbers count as what they would be at
/// run time.
static bool sameType(py::handle before, py::handle after) {
  if (before.is(after))
    return true;
  if (isTensor(before) && isTensor(after))
    return unwrapValue(before).type == unwrapValue(after).type;
  semantic::Semantic &meaning = requireContext("a loop").semantic();
  std::vector<semantic::Value> leaves, others;
  std::set<size_t> changedNumbers;
  ValueTree::findChangedNumbers(before, after, changedNumbers);
  ValueTree tree = ValueTree::flatten(meaning, before, changedNumbers, leaves);
  return tree.match(meaning, after, others);
}

[[noreturn]] static void throwTypeChange(ErrorCode code, const std::string &name, py::handle before,
                                         py::handle after) {
  if (code == ErrorCode::E0105)
    throw makeError(code, fmt::arg("problem", mismatchOfName(name)),
                    fmt::arg("t1", describeValue(after)), fmt::arg("t2", describeValue(before)));
  throw makeError(code, fmt::arg("v", name), fmt::arg("t1", describeValue(before)),
                  fmt::arg("t2", describeValue(after)));
}

/// Raises `code` for the first name whose value changed its type.
static py::object checkTypes(ErrorCode code, PyObject *const *args) {
  for (Py_ssize_t i = 0, n = PyTuple_GET_SIZE(args[0]); i < n; ++i) {
    PyObject *before = PyTuple_GET_ITEM(args[1], i), *after = PyTuple_GET_ITEM(args[2], i);
    // A compiled kernel minds a name that was None only where it is read.
    bool wasUnset = code == ErrorCode::E0105 && before == Py_None;
    if (!wasUnset && !sameType(before, after))
      throwTypeChange(code, py::cast<std::string>(py::handle(PyTuple_GET_ITEM(args[0], i))), before,
                      after);
  }
  return py::none();
}

/// Runs `function`; a C++ exception becomes the Python error that pybind11
/// would make of it.
template <typename F> static PyObject *guarded(F function) {
  try {
    return py::object(function()).release().ptr();
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

extern "C" {
static PyObject *assignFunction(PyObject *, PyObject *object) {
  if (isTensor(object))
    return Py_NewRef(object);
  return guarded([&] { return assigned(object); });
}
static PyObject *unwrapFunction(PyObject *, PyObject *object) {
  return guarded([&] { return unwrapConstexpr(object); });
}
/// loop_index(number, dtype): an index of a run-time loop.
static PyObject *loopIndex(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guarded([&] {
    semantic::DType type = toDType(args[1], "loop index");
    uint64_t bits = PyLong_AsUnsignedLongLongMask(args[0]);
    return wrapValue(requireContext("range").semantic().tileBuilder().constantInt(type, bits));
  });
}
static PyObject *truthOfIf(PyObject *, PyObject *object) {
  return guarded([&] { return py::bool_(truth(object, "if")); });
}
static PyObject *truthOfWhile(PyObject *, PyObject *object) {
  return guarded([&] { return py::bool_(truth(object, "while")); });
}
static PyObject *truthOfChoice(PyObject *, PyObject *object) {
  return guarded([&] { return py::bool_(truth(object, "if ... else")); });
}
/// An int argument may be a number in one launch and a scalar in the next:
/// `n.to(tl.int64)` means the same in both.
static PyObject *promoteFunction(PyObject *, PyObject *object) {
  if (!isNumber(object) && !isConstexpr(object))
    return Py_NewRef(object);
  return guarded([&] {
    py::object plain = unwrapConstexpr(object);
    return isNumber(plain) ? assigned(plain) : plain;
  });
}
static PyObject *isTensorFunction(PyObject *, PyObject *object) {
  return Py_NewRef(isTensor(object) ? Py_True : Py_False);
}
static PyObject *contentsFunction(PyObject *, PyObject *object) {
  return guarded([&]() -> py::object {
    EvaluationContext *context = currentContext();
    return context && isTensor(object) ? context->concreteArray(unwrapValue(object)) : py::none();
  });
}
static PyObject *describeFunction(PyObject *, PyObject *object) {
  return guarded([&] { return py::str(describeValue(object)); });
}
static PyObject *checkBranch(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guarded([&] { return checkTypes(ErrorCode::E0105, args); });
}
static PyObject *checkLoop(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guarded([&] { return checkTypes(ErrorCode::E0118, args); });
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
  return guarded([&] { return py::str(interpreter::laneAsText(unwrapValue(object), 0)); });
}
/// check_coordinates(access, bytes of an element, offsets)
static PyObject *checkCoordinates(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guarded([&] {
    if (interpreter::CpuTileBuilder *builder = blockChecker(interpreter::Check::Portable))
      builder->checkCoordinates(py::cast<std::string>(py::handle(args[0])),
                                py::cast<int>(py::handle(args[1])), integersOf(args[2]));
    return py::none();
  });
}
/// check_block(access, offsets, extents, block, dimensions that are masked)
static PyObject *checkBlock(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guarded([&] {
    if (interpreter::CpuTileBuilder *builder = blockChecker(interpreter::Check::Blocks))
      builder->checkBlock(py::cast<std::string>(py::handle(args[0])), integersOf(args[1]),
                          integersOf(args[2]), integersOf(args[3]), integersOf(args[4]));
    return py::none();
  });
}
static PyObject *notFunction(PyObject *, PyObject *object) {
  return guarded([&] { return logicalNot(object); });
}
static PyObject *decidesAnd(PyObject *, PyObject *object) {
  return guarded([&] { return py::bool_(decides(object, false)); });
}
static PyObject *decidesOr(PyObject *, PyObject *object) {
  return guarded([&] { return py::bool_(decides(object, true)); });
}
static PyObject *joinAnd(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guarded([&] { return joinLogical(args[0], args[1], false); });
}
static PyObject *joinOr(PyObject *, PyObject *const *args, Py_ssize_t) {
  return guarded([&] { return joinLogical(args[0], args[1], true); });
}
} // extern "C"

static PyMethodDef kernelFunctions[] = {
    {"assign", assignFunction, METH_O, "The value a name holds after `name = x`."},
    {"unwrap", unwrapFunction, METH_O, "`constexpr(x)` as x."},
    {"loop_index", reinterpret_cast<PyCFunction>(loopIndex), METH_FASTCALL, "An index of a loop."},
    {"promote", promoteFunction, METH_O, "A number as a run-time scalar; else x."},
    {"truth_if", truthOfIf, METH_O, "The value of the condition of an `if`."},
    {"truth_while", truthOfWhile, METH_O, "The value of the condition of a `while`."},
    {"truth_choice", truthOfChoice, METH_O, "The value of the condition of `a if c else b`."},
    {"contents", contentsFunction, METH_O, "The elements of x as a NumPy array; None if compiled."},
    {"describe", describeFunction, METH_O, "x in the words of messages: fp32[64], i32, None."},
    {"is_tensor", isTensorFunction, METH_O, "Whether x is a run-time value."},
    {"check_branch", reinterpret_cast<PyCFunction>(checkBranch), METH_FASTCALL,
     "E0105 where names changed their types in a branch."},
    {"check_loop", reinterpret_cast<PyCFunction>(checkLoop), METH_FASTCALL,
     "E0118 where names changed their types in a loop."},
    {"check_coordinates", reinterpret_cast<PyCFunction>(checkCoordinates), METH_FASTCALL,
     "E0418 for a block of a descriptor that TMA refuses."},
    {"check_block", reinterpret_cast<PyCFunction>(checkBlock), METH_FASTCALL,
     "E0418 for a block pointer that leaves its array."},
    {"scalar_text", scalarText, METH_O, "The number that a scalar holds."},
    {"logical_not", notFunction, METH_O, "`not x`."},
    {"decides_and", decidesAnd, METH_O, "Whether a compile-time x makes `x and ...` x."},
    {"decides_or", decidesOr, METH_O, "Whether a compile-time x makes `x or ...` x."},
    {"join_and", reinterpret_cast<PyCFunction>(joinAnd), METH_FASTCALL, "`x and y`."},
    {"join_or", reinterpret_cast<PyCFunction>(joinOr), METH_FASTCALL, "`x or y`."},
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
      .def(py::init([](py::object jit, py::object function, std::pair<int64_t, int64_t> arity) {
        return NativeFunction{py::handle(jit), std::move(function), arity};
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
