//===- LanguageTypes.cpp - dtype, pointer_type and block_type -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the type objects under Triton's names. `name` and str() are what its
// kernels compare with ("fp32" but "int32"); `short_name` is the one of
// signatures ("fp32", "i32", "*fp32").
//
//===----------------------------------------------------------------------===//

#include "frontend/python/PythonValue.h"
#include "ir/support/Error.h"
#include "python/bindings/Bindings.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright {

using semantic::DType;
using semantic::ScalarKind;

static const DType &scalarOf(const TypeObject &object) { return object.type.scalar; }

/// Floats have short names in Triton, integers long ones.
static std::string displayName(const DType &type) {
  if (type.isPointer())
    return (type.isConst() ? "const_pointer<" : "pointer<") + displayName(type.pointee()) + ">";
  return type.isFloating() ? type.name() : type.longName();
}

static std::string displayName(const TypeObject &object) {
  const semantic::Type &type = object.type;
  return type.isTile()
             ? "<" + semantic::shapeName(type.shape) + ", " + displayName(type.scalar) + ">"
             : displayName(type.scalar);
}

static int exponentBias(const DType &type) {
  switch (type.kind()) {
  case ScalarKind::Float8E4M3:
    return 7;
  case ScalarKind::Float8E4B8:
    return 8;
  case ScalarKind::Float8E5B16:
    return 16;
  case ScalarKind::Float8E5M2:
  case ScalarKind::Float8E4B15:
  case ScalarKind::Float16:
    return 15;
  case ScalarKind::BFloat16:
  case ScalarKind::Float32:
    return 127;
  case ScalarKind::Float64:
    return 1023;
  default:
    return 0;
  }
}

/// "i32", "u8", "P" before what a pointer points to, "2S4_8S" for shapes: a name
/// that may stand in a symbol.
static std::string mangle(const semantic::Type &type) {
  std::string scalar = type.scalar.isPointer()
                           ? (type.scalar.isConst() ? "Pk" : "P") + mangle(type.scalar.pointee())
                           : type.scalar.name();
  if (!type.isTile())
    return scalar;
  std::string out = scalar + "S";
  for (size_t i = 0; i < type.shape.size(); ++i)
    out += (i ? "_" : "") + std::to_string(type.shape[i]);
  return out + "S";
}

static int requireIntegerBits(const TypeObject &object, const char *name) {
  const DType &type = scalarOf(object);
  if (!type.isInteger()) {
    std::string message =
        fmt::format("{} of {}, which is no integer type", name, displayName(type));
    throw makeError(ErrorCode::E0120, fmt::arg("message", message),
                    fmt::arg("help", "ask is_int() first"));
  }
  return type.bitWidth();
}

/// 2^bits as a Python int, minus one or negated: 64 bits do not fit int64.
static py::object powerOfTwo(int bits) { return py::int_(1).attr("__lshift__")(bits); }

static void bindPredicates(py::class_<TypeObject> &dtype) {
  auto addKind = [&](const std::string &name, ScalarKind kind) {
    dtype.def(name.c_str(), [kind](const TypeObject &t) {
      return scalarOf(t).kind() == kind && !t.type.isTile();
    });
  };
  for (const ScalarFacts &facts : scalarTable)
    if (isElementType(facts.kind) || facts.kind == ScalarKind::Void)
      addKind(fmt::format("is_{}", facts.isFloating() ? facts.name : facts.longName), facts.kind);
  addKind("is_bool", ScalarKind::Int1);
  dtype.def("is_fp8", [](const TypeObject &t) { return scalarOf(t).isFloat8(); });
  dtype.def("is_floating", [](const TypeObject &t) { return scalarOf(t).isFloating(); });
  dtype.def("is_standard_floating", [](const TypeObject &t) {
    return scalarOf(t).isFloating() && !scalarOf(t).isFloat8();
  });
  dtype.def("is_int", [](const TypeObject &t) { return scalarOf(t).isInteger(); });
  dtype.def("is_int_signed", [](const TypeObject &t) { return scalarOf(t).isSigned(); });
  dtype.def("is_int_unsigned", [](const TypeObject &t) { return scalarOf(t).isUnsigned(); });
  dtype.def("is_ptr",
            [](const TypeObject &t) { return scalarOf(t).isPointer() && !t.type.isTile(); });
  dtype.def("is_const", [](const TypeObject &t) {
    return scalarOf(t).isPointer() && scalarOf(t).isConst() && !t.type.isTile();
  });
  dtype.def("is_block", [](const TypeObject &t) { return t.type.isTile(); });
  dtype.def("is_tuple", [](const TypeObject &) { return false; });
}

static void bindAttributes(py::class_<TypeObject> &dtype) {
  dtype.def_property_readonly("name", [](const TypeObject &t) { return displayName(t); });
  // As messages show it: "fp32", "fp32[8, 8]".
  dtype.def_property_readonly("short_name", [](const TypeObject &t) { return t.type.name(); });
  dtype.def_property_readonly("codegen_name",
                              [](const TypeObject &t) { return scalarOf(t).longName(); });
  dtype.def_property_readonly("cache_key_part", [](const TypeObject &t) { return displayName(t); });
  dtype.def_property_readonly("scalar", [](const TypeObject &t) { return wrapDType(scalarOf(t)); });
  dtype.def_property_readonly("primitive_bitwidth",
                              [](const TypeObject &t) { return scalarOf(t).bitWidth(); });
  dtype.def_property_readonly("itemsize",
                              [](const TypeObject &t) { return scalarOf(t).sizeInBytes(); });
  dtype.def_property_readonly(
      "int_bitwidth", [](const TypeObject &t) { return requireIntegerBits(t, "int_bitwidth"); });
  dtype.def_property_readonly("fp_mantissa_width",
                              [](const TypeObject &t) { return scalarOf(t).mantissaBits(); });
  dtype.def_property_readonly("exponent_bias",
                              [](const TypeObject &t) { return exponentBias(scalarOf(t)); });
  dtype.def("mangle", [](const TypeObject &t) { return mangle(t.type); });
  dtype.def("get_int_max_value", [](const TypeObject &t) {
    int bits = requireIntegerBits(t, "get_int_max_value");
    return powerOfTwo(bits - scalarOf(t).isSigned()) - py::int_(1);
  });
  dtype.def("get_int_min_value", [](const TypeObject &t) -> py::object {
    int bits = requireIntegerBits(t, "get_int_min_value");
    return scalarOf(t).isSigned() ? -powerOfTwo(bits - 1) : py::object(py::int_(0));
  });
  dtype.def(
      "with_element_ty",
      [](const TypeObject &t, py::handle element) {
        return wrapType(t.type.withScalar(toDType(element, "element_ty")));
      },
      py::arg("element_ty"));
  // A tile has a shape, a scalar has none; code asks for either.
  dtype.def("get_block_shapes", [](const TypeObject &t) { return wrapShape(t.type.shape); });
}

/// What a program imports this package as: it may evaluate the text of a type.
static std::string packageName() {
  py::handle triton = PyDict_GetItemString(PyImport_GetModuleDict(), "triton");
  bool isAlias =
      triton &&
      py::str(py::type::of(triton).attr("__module__")).equal(py::str("tilewright.triton_alias"));
  return isAlias ? "triton" : "tilewright";
}

static void bindProtocol(py::class_<TypeObject> &dtype) {
  dtype.def("__eq__", [](const TypeObject &t, py::handle other) {
    py::object plain = unwrapConstexpr(other);
    return py::isinstance<TypeObject>(plain) && py::cast<const TypeObject &>(plain).type == t.type;
  });
  dtype.def("__ne__", [](const TypeObject &t, py::handle other) {
    py::object plain = unwrapConstexpr(other);
    return !py::isinstance<TypeObject>(plain) || py::cast<const TypeObject &>(plain).type != t.type;
  });
  dtype.def("__hash__", [](const TypeObject &t) { return py::hash(py::str(displayName(t))); });
  dtype.def("__str__", [](const TypeObject &t) { return displayName(t); });
  dtype.def("__repr__", [](const TypeObject &t) {
    return t.type.isTile() || scalarOf(t).isPointer()
               ? displayName(t)
               : packageName() + ".language." + scalarOf(t).longName();
  });
  // Immutable, so a copy is the object; `is` keeps working in copied options.
  dtype.def("__copy__", [](py::object self) { return self; });
  dtype.def("__deepcopy__", [](py::object self, py::handle) { return self; });
}

/// The type of "fp32", "int32", "i32"; E0120 for a name that is none.
static DType parseDType(py::handle name) {
  std::string text = py::cast<std::string>(py::str(unwrapConstexpr(name)));
  DType type;
  if (!DType::parse(text, type)) {
    std::string message = fmt::format("there is no dtype '{}'", text);
    throw makeError(ErrorCode::E0120, fmt::arg("message", message),
                    fmt::arg("help", "names are int1, int8 to int64, uint8 to uint64, fp8e4nv, "
                                     "fp8e5, fp16, bf16, fp32, fp64 and void"));
  }
  return type;
}

static void bindPointerAndBlock(py::module_ &language) {
  py::class_<PointerTypeObject, TypeObject> pointer(language, "pointer_type");
  pointer.def(py::init([](py::handle element, int addressSpace, bool isConst) {
                return PointerTypeObject{
                    {DType::pointerTo(toDType(element, "element_ty"), isConst, addressSpace)}};
              }),
              py::arg("element_ty"), py::arg("address_space") = 1, py::arg("const") = false);
  pointer.def_property_readonly(
      "element_ty", [](const PointerTypeObject &t) { return wrapDType(scalarOf(t).pointee()); });
  pointer.def_property_readonly(
      "address_space", [](const PointerTypeObject &t) { return scalarOf(t).addressSpace(); });
  pointer.def_property_readonly("const",
                                [](const PointerTypeObject &t) { return scalarOf(t).isConst(); });
  pointer.def("__reduce__", [](const py::object &self) {
    return py::make_tuple(
        py::type::of(self),
        py::make_tuple(self.attr("element_ty"), self.attr("address_space"), self.attr("const")));
  });

  py::class_<BlockTypeObject, TypeObject> block(language, "block_type");
  block.def(py::init([](py::handle element, py::handle shape) {
              std::vector<int64_t> extents = toIntList(shape, "shape");
              if (extents.empty())
                throw makeError(ErrorCode::E0121,
                                fmt::arg("message", "a block_type needs at least one dimension"),
                                fmt::arg("help", "use the dtype itself for a scalar"));
              semantic::Semantic::checkShape(extents);
              return BlockTypeObject{{semantic::Type(toDType(element, "element_ty"), extents)}};
            }),
            py::arg("element_ty"), py::arg("shape"));
  block.def_property_readonly("element_ty",
                              [](const BlockTypeObject &t) { return wrapDType(scalarOf(t)); });
  block.def_property_readonly("shape",
                              [](const BlockTypeObject &t) { return wrapShape(t.type.shape); });
  block.def_property_readonly("numel",
                              [](const BlockTypeObject &t) { return t.type.numElements(); });
  block.def_property_readonly("nbytes", [](const BlockTypeObject &t) {
    return t.type.numElements() * scalarOf(t).sizeInBytes();
  });
  block.def("__reduce__", [](const py::object &self) {
    py::tuple shape(py::cast(self.cast<const BlockTypeObject &>().type.shape));
    return py::make_tuple(py::type::of(self), py::make_tuple(self.attr("element_ty"), shape));
  });
}

void bindLanguageTypes(py::module_ &language) {
  py::class_<TypeObject> dtype(language, "dtype");
  bindPredicates(dtype);
  bindAttributes(dtype);
  bindProtocol(dtype);
  dtype.def(py::init([](py::handle name) { return TypeObject{parseDType(name)}; }),
            py::arg("name"));
  // The object of the kind, so that `is` holds for types that come from a pickle.
  language.def("make_dtype", [](py::handle name) { return wrapDType(parseDType(name)); });
  dtype.def("__reduce__", [makeName = language.attr("make_dtype")](const TypeObject &t) {
    return py::make_tuple(makeName, py::make_tuple(scalarOf(t).name()));
  });
  bindPointerAndBlock(language);
  py::list table;
  for (const ScalarFacts &facts : scalarTable) {
    if (facts.kind != ScalarKind::Void && !isElementType(facts.kind))
      continue;
    language.attr(facts.longName) = wrapDType(facts.kind);
    table.append(py::make_tuple(facts.name, facts.longName, facts.frameworkName, facts.bits));
  }
  // A row per type: its short name, its long one, the frameworks' and its bits.
  language.attr("scalar_types") = py::tuple(table);
}

} // namespace tilewright
