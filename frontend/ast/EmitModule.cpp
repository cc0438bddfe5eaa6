//===- EmitModule.cpp - A kernel as a module of tile IR -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: (1) the module with the launch options; (2) the function with one
// argument per run-time parameter; (3) parameters bound to arguments, constants
// and defaults; (4) the body, by the walker; (5) verification.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/EmitModule.h"

#include "frontend/ast/FunctionWalker.h"
#include "frontend/ast/LanguageNames.h"
#include "frontend/emit/MlirTypes.h"
#include "ir/dialect/ParameterAttr.h"
#include "ir/dialect/TileDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace py = pybind11;

namespace tilewright {

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

namespace {
/// The run-time arguments of the function in order.
struct ArgumentList {
  std::vector<semantic::Type> types;
  std::vector<int64_t> divisibility;
  std::vector<std::string> parameters; ///< one per argument
};
} // namespace

static semantic::DType parseType(const std::string &text, const std::string &parameter) {
  semantic::DType type;
  if (semantic::DType::parse(text, type))
    return type;
  throw makeError(ErrorCode::E0204, fmt::arg("a", parameter), fmt::arg("t", text));
}

/// Adds the arguments of one signature entry; a tuple has one per element.
/// "constexpr" elements of a tuple take their values from `constant`.
static void addArguments(py::handle entry, const std::string &parameter, int64_t divisor,
                         ArgumentList &list) {
  if (PyTuple_Check(entry.ptr())) {
    for (py::handle item : py::reinterpret_borrow<py::tuple>(entry))
      addArguments(item, parameter, 0, list);
    return;
  }
  list.types.emplace_back(parseType(py::cast<std::string>(py::str(entry)), parameter));
  list.divisibility.push_back(divisor);
  list.parameters.push_back(parameter);
}

static py::object bindArgument(py::handle entry, const ArgumentList &list, mlir::Block &block,
                               size_t &position) {
  if (PyTuple_Check(entry.ptr())) {
    py::tuple items = py::reinterpret_borrow<py::tuple>(entry);
    py::tuple bound(items.size());
    for (size_t i = 0; i < items.size(); ++i)
      bound[i] = bindArgument(items[i], list, block, position);
    return std::move(bound);
  }
  mlir::Value argument = block.getArgument(static_cast<unsigned>(position));
  return wrapValue(emit::MlirBuilder::wrap(list.types[position++], argument));
}

static void setModuleOptions(mlir::ModuleOp module, const py::dict &options,
                             const std::string &target) {
  mlir::Builder builder(module.getContext());
  const std::pair<const char *, llvm::StringRef> table[] = {{"num_warps", ir::numWarpsAttr},
                                                            {"num_stages", ir::numStagesAttr},
                                                            {"num_ctas", ir::numBlocksAttr},
                                                            {"maxnreg", ir::maxRegistersAttr}};
  for (const auto &[option, attribute] : table)
    if (options.contains(option))
      if (py::object value = options[option]; PyLong_Check(value.ptr()))
        module->setAttr(attribute, builder.getI32IntegerAttr(py::cast<int>(value)));
  if (!target.empty())
    module->setAttr(ir::targetAttr, builder.getStringAttr(target));
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static mlir::Location functionLocation(mlir::MLIRContext *context, py::handle function) {
  py::object definition = function.attr("parse")();
  const NodeFields &f = AstNodes::get().fields;
  std::string file = py::cast<std::string>(py::str(function.attr("file")));
  std::string name = py::cast<std::string>(py::str(function.attr("__name__")));
  mlir::Location place = mlir::FileLineColLoc::get(context, file, intField(definition, f.lineno, 0),
                                                   intField(definition, f.col_offset, -1) + 1);
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name), place);
}

/// A name that PTX takes: Python's may have letters of every alphabet.
static std::string symbolName(const std::string &name) {
  std::string symbol;
  for (unsigned char c : name) {
    if (llvm::isAlnum(c) || c == '_')
      symbol += c;
    else
      symbol += llvm::formatv("_{0:x-2}", c).str();
  }
  return symbol;
}

/// A defect of the front end, never of the kernel: the IR breaks a rule.
static void verifyModule(mlir::ModuleOp module) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (!text.empty())
      text += "; ";
    text += diagnostic.str();
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      text += "; " + note.str();
    return mlir::success();
  });
  if (mlir::succeeded(mlir::verify(module)))
    return;
  Error error = makeError(ErrorCode::E0900, fmt::arg("pass", "frontend"), fmt::arg("message", text),
                          fmt::arg("path", ""));
  error.setHelp("this is a bug of tilewright; please report it with the source of the kernel");
  throw error;
}

mlir::OwningOpRef<mlir::ModuleOp> emitModule(mlir::MLIRContext &context, py::handle jitFunction,
                                             py::dict signature, py::dict constexprs,
                                             py::dict divisibility, py::dict options,
                                             const std::string &target) {
  py::object function = LanguageNames::get().innerJitFunction(jitFunction);
  if (!function)
    throw makeError(ErrorCode::E0123, fmt::arg("n", py::cast<std::string>(py::repr(jitFunction))));
  Walker walker(context, target, options);
  ContextScope current(walker);
  try {
    mlir::Location loc = functionLocation(&context, function);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    setModuleOptions(*module, options, target);

    ArgumentList list;
    py::dict runtime;
    for (py::handle parameter : function.attr("params")) {
      py::object name = parameter.attr("name");
      if (constexprs.contains(name) || !signature.contains(name))
        continue;
      py::object entry = signature[name];
      std::string text = py::cast<std::string>(py::str(name));
      int64_t divisor = divisibility.contains(name) ? py::cast<int64_t>(divisibility[name]) : 0;
      addArguments(entry, text, divisor, list);
      runtime[name] = entry;
    }

    mlir::OpBuilder &builder = walker.opBuilder();
    llvm::SmallVector<mlir::Type> types;
    for (const semantic::Type &type : list.types)
      types.push_back(emit::toMlirType(&context, type));
    builder.setInsertionPointToEnd(module->getBody());
    auto op = builder.create<mlir::func::FuncOp>(
        loc, symbolName(py::cast<std::string>(py::str(function.attr("__name__")))),
        builder.getFunctionType(types, {}));
    op.setPublic();
    llvm::SmallVector<llvm::StringRef> parameters(list.parameters.begin(), list.parameters.end());
    op->setAttr(ir::parametersAttr, builder.getStrArrayAttr(parameters));
    for (auto [index, divisor] : llvm::enumerate(list.divisibility))
      if (divisor > 1)
        op.setArgAttr(index, ir::divisibilityAttr, builder.getI64IntegerAttr(divisor));
    mlir::Block *entryBlock = op.addEntryBlock();
    builder.setInsertionPointToStart(entryBlock);

    py::dict bound;
    size_t position = 0;
    for (auto [name, entry] : runtime)
      bound[name] = bindArgument(entry, list, *entryBlock, position);
    for (auto [name, value] : constexprs)
      bound[name] = unwrapConstexpr(value);
    bound = bindArguments(function, py::tuple(), bound);

    walker.runKernel(function, bound);
    builder.create<mlir::func::ReturnOp>(loc);
    verifyModule(*module);
    return module;
  } catch (const Error &) {
    if (py::object cause = walker.takeCause(); cause && !cause.is_none())
      PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(cause.ptr())), cause.ptr());
    throw;
  }
}

} // namespace tilewright
