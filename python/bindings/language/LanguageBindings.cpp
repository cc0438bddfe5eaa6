//===- LanguageBindings.cpp - The functions of the language ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: `_core.language.load(...)` and the like: each takes all its arguments by
// position (language/core.py has the signatures, defaults and documentation),
// turns them into operands and calls Semantic of the thread's context.
//
// How: one trampoline of the fast calling convention serves all functions; the
// interpreter goes through here once per tile operation.
//
//===----------------------------------------------------------------------===//

#include "ir/support/Error.h"
#include "ir/support/TargetInfo.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/language/LanguageArguments.h"
#include "python/bindings/language/MemoryEntries.h"

namespace py = pybind11;

namespace tilewright {

using semantic::Arithmetic;
using semantic::CombineFunction;
using semantic::HintKind;
using semantic::Operand;
using semantic::Semantic;
using semantic::UnaryOp;
using semantic::Value;

namespace {

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

py::object none() { return py::none(); }

py::object wrapPair(std::pair<Value, Value> pair) {
  return py::make_tuple(wrapValue(std::move(pair.first)), wrapValue(std::move(pair.second)));
}

py::object wrapAll(std::vector<Value> values) {
  py::tuple result(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    result[i] = wrapValue(std::move(values[i]));
  return result;
}

//===----------------------------------------------------------------------===//
// Creation and shape
//===----------------------------------------------------------------------===//

py::object programId(const Arguments &a) {
  return wrapValue(a.language().programId(a.integer(0, "axis")));
}
py::object numPrograms(const Arguments &a) {
  return wrapValue(a.language().numPrograms(a.integer(0, "axis")));
}
py::object arange(const Arguments &a) {
  return wrapValue(a.language().arange(a.integer(0, "start"), a.integer(1, "end")));
}
py::object full(const Arguments &a) {
  return wrapValue(
      a.language().full(a.integers(0, "shape"), a.operand(1, "value"), a.dtype(2, "dtype")));
}
py::object toTensor(const Arguments &a) {
  if (isTensor(a.raw(0)))
    return py::reinterpret_borrow<py::object>(a.raw(0));
  return wrapValue(a.value(0, "x"));
}
py::object broadcast(const Arguments &a) {
  return wrapPair(a.language().broadcast(a.value(0, "input"), a.value(1, "other")));
}
py::object broadcastTo(const Arguments &a) {
  return wrapValue(a.language().broadcastTo(a.value(0, "input"), a.integers(1, "shape")));
}
py::object expandDims(const Arguments &a) {
  return wrapValue(a.language().expandDims(a.value(0, "input"), a.integer(1, "axis")));
}
py::object reshape(const Arguments &a) {
  return wrapValue(a.language().reshape(a.value(0, "input"), a.integers(1, "shape"), a.flag(2)));
}
py::object permute(const Arguments &a) {
  return wrapValue(a.language().permute(a.value(0, "input"), a.integers(1, "dims")));
}
py::object gather(const Arguments &a) {
  std::optional<Value> found = a.language().gather(a.value(0, "src"), a.value(1, "index"),
                                                   static_cast<int>(a.integer(2, "axis")));
  return found ? wrapValue(*found) : py::none();
}
py::object histogram(const Arguments &a) {
  std::optional<Value> mask;
  if (!a.isNone(1))
    mask = a.value(1, "mask");
  std::optional<Value> found =
      a.language().histogram(a.value(0, "input"), mask, a.integer(2, "num_bins"));
  return found ? wrapValue(*found) : py::none();
}
py::object join(const Arguments &a) {
  return wrapValue(a.language().join(a.value(0, "a"), a.value(1, "b")));
}
py::object split(const Arguments &a) { return wrapPair(a.language().split(a.value(0, "a"))); }
py::object concatenate(const Arguments &a) {
  return wrapValue(a.language().concatenate(a.value(0, "input"), a.value(1, "other")));
}
py::object item(const Arguments &a) { return wrapValue(a.language().item(a.value(0, "x"))); }

py::object cast(const Arguments &a) {
  std::optional<semantic::Rounding> rounding;
  if (!a.isNone(2)) {
    std::string name = a.string(2);
    if (name == "rtne")
      rounding = semantic::Rounding::NearestEven;
    else if (name == "rtz")
      rounding = semantic::Rounding::TowardZero;
    else {
      std::string message = fmt::format("fp_downcast_rounding is '{}'", name);
      throw makeError(ErrorCode::E0117, fmt::arg("message", message),
                      fmt::arg("help", "choose one of 'rtne', 'rtz'"));
    }
  }
  return wrapValue(
      a.language().cast(a.operand(0, "input"), a.dtype(1, "dtype"), rounding, a.flag(3)));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

template <Arithmetic op> py::object arithmetic(const Arguments &a) {
  return wrapValue(a.language().arithmetic(op, a.operand(0, "x"), a.operand(1, "y"), a.flag(2)));
}
py::object where(const Arguments &a) {
  return wrapValue(
      a.language().where(a.operand(0, "condition"), a.operand(1, "x"), a.operand(2, "y")));
}
py::object minimum(const Arguments &a) {
  return wrapValue(a.language().minimum(a.operand(0, "x"), a.operand(1, "y"), a.nanMode(2)));
}
py::object maximum(const Arguments &a) {
  return wrapValue(a.language().maximum(a.operand(0, "x"), a.operand(1, "y"), a.nanMode(2)));
}
py::object clamp(const Arguments &a) {
  return wrapValue(a.language().clamp(a.operand(0, "x"), a.operand(1, "min"), a.operand(2, "max"),
                                      a.nanMode(3)));
}
py::object fma(const Arguments &a) {
  return wrapValue(a.language().fma(a.operand(0, "x"), a.operand(1, "y"), a.operand(2, "z")));
}
py::object fdiv(const Arguments &a) {
  return wrapValue(a.language().fdiv(a.operand(0, "x"), a.operand(1, "y"), a.flag(2)));
}
py::object divRounded(const Arguments &a) {
  return wrapValue(a.language().divRounded(a.operand(0, "x"), a.operand(1, "y")));
}
py::object sqrtRounded(const Arguments &a) {
  return wrapValue(a.language().sqrtRounded(a.operand(0, "x")));
}
py::object mulHigh(const Arguments &a) {
  return wrapValue(a.language().mulHigh(a.operand(0, "x"), a.operand(1, "y")));
}
py::object absolute(const Arguments &a) { return wrapValue(a.language().abs(a.operand(0, "x"))); }
py::object logicalAnd(const Arguments &a) {
  return wrapValue(a.language().logicalAnd(a.operand(0, "x"), a.operand(1, "y")));
}
py::object logicalOr(const Arguments &a) {
  return wrapValue(a.language().logicalOr(a.operand(0, "x"), a.operand(1, "y")));
}
py::object logicalNot(const Arguments &a) {
  return wrapValue(a.language().logicalNot(a.value(0, "x")));
}

/// `name` is what messages call the function: libdevice has other spellings.
template <UnaryOp op> py::object math(const Arguments &a) {
  return wrapValue(a.language().math(op, a.operand(0, "x"), a.string(1)));
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// (input, other, acc, input_precision, allow_tf32, max_num_imprecise_acc,
/// out_dtype)
py::object dot(const Arguments &a) {
  Semantic::DotOptions options;
  std::optional<bool> allowTf32;
  // A variable of the kernel (`use_tf32 = DTYPE == tl.float32`) is true to Triton whatever it holds. Programs rely on it,
  // and the interpreter, which knows what it holds, must not compute something else than the compiler's code.
  if (!a.isNone(4))
    allowTf32 = isTensor(a.raw(4)) || a.flag(4);
  py::object byDefault = a.evaluator().option("default_dot_input_precision");
  options.precision = Semantic::parseDotPrecision(
      a.string(3), allowTf32, byDefault.is_none() ? "" : py::cast<std::string>(byDefault));
  if (!a.isNone(5))
    options.maxImprecise = a.integer(5, "max_num_imprecise_acc");
  py::object interval = a.evaluator().option("max_num_imprecise_acc_default");
  if (!interval.is_none())
    options.defaultImprecise = toInt(interval, "max_num_imprecise_acc_default");
  if (!a.isNone(6))
    options.result = a.dtype(6, "out_dtype");
  options.target = a.evaluator().targetName();
  // IR for no GPU in particular may be of any, and the interpreter is none.
  if (a.evaluator().isCompiling() && !a.evaluator().isRehearsal() && !options.target.empty())
    options.hasFloat8Products = getTargetInfo(options.target).hasFp8Mma;
  std::optional<Value> acc;
  if (!a.isNone(2))
    acc = a.value(2, "acc");
  return wrapValue(a.language().dot(a.value(0, "input"), a.value(1, "other"), acc, options));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

py::object reduce(const Arguments &a) {
  std::optional<int64_t> axis;
  if (!a.isNone(1))
    axis = a.integer(1, "axis");
  return wrapAll(a.language().reduce(a.valueTuple(0, "input"), axis, combineOf(a, 2), a.flag(3)));
}
py::object scan(const Arguments &a) {
  return wrapAll(a.language().scan(a.valueTuple(0, "input"), a.integer(1, "axis"), a.flag(3),
                                   combineOf(a, 2)));
}

//===----------------------------------------------------------------------===//
// Code of the user on elements
//===----------------------------------------------------------------------===//

/// (scalar_fn, args, pack). One tile where the function returns no tuple; a tuple else, also of one tile.
py::object mapElementwise(const Arguments &a) {
  py::object function = unwrapConstexpr(a.raw(0));
  bool returnsTuple = false;
  auto call = [&](const std::vector<Value> &elements) {
    py::tuple arguments(elements.size());
    for (size_t i = 0; i < elements.size(); ++i)
      arguments[i] = wrapValue(elements[i]);
    py::object returned = a.evaluator().callFunction(function, arguments, py::dict());
    returnsTuple = PyTuple_Check(returned.ptr());
    return combineResults(a.language(), returned, "the result of the function");
  };
  std::vector<Value> results =
      a.language().mapElements(a.valueTuple(1, "an argument"), a.integer(2, "pack"), call);
  return returnsTuple ? wrapAll(results) : wrapValue(results[0]);
}

/// (symbol, args, result)
py::object externCall(const Arguments &a) {
  return wrapValue(a.language().externCall(a.string(0), a.valueTuple(1, "an argument"),
                                           a.dtype(2, "the type of the result")));
}

/// (asm, constraints, args, dtypes, is_pure, pack)
py::object inlineAsm(const Arguments &a) {
  std::vector<semantic::DType> results;
  for (py::handle type : py::reinterpret_borrow<py::tuple>(a.raw(3)))
    results.push_back(toDType(type, "tl.inline_asm_elementwise: dtype"));
  return wrapAll(a.language().inlineAsm(a.string(0), a.string(1), a.valueTuple(2, "an argument"),
                                        results, a.flag(4), a.integer(5, "pack")));
}

//===----------------------------------------------------------------------===//
// Hints and debugging
//===----------------------------------------------------------------------===//

template <HintKind kind> py::object hint(const Arguments &a) {
  return wrapValue(a.language().hint(kind, a.value(0, "input"), a.integers(1, "values")));
}
py::object assume(const Arguments &a) {
  a.language().assume(a.value(0, "cond"));
  return none();
}
py::object debugBarrier(const Arguments &a) {
  a.language().barrier();
  return none();
}
py::object devicePrint(const Arguments &a) {
  std::vector<Operand> values;
  for (py::handle value : py::reinterpret_borrow<py::tuple>(a.raw(1)))
    values.push_back(toOperand(value, "tl.device_print: a value"));
  a.language().print(a.string(0), values, a.flag(2));
  return none();
}
py::object deviceAssert(const Arguments &a) {
  // Compiled kernels check only in debug mode; the interpreter always does.
  if (a.evaluator().isCompiling()) {
    py::object debug = a.evaluator().option("debug");
    if (debug.is_none() || !py::cast<bool>(debug))
      return none();
  }
  a.language().deviceAssert(a.operand(0, "cond"), a.string(1), a.optionalOperand(2, "mask"));
  return none();
}

py::object isRehearsal(const Arguments &a) { return py::bool_(a.evaluator().isRehearsal()); }
py::object isCompiling(const Arguments &a) { return py::bool_(a.evaluator().isCompiling()); }
/// (value, name): what the compiler says of a loop's hint, for native loops.
py::object loopHint(const Arguments &a) {
  if (!a.isNone(0))
    toLoopHint(a.raw(0), a.string(1));
  return none();
}
py::object targetName(const Arguments &a) { return py::str(a.evaluator().targetName()); }
py::object option(const Arguments &a) { return a.evaluator().option(a.string(0)); }

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct Entry {
  const char *name;
  int arity;
  py::object (*function)(const Arguments &);
  const char *shownName; // in messages
};

using Name = Semantic::AtomicName;

const Entry entries[] = {
    {"program_id", 1, programId, "tl.program_id"},
    {"num_programs", 1, numPrograms, "tl.num_programs"},
    {"arange", 2, arange, "tl.arange"},
    {"full", 3, full, "tl.full"},
    {"to_tensor", 1, toTensor, "tl.to_tensor"},
    {"cast", 4, cast, "tl.cast"},
    {"broadcast", 2, broadcast, "tl.broadcast"},
    {"broadcast_to", 2, broadcastTo, "tl.broadcast_to"},
    {"expand_dims", 2, expandDims, "tl.expand_dims"},
    {"reshape", 3, reshape, "tl.reshape"},
    {"permute", 2, permute, "tl.permute"},
    {"gather", 3, gather, "tl.gather"},
    {"histogram", 3, histogram, "tl.histogram"},
    {"join", 2, join, "tl.join"},
    {"split", 1, split, "tl.split"},
    {"cat", 2, concatenate, "tl.cat"},
    {"item", 1, item, "item()"},
    {"add", 3, arithmetic<Arithmetic::Add>, "tl.add"},
    {"sub", 3, arithmetic<Arithmetic::Sub>, "tl.sub"},
    {"mul", 3, arithmetic<Arithmetic::Mul>, "tl.mul"},
    {"where", 3, where, "tl.where"},
    {"minimum", 3, minimum, "tl.minimum"},
    {"maximum", 3, maximum, "tl.maximum"},
    {"clamp", 4, clamp, "tl.clamp"},
    {"fma", 3, fma, "tl.fma"},
    {"fdiv", 3, fdiv, "tl.fdiv"},
    {"div_rn", 2, divRounded, "tl.div_rn"},
    {"sqrt_rn", 1, sqrtRounded, "tl.sqrt_rn"},
    {"umulhi", 2, mulHigh, "tl.umulhi"},
    {"abs", 1, absolute, "tl.abs"},
    {"logical_and", 2, logicalAnd, "logical_and"},
    {"logical_or", 2, logicalOr, "logical_or"},
    {"logical_not", 1, logicalNot, "not"},
    {"exp", 2, math<UnaryOp::Exp>, "tl.exp"},
    {"exp2", 2, math<UnaryOp::Exp2>, "tl.exp2"},
    {"log", 2, math<UnaryOp::Log>, "tl.log"},
    {"log2", 2, math<UnaryOp::Log2>, "tl.log2"},
    {"sin", 2, math<UnaryOp::Sin>, "tl.sin"},
    {"cos", 2, math<UnaryOp::Cos>, "tl.cos"},
    {"sqrt", 2, math<UnaryOp::Sqrt>, "tl.sqrt"},
    {"rsqrt", 2, math<UnaryOp::Rsqrt>, "tl.rsqrt"},
    {"erf", 2, math<UnaryOp::Erf>, "tl.erf"},
    {"floor", 2, math<UnaryOp::Floor>, "tl.floor"},
    {"ceil", 2, math<UnaryOp::Ceil>, "tl.ceil"},
    {"trunc", 2, math<UnaryOp::Trunc>, "libdevice.trunc"},
    {"round", 2, math<UnaryOp::Round>, "libdevice.round"},
    {"rint", 2, math<UnaryOp::RoundEven>, "libdevice.rint"},
    {"tanh", 2, math<UnaryOp::Tanh>, "libdevice.tanh"},
    {"dot", 7, dot, "tl.dot"},
    {"load", 6, load, "tl.load"},
    {"store", 5, store, "tl.store"},
    {"make_descriptor", 5, makeDescriptor, "tl.make_tensor_descriptor"},
    {"descriptor_by_tma", 5, descriptorByTma, "tensor_descriptor"},
    {"descriptor_load", 4, descriptorLoad, "tensor_descriptor.load"},
    {"descriptor_store", 3, descriptorStore, "tensor_descriptor.store"},
    {"descriptor_reduce", 4, descriptorReduce, "tensor_descriptor.atomic"},
    {"atomic_add", 5, atomicRmw<Name::Add>, "tl.atomic_add"},
    {"atomic_max", 5, atomicRmw<Name::Max>, "tl.atomic_max"},
    {"atomic_min", 5, atomicRmw<Name::Min>, "tl.atomic_min"},
    {"atomic_and", 5, atomicRmw<Name::And>, "tl.atomic_and"},
    {"atomic_or", 5, atomicRmw<Name::Or>, "tl.atomic_or"},
    {"atomic_xor", 5, atomicRmw<Name::Xor>, "tl.atomic_xor"},
    {"atomic_xchg", 5, atomicRmw<Name::Exchange>, "tl.atomic_xchg"},
    {"atomic_cas", 5, atomicCas, "tl.atomic_cas"},
    {"atomic_load", 4, atomicLoad, "tl.atomic_load"},
    {"atomic_store", 5, atomicStore, "tl.atomic_store"},
    {"atomic_poll", 5, atomicPoll, "tl.atomic_poll"},
    {"reduce", 4, reduce, "tl.reduce"},
    {"associative_scan", 4, scan, "tl.associative_scan"},
    {"extern_call", 3, externCall, "tl.extra.libdevice"},
    {"map_elementwise", 3, mapElementwise, "tl.map_elementwise"},
    {"inline_asm_elementwise", 6, inlineAsm, "tl.inline_asm_elementwise"},
    {"multiple_of", 2, hint<HintKind::Divisibility>, "tl.multiple_of"},
    {"max_contiguous", 2, hint<HintKind::Contiguity>, "tl.max_contiguous"},
    {"max_constancy", 2, hint<HintKind::Constancy>, "tl.max_constancy"},
    {"assume", 1, assume, "tl.assume"},
    {"debug_barrier", 0, debugBarrier, "tl.debug_barrier"},
    {"device_print", 3, devicePrint, "tl.device_print"},
    {"device_assert", 3, deviceAssert, "tl.device_assert"},
    {"is_compiling", 0, isCompiling, "is_compiling"},
    {"is_rehearsal", 0, isRehearsal, "is_rehearsal"},
    {"target_name", 0, targetName, "tl.target_info"},
    {"loop_hint", 2, loopHint, "tl.range"},
    {"option", 1, option, "option"},
};

PyObject *callEntry(PyObject *self, PyObject *const *values, Py_ssize_t count) {
  try {
    const auto *entry = static_cast<const Entry *>(PyCapsule_GetPointer(self, nullptr));
    if (count != entry->arity) {
      PyErr_Format(PyExc_TypeError, "%s takes %d positional arguments, got %zd", entry->name,
                   entry->arity, count);
      return nullptr;
    }
    EvaluationContext &context = requireContext(entry->shownName);
    return entry->function(Arguments(context, entry->shownName, values)).release().ptr();
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

void bindEntries(py::module_ &language) {
  // Method definitions must outlive the functions made from them.
  static auto *definitions = new std::vector<PyMethodDef>(std::size(entries));
  for (size_t i = 0; i < std::size(entries); ++i) {
    PyMethodDef &definition = (*definitions)[i];
    definition.ml_name = entries[i].name;
    definition.ml_meth = asMethod(callEntry);
    definition.ml_flags = METH_FASTCALL;
    definition.ml_doc = nullptr;
    py::capsule self(&entries[i]);
    PyObject *function = PyCFunction_New(&definition, self.ptr());
    if (!function)
      throw py::error_already_set();
    language.attr(entries[i].name) = py::reinterpret_steal<py::object>(function);
  }
}

} // namespace

void bindLanguage(py::module_ &module) {
  py::module_ language = module.def_submodule("language", "Functions of the tile language.");
  language.attr("tensor") = tensorType();
  bindLanguageTypes(language);
  bindEntries(language);
  language.def("register_constexpr", &registerConstexprClass);
  language.def("in_kernel", [] { return currentContext() != nullptr; });
  // A jit function called from a natively running kernel; NotImplemented on the
  // host, where a grid is needed.
  module.def("call_in_context",
             [](py::handle function, py::tuple args, py::dict kwargs) -> py::object {
               EvaluationContext *context = currentContext();
               if (!context)
                 return py::reinterpret_borrow<py::object>(Py_NotImplemented);
               return context->callFunction(function, std::move(args), std::move(kwargs));
             });
}

} // namespace tilewright
