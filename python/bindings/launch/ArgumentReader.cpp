//===- ArgumentReader.cpp - Python arguments as launch arguments ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: constants, numbers, and the switch over the types of arguments. Arrays are in
// ArrayArguments.cpp, arguments that hold others in CompositeArguments.cpp.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/ArgumentReader.h"
#include "python/bindings/launch/ArgumentReaderInternal.h"
#include "python/bindings/launch/TorchAccess.h"

namespace py = pybind11;

namespace tilewright {

using namespace launch;

//===----------------------------------------------------------------------===//
// Constexpr values
//===----------------------------------------------------------------------===//

py::object unwrapHostConstexpr(PyObject *value) {
  static std::atomic<PyTypeObject *> constexprType{nullptr};
  static const InternedName valueName("value");
  PyTypeObject *type = Py_TYPE(value);
  PyTypeObject *known = constexprType.load(std::memory_order_acquire);
  if (!known && !std::strcmp(shortTypeName(type), "constexpr") &&
      moduleStartsWith(type, "tilewright")) {
    Py_INCREF(type);
    constexprType = known = type;
  }
  if (type != known)
    return py::reinterpret_borrow<py::object>(value);
  return py::reinterpret_steal<py::object>(checked(PyObject_GetAttr(value, valueName)));
}

ConstTokens::ConstTokens() : dict(checked(PyDict_New())) {}
ConstTokens::~ConstTokens() { Py_XDECREF(dict); }

/// The number that `dict` has, or now gets, for a key; null with an error set. Threads
/// need no lock: where two enter one key, the dict decides.
static py::object numberFor(PyObject *dict, PyObject *key, std::atomic<uint64_t> &next) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject *found = nullptr;
  if (PyDict_GetItemRef(dict, key, &found) == 0) {
    py::int_ number(next.fetch_add(1, std::memory_order_relaxed));
    if (PyDict_SetDefaultRef(dict, key, number.ptr(), &found) < 0)
      found = nullptr;
  }
  return py::reinterpret_steal<py::object>(found);
#else
  PyObject *found = PyDict_GetItemWithError(dict, key);
  if (!found && !PyErr_Occurred())
    found =
        PyDict_SetDefault(dict, key, py::int_(next.fetch_add(1, std::memory_order_relaxed)).ptr());
  return py::reinterpret_borrow<py::object>(found);
#endif
}

std::string ArgumentPlace::name() const {
  return outer ? fmt::format("{}[{}]", outer->name(), position) : param.nameText;
}

uint64_t ConstTokens::token(PyObject *value, const ArgumentPlace &place) {
  py::object dictKey;
  if (PyUnicode_CheckExact(value)) {
    dictKey = py::reinterpret_borrow<py::object>(value);
  } else if (PyTuple_Check(value) || PyList_Check(value) || PyDict_Check(value)) {
    // 1, 1.0 and True are equal inside a tuple but compile differently.
    dictKey = py::make_tuple(py::handle(reinterpret_cast<PyObject *>(Py_TYPE(value))),
                             py::module_::import("tilewright.runtime.dependencies")
                                 .attr("encode_value")(py::handle(value)));
  } else if (std::optional<uint64_t> version = versionOfFunction(value)) {
    // The same object, and another text to compile once the program has replaced it.
    dictKey = py::make_tuple(py::handle(value), *version);
  } else {
    dictKey =
        py::make_tuple(py::handle(reinterpret_cast<PyObject *>(Py_TYPE(value))), py::handle(value));
  }
  py::object number = numberFor(dict, dictKey.ptr(), next);
  if (!number) {
    forgetException();
    throw makeError(ErrorCode::E0204, fmt::arg("a", place.name()), fmt::arg("t", typeNameOf(value)))
        .addNote("a constexpr argument must be hashable: it is part of the "
                 "key of the compiled kernel");
  }
  return PyLong_AsUnsignedLongLong(number.ptr());
}

uint8_t ArgumentReader::constCode(const ArgumentPlace &place, PyObject *value, uint64_t &word) {
  if (value == Py_None)
    return constNoneCode;
  if (value == Py_True)
    return constTrueCode;
  if (value == Py_False)
    return constFalseCode;
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) {
      word = static_cast<uint64_t>(number);
      return constIntCode;
    }
  } else if (PyFloat_CheckExact(value)) {
    double number = PyFloat_AS_DOUBLE(value);
    std::memcpy(&word, &number, sizeof(word));
    return constFloatCode;
  }
  word = tokens.token(value, place);
  return constTokenCode;
}

/// Whether the value can be no `constexpr(x)`; decided without looking at names.
static bool isPlainConstant(PyObject *value) {
  PyTypeObject *type = Py_TYPE(value);
  return type == &PyLong_Type || type == &PyBool_Type || type == &PyUnicode_Type ||
         type == &PyFloat_Type || value == Py_None;
}

void ArgumentReader::readConstexpr(ArgumentPlace &place, PyObject *value) {
  uint64_t word = 0;
  place.code = isPlainConstant(value) ? constCode(place, value, word)
                                      : constCode(place, unwrapHostConstexpr(value).ptr(), word);
  if (hasConstWord(place.code))
    key.addWord(word);
}

void ArgumentReader::addOption(unsigned slot, PyObject *value) {
  static const LaunchParam option;
  uint64_t word = 0;
  uint8_t code = isPlainConstant(value)
                     ? constCode({option}, value, word)
                     : constCode({option}, unwrapHostConstexpr(value).ptr(), word);
  // The high bit keeps an option's word apart from any small value.
  key.addWord((uint64_t(1) << 63) | (uint64_t(slot) << 8) | code);
  key.addWord(word);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void ArgumentReader::readInt(ArgumentPlace &place, PyObject *value) {
  long long number;
  if (!place.param.isPlain() || !smallIntValue(value, number))
    return readIntAsDeclared(place, value);
  if (number == 1) {
    place.code = intOneCode;
    return;
  }
  *place.slot = static_cast<uint64_t>(number);
  // A digit has 30 bits, or 15.
  place.code = int32Code | divisibilityFlag(number);
}

void ArgumentReader::readIntAsDeclared(ArgumentPlace &place, PyObject *value) {
  const LaunchParam &param = place.param;
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  bool isUnsigned64 = false;
  if (overflow) {
    unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : ~0ull;
    if (overflow < 0 || (large == ~0ull && PyErr_Occurred())) {
      PyErr_Clear();
      throw makeError(ErrorCode::E0211, fmt::arg("a", place.name()),
                      fmt::arg("v", std::string(py::str(py::handle(value)))));
    }
    isUnsigned64 = true;
    number = static_cast<long long>(large);
  }
  if (param.annotatedFloat)
    return readFloat(place, PyLong_AsDouble(value));
  if (param.annotatedPointer)
    raiseArgumentType(place.name(), value);
  if (param.annotatedBool && !isUnsigned64 && (number == 0 || number == 1))
    return readBool(place, number != 0);
  // The body gets it as a scalar of the declared type, if there is one (EmitModule.cpp).
  if (number == 1 && !param.noSpecialize && !isUnsigned64) {
    place.code = intOneCode;
    return;
  }
  uint8_t code;
  *place.slot = static_cast<uint64_t>(number);
  if (!param.annotation.empty()) {
    if (!packInt(param.annotation, number, isUnsigned64, *place.slot))
      throw makeError(ErrorCode::E0119, fmt::arg("v", std::string(py::str(py::handle(value)))),
                      fmt::arg("t", param.annotation))
          .addNote("in argument '" + place.name() + "'");
    code = annotatedScalarCode;
  } else if (isUnsigned64) {
    code = uint64Code;
  } else {
    code = number >= INT32_MIN && number <= INT32_MAX ? int32Code : int64Code;
  }
  if (!param.noSpecialize && !param.noAlignment)
    code |= divisibilityFlag(number);
  place.code = code;
}

void ArgumentReader::readFloat(ArgumentPlace &place, double value) {
  const LaunchParam &param = place.param;
  if (param.annotation.empty()) {
    packFloat("fp32", value, *place.slot);
    place.code = float32Code;
    return;
  }
  if (!packFloat(param.annotation, value, *place.slot))
    throw makeError(ErrorCode::E0204, fmt::arg("a", place.name()), fmt::arg("t", "float"))
        .addNote("the parameter is declared as " + param.annotation);
  place.code = annotatedScalarCode;
}

void ArgumentReader::readBool(ArgumentPlace &place, bool value) {
  const LaunchParam &param = place.param;
  *place.slot = value;
  if (param.annotatedFloat)
    return readFloat(place, value ? 1.0 : 0.0);
  place.code = param.annotation.empty() ? boolCode : annotatedScalarCode;
}

//===----------------------------------------------------------------------===//
// The switch
//===----------------------------------------------------------------------===//

/// numpy.ndarray, once the program has imported NumPy; its subclasses count too.
static PyTypeObject *numpyArrayType() {
  static std::atomic<PyTypeObject *> type{nullptr};
  static const InternedName numpyName("numpy");
  static const InternedName arrayName("ndarray");
  if (PyTypeObject *known = type.load(std::memory_order_acquire))
    return known;
  py::object numpy = py::reinterpret_steal<py::object>(PyImport_GetModule(numpyName));
  PyObject *found = numpy ? tryAttribute(numpy.ptr(), arrayName) : nullptr;
  if (!found || !PyType_Check(found))
    return nullptr;
  type = reinterpret_cast<PyTypeObject *>(found); // kept for good
  return type;
}

/// Functions, dtypes and constexpr objects are compile-time values wherever they
/// are passed.
static bool isCompileTimeObject(PyObject *value) {
  PyTypeObject *type = Py_TYPE(value);
  if (!moduleStartsWith(type, "tilewright"))
    return false;
  const char *name = shortTypeName(type);
  return !std::strcmp(name, "dtype") || !std::strcmp(name, "JITFunction") ||
         !std::strcmp(name, "constexpr") || !std::strcmp(name, "pointer_type");
}

void ArgumentReader::readOther(ArgumentPlace &place, PyObject *value) {
  static const InternedName dataPtrName("data_ptr");
  static const InternedName interfaceName("__cuda_array_interface__");
  static const InternedName dlpackName("__dlpack__");
  PyTypeObject *type = Py_TYPE(value);
  if (PyLong_Check(value))
    return readInt(place, value);
  if (PyFloat_Check(value))
    return readFloat(place, PyFloat_AS_DOUBLE(value));
  PyTypeObject *ndarray = numpyArrayType();
  if (ndarray && PyType_IsSubtype(type, ndarray)) {
    sawNumpy = true;
    return;
  }
  if (moduleStartsWith(type, "numpy")) {
    if (!std::strncmp(type->tp_name, "numpy.bool", 10))
      return readBool(place, PyObject_IsTrue(value) == 1);
  }
  if (isCompileTimeObject(value))
    return readConstexpr(place, value);
  if (py::object method = py::reinterpret_steal<py::object>(tryAttribute(value, dataPtrName)))
    return readDataPointerObject(place, value, method.ptr());
  if (py::object interface = py::reinterpret_steal<py::object>(tryAttribute(value, interfaceName)))
    return readArrayInterface(place, interface.ptr(), value);
  if (moduleStartsWith(type, "jax") && std::strstr(type->tp_name, "Tracer"))
    raiseArgumentType(place.name(), value); // has the attributes of an array, and no values yet
  if (py::reinterpret_steal<py::object>(tryAttribute(value, dlpackName)))
    return readDlpack(place, value);
  if (PyIndex_Check(value)) {
    py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(value));
    if (number)
      return readInt(place, number.ptr());
    forgetException();
  }
  if (type->tp_as_number && type->tp_as_number->nb_float) {
    double number = PyFloat_AsDouble(value);
    if (!PyErr_Occurred())
      return readFloat(place, number);
    forgetException();
  }
  raiseArgumentType(place.name(), value);
}

void ArgumentReader::read(ArgumentPlace &place, PyObject *value) {
  if (place.param.isConstexpr)
    return readConstexpr(place, value);
  PyTypeObject *type = Py_TYPE(value);
  if (type == &PyLong_Type)
    return readInt(place, value);
  if (type == &PyFloat_Type)
    return readFloat(place, PyFloat_AS_DOUBLE(value));
  if (type == &PyBool_Type)
    return readBool(place, value == Py_True);
  if (value == Py_None) {
    place.code = constNoneCode;
    return;
  }
  TorchAccess *torch = TorchAccess::get();
  if (torch && torch->isPlainTensor(type))
    return readTorch(place, *torch, value);
  if (PyTuple_Check(value))
    return readTuple(place, value);
  if (isTensorDescriptor(value))
    return readDescriptor(place, value);
  readOther(place, value);
}

bool ArgumentReader::readOne(const LaunchParam &param, size_t index, PyObject *value) {
  ArgumentPlace place{param, index, arguments.newSlot()};
  read(place, value);
  if (isScalarCode(place.code))
    arguments.add(place.slot);
  return !sawNumpy;
}

bool ArgumentReader::readAll(PyObject *const *bound) {
  for (size_t i = 0; i < params.size(); ++i) {
    if (!bound[i])
      continue; // open: its code stays 0
    ArgumentPlace place{params[i], i, &slots[i]};
    read(place, bound[i]);
    key.codes()[i] = place.code;
    if (isScalarCode(place.code))
      arguments.add(&slots[i]);
  }
  return !sawNumpy;
}

} // namespace tilewright
