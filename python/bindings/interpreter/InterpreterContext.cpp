//===- InterpreterContext.cpp - A kernel that runs natively ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/interpreter/InterpreterContext.h"
#include "frontend/python/CallArguments.h"
#include "frontend/python/StatementErrors.h"
#include "frontend/python/ValueTree.h"
#include "python/bindings/PythonError.h"
#include "runtime/interpreter/FloatChunks.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright {

using interpreter::AllocationId;
using semantic::DType;
using semantic::Literal;
using semantic::ScalarKind;
using semantic::Value;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void NativeFunction::checkArguments(const py::tuple &args, const py::dict &kwargs) const {
  int64_t count = static_cast<int64_t>(args.size());
  bool fits = kwargs.empty() && count >= arity.first && (arity.second < 0 || count <= arity.second);
  if (!fits)
    bindArguments(jitFunction, args, kwargs);
}

py::object NativeFunction::call(const py::tuple &args, const py::dict &kwargs) const {
  PyObject *result =
      PyObject_Call(function.ptr(), args.ptr(), kwargs.empty() ? nullptr : kwargs.ptr());
  if (!result)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

/// `constexpr(x)` among arguments becomes x; other arguments stay.
static py::tuple unwrapArguments(const py::tuple &args) {
  py::tuple result(args.size());
  for (size_t i = 0; i < args.size(); ++i)
    result[i] =
        isTensor(args[i]) ? py::reinterpret_borrow<py::object>(args[i]) : unwrapConstexpr(args[i]);
  return result;
}

InterpreterContext::InterpreterContext(py::object prepare, py::dict options)
    : builder(*this), meaning(builder), prepare(std::move(prepare)), options(std::move(options)) {
  meaning.setOverflowChecks(wantsOverflowChecks(this->options));
}

/// Raises E0111 where a function calls itself with the same constants and types: the
/// compiler could not make a function of it.
void InterpreterContext::checkRecursion(const NativeFunction &native, const py::tuple &args) const {
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].first != &native)
      continue;
    if (!isSameArgument(args, calls[i].second) && calls.size() < maxCallDepth)
      continue;
    std::vector<std::string> chain;
    for (size_t k = i; k < calls.size(); ++k)
      chain.push_back(py::str(calls[k].first->jitFunction.attr("__name__")));
    throw recursionError(chain, py::str(native.jitFunction.attr("__name__")));
  }
}

py::object InterpreterContext::callFunction(py::handle jitFunction, py::tuple args,
                                            py::dict kwargs) {
  py::object holder = prepare(jitFunction);
  const NativeFunction &native = holder.cast<const NativeFunction &>();
  py::tuple plain = unwrapArguments(args);
  py::dict named;
  if (kwargs)
    for (auto item : kwargs)
      named[item.first] = unwrapConstexpr(item.second);
  native.checkArguments(plain, named);
  checkRecursion(native, plain);
  calls.emplace_back(&native, plain);
  struct Pop {
    OpenCalls &calls;
    ~Pop() { calls.pop_back(); }
  } pop{calls};
  return native.call(plain, named);
}

py::object InterpreterContext::option(const std::string &name) const {
  return options.contains(name) ? py::object(options[name.c_str()]) : py::none();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static int64_t signedScalar(const Value &value) {
  switch (interpreter::elementSize(value.type.scalar.kind())) {
  case 1:
    return *interpreter::elementsOf<int8_t>(value);
  case 2:
    return *interpreter::elementsOf<int16_t>(value);
  case 4:
    return *interpreter::elementsOf<int32_t>(value);
  default:
    return *interpreter::elementsOf<int64_t>(value);
  }
}

static uint64_t unsignedScalar(const Value &value) {
  switch (interpreter::elementSize(value.type.scalar.kind())) {
  case 1:
    return *interpreter::elementsOf<uint8_t>(value);
  case 2:
    return *interpreter::elementsOf<uint16_t>(value);
  case 4:
    return *interpreter::elementsOf<uint32_t>(value);
  default:
    return *interpreter::elementsOf<uint64_t>(value);
  }
}

std::optional<Literal> InterpreterContext::concreteScalar(const Value &value) {
  builder.valueWasRead();
  if (interpreter::countOf(value) != 1) {
    builder.branchedOnTile = true;
    return std::nullopt;
  }
  const DType &type = value.type.scalar;
  if (type.isSoftwareFloat8())
    return concreteScalar(meaning.cast(value, ScalarKind::Float32));
  if (type.isBool())
    return Literal::boolean(*interpreter::elementsOf<uint8_t>(value) != 0);
  if (type.isFloating())
    return Literal::floating(
        interpreter::decodeFloat(type.kind(), interpreter::tileOf(value).as<void>(), 0));
  if (type.isSigned())
    return Literal::integer(signedScalar(value));
  uint64_t bits = unsignedScalar(value);
  if (bits > static_cast<uint64_t>(INT64_MAX))
    return Literal::unsigned64(bits);
  return Literal::integer(static_cast<int64_t>(bits));
}

/// What NumPy, or ml_dtypes, calls the elements: addresses are integers, and the types that
/// software alone knows are their codes.
static py::object numpyType(const DType &type) {
  if (type.isPointer())
    return py::str("uint64");
  if (type.isSoftwareFloat8())
    return py::str("uint8");
  const char *name = scalarFacts(type.kind()).frameworkName;
  bool isExtension = type.isFloat8() || type.kind() == ScalarKind::BFloat16;
  return isExtension ? py::module_::import("ml_dtypes").attr(name) : py::str(name);
}

py::object toNumpy(const Value &value) {
  ScalarKind kind = value.type.scalar.kind();
  py::module_ numpy = py::module_::import("numpy");
  std::vector<py::ssize_t> shape(value.type.shape.begin(), value.type.shape.end());
  int64_t count = interpreter::countOf(value);
  py::object type = numpyType(value.type.scalar);
  py::object array = numpy.attr("empty")(py::cast(shape), type);
  py::object address = array.attr("ctypes").attr("data");
  std::memcpy(reinterpret_cast<void *>(address.cast<uint64_t>()),
              interpreter::tileOf(value).as<void>(), count * interpreter::elementSize(kind));
  return array;
}

py::object InterpreterContext::concreteArray(const Value &value) {
  builder.valueWasRead();
  bool isSoftware = value.type.scalar.isSoftwareFloat8(); // shown by value
  return toNumpy(isSoftware ? meaning.cast(value, ScalarKind::Float32) : value);
}

//===----------------------------------------------------------------------===//
// Output and places
//===----------------------------------------------------------------------===//

void InterpreterContext::writeLine(const std::string &line) { py::print(line); }

SourceFrame InterpreterContext::currentFrame() {
  SourceFrame result;
  py::object frame = py::module_::import("sys").attr("_getframe")();
  // The kernel's line, not that of a function of the language it called.
  auto isOwn = [](const py::object &of) {
    py::object module = of.attr("f_globals").attr("get")("__name__", "");
    return py::str(module).cast<std::string>().rfind("tilewright.", 0) == 0;
  };
  while (isOwn(frame) && !frame.attr("f_back").is_none())
    frame = frame.attr("f_back");
  py::object code = frame.attr("f_code");
  result.file = code.attr("co_filename").cast<std::string>();
  result.function = code.attr("co_name").cast<std::string>();
  result.line = frame.attr("f_lineno").cast<int>();
  result.sourceLine = py::module_::import("linecache")
                          .attr("getline")(result.file, result.line)
                          .attr("rstrip")()
                          .cast<std::string>();
  return result;
}

//===----------------------------------------------------------------------===//
// Arguments and programs
//===----------------------------------------------------------------------===//

static DType parseType(const std::string &name) {
  DType type;
  if (!DType::parse(name, type))
    throw makeInternalError("interpreter", "unknown type '" + name + "'");
  return type;
}

py::object InterpreterContext::addArray(const std::string &name, uint64_t address,
                                        const std::string &dtype, std::vector<int64_t> shape,
                                        const std::vector<int64_t> &byteStrides, bool writable,
                                        bool isConst) {
  DType element = parseType(dtype);
  AllocationId id =
      builder.memory.add(name, address, element, std::move(shape), byteStrides, writable);
  return wrapValue(builder.pointerTo(id, DType::pointerTo(element, isConst)));
}

py::object InterpreterContext::scalar(const std::string &dtype, py::handle number) {
  DType type = parseType(dtype);
  if (type.isFloating())
    return wrapValue(builder.constantFloat(type, number.cast<double>()));
  // Two's complement of any 64-bit number, negative or above int64.
  uint64_t bits =
      PyLong_AsUnsignedLongLongMask(py::int_(py::reinterpret_borrow<py::object>(number)).ptr());
  return wrapValue(builder.constantInt(type, bits));
}

bool InterpreterContext::wasWritten(AllocationId id) const {
  return builder.memory.allocation(id).written;
}

bool InterpreterContext::isChosen(const std::array<int64_t, 3> &program) const {
  return !chosen || chosen->count(program);
}

void InterpreterContext::choose(const std::vector<std::array<int64_t, 3>> &programs) {
  chosen.emplace(programs.begin(), programs.end());
}

void InterpreterContext::runProgram(const NativeFunction &kernel, const py::tuple &args) {
  calls.assign(1, {&kernel, args});
  auto value =
      py::reinterpret_steal<py::object>(PyObject_Call(kernel.function.ptr(), args.ptr(), nullptr));
  if (!value && programEnded) {
    py::error_already_set raised;
    if (raised.trace())
      PyException_SetTraceback(raised.value().ptr(), raised.trace().ptr());
    if (!programEnded(raised.value()).cast<bool>())
      throw raised;
    value = py::none();
  }
  if (!value || PyErr_CheckSignals() != 0)
    throw py::error_already_set();
  if (!value.is_none())
    throw returnedValueError(describeValue(value));
}

void InterpreterContext::run(const NativeFunction &kernel, const py::tuple &args,
                             std::array<int64_t, 3> grid) {
  ContextScope scope(*this);
  ProgramScheduler programs(*this, builder, calls, grid, order,
                            [&](const interpreter::ProgramPosition &position) {
                              if (isChosen(position.id))
                                runProgram(kernel, args);
                            });
  struct Current {
    ProgramScheduler *&scheduler;
    Current(ProgramScheduler *&scheduler, ProgramScheduler *to) : scheduler(scheduler) {
      scheduler = to;
    }
    ~Current() { scheduler = nullptr; }
  } current(scheduler, &programs);
  programs.runAll();
}

//===----------------------------------------------------------------------===//
// Who listens
//===----------------------------------------------------------------------===//

void InterpreterContext::collect(py::object function, py::object ended) {
  programEnded = std::move(ended);
  builder.checks.collector = [function = std::move(function)](const Error &finding) {
    function(exceptionOf(finding));
  };
}

void InterpreterContext::observe(py::object function) {
  const interpreter::Memory &memory = builder.memory;
  builder.memory.observer = [&memory,
                             function = std::move(function)](const interpreter::Access &access) {
    int64_t lanes = interpreter::countOf(access.pointer), active = 0;
    const uint64_t *addresses = interpreter::elementsOf<uint64_t>(access.pointer);
    uint64_t low = ~uint64_t(0), high = 0;
    for (int64_t i = 0; i < lanes; ++i) {
      if (access.mask && !access.mask[i])
        continue;
      ++active;
      low = std::min(low, addresses[i]);
      high = std::max(high, addresses[i]);
    }
    AllocationId id = interpreter::tileOf(access.pointer).allocation;
    if (id == interpreter::unknownAllocation && active)
      id = memory.find(low);
    py::object first = py::none(), last = py::none(), name = py::none();
    if (id != interpreter::unknownAllocation) {
      const interpreter::Allocation &array = memory.allocation(id);
      name = py::str(array.name);
      if (active) {
        first = py::int_(array.elementIndex(low));
        last = py::int_(array.elementIndex(high));
      }
    }
    function(interpreter::nameOf(access.kind), name, first, last, active, lanes,
             active * access.sizeInBytes);
  };
}

void InterpreterContext::watchElement(AllocationId id, int64_t element, py::object function) {
  const interpreter::Allocation &array = builder.memory.allocation(id);
  uint64_t size = interpreter::elementSize(array.type.kind());
  uint64_t wanted = array.base + element * size;
  builder.memory.observer = [wanted, size,
                             function = std::move(function)](const interpreter::Access &access) {
    if (interpreter::onlyReads(access.kind))
      return;
    const uint64_t *addresses = interpreter::elementsOf<uint64_t>(access.pointer);
    for (int64_t i = 0, lanes = interpreter::countOf(access.pointer); i < lanes; ++i)
      if ((!access.mask || access.mask[i]) && addresses[i] < wanted + size &&
          wanted < addresses[i] + access.sizeInBytes)
        function(interpreter::nameOf(access.kind), i);
  };
}

} // namespace tilewright
