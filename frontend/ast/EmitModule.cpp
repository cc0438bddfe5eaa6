//===- EmitModule.cpp - A kernel as a module of tile IR -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: (1) the module with the launch options; (2) the function with the
// arguments of its run-time parameters; (3) parameters bound to arguments, constants
// and defaults; (4) the body, by the walker; (5) verification.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/EmitModule.h"

#include "frontend/ast/FunctionWalker.h"
#include "frontend/ast/KernelArguments.h"
#include "frontend/emit/MlirTypes.h"
#include "frontend/python/CallArguments.h"
#include "frontend/python/LanguageNames.h"
#include "ir/dialect/ParameterAttr.h"
#include "ir/dialect/TileDialect.h"
#include "ir/support/TargetInfo.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace py = pybind11;

namespace tilewright {

/// What the language sees as the target, in the interpreter and while a kernel is rehearsed for it.
static constexpr const char *interpreterTarget = "interpreter";

static bool isEnabled(const py::dict &options, const char *name) {
  return options.contains(name) && py::cast<bool>(py::bool_(options[name]));
}

static void setModuleOptions(mlir::ModuleOp module, const py::dict &options) {
  mlir::Builder builder(module.getContext());
  const std::pair<const char *, llvm::StringRef> table[] = {{"num_warps", ir::numWarpsAttr},
                                                            {"num_stages", ir::numStagesAttr},
                                                            {"num_ctas", ir::numBlocksAttr},
                                                            {"maxnreg", ir::maxRegistersAttr}};
  for (const auto &[option, attribute] : table)
    if (options.contains(option))
      if (py::object value = options[option]; PyLong_Check(value.ptr()))
        module->setAttr(attribute, builder.getI32IntegerAttr(py::cast<int>(value)));
  if (options.contains("enable_reflect_ftz") && !isEnabled(options, "enable_reflect_ftz"))
    module->setAttr(ir::keepDenormalsAttr, builder.getUnitAttr());
  if (isEnabled(options, "arguments_may_overlap"))
    module->setAttr(ir::argumentsOverlapAttr, builder.getUnitAttr());
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
  throw makeInternalError("frontend", text);
}

static py::object requireJitFunction(py::handle object) {
  py::object function = LanguageNames::get().innerJitFunction(object);
  if (!function)
    throw makeError(ErrorCode::E0123, fmt::arg("n", py::cast<std::string>(py::repr(object))));
  return function;
}

/// Leaves the Python exception that caused an error as Python's current one.
static void restoreCause(Walker &walker) {
  if (py::object cause = walker.takeCause(); cause && !cause.is_none())
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(cause.ptr())), cause.ptr());
}

/// What the body gets for a constant. A 1 that a launch compiles in is a scalar of the type
/// that the parameter declares, as every other integer there.
static py::object bindConstant(Walker &walker, py::handle parameter, py::handle value) {
  py::object plain = unwrapConstexpr(value);
  semantic::DType type;
  if (PyLong_CheckExact(plain.ptr()) && plain.equal(py::int_(1)) &&
      semantic::DType::parse(py::cast<std::string>(parameter.attr("annotation_type")), type) &&
      type.isInteger() && !type.isBool())
    return wrapValue(walker.semantic().scalarConstant(semantic::Literal::integer(1), type));
  return plain;
}

mlir::OwningOpRef<mlir::ModuleOp> emitModule(mlir::MLIRContext &context, py::handle jitFunction,
                                             const py::dict &signature, const py::dict &constexprs,
                                             const py::dict &divisibility, const py::dict &options,
                                             const std::string &target) {
  py::object function = requireJitFunction(jitFunction);
  Walker walker(context, target, options);
  ContextScope current(walker);
  try {
    mlir::Location loc = functionLocation(&context, function);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    setModuleOptions(*module, options);

    bool hasTma = !target.empty() && getTargetInfo(target).hasTma;
    KernelArguments arguments(constexprs, divisibility, hasTma);
    std::vector<std::pair<std::string, py::object>> runtime;
    std::vector<std::string> parameters; // of each argument
    for (py::handle parameter : function.attr("params")) {
      py::object name = parameter.attr("name");
      if (constexprs.contains(name) || !signature.contains(name))
        continue;
      runtime.emplace_back(py::cast<std::string>(py::str(name)), signature[name]);
      arguments.add(runtime.back().second, runtime.back().first);
      parameters.resize(arguments.size(), runtime.back().first);
    }

    mlir::OpBuilder &builder = walker.opBuilder();
    builder.setInsertionPointToEnd(module->getBody());
    auto op = builder.create<mlir::func::FuncOp>(
        loc, symbolName(py::cast<std::string>(py::str(function.attr("__name__")))),
        builder.getFunctionType(arguments.types(&context), {}));
    op.setPublic();
    arguments.setAttributes(op);
    if (hasTma)
      walker.tileBuilder().setKernel(op, getTargetInfo(target).hasTensorMapReplace &&
                                             !isEnabled(options, "launch_pdl") &&
                                             ir::numBlocks(*module) == 1);
    llvm::SmallVector<llvm::StringRef> parameterNames(parameters.begin(), parameters.end());
    op->setAttr(ir::parametersAttr, builder.getStrArrayAttr(parameterNames));
    mlir::Block *entryBlock = op.addEntryBlock();
    builder.setInsertionPointToStart(entryBlock);

    py::dict bound;
    for (const auto &[name, entry] : runtime)
      bound[name.c_str()] = arguments.bind(entry, name, *entryBlock);
    // Constant elements of tuples are bound with their tuple.
    for (py::handle parameter : function.attr("params"))
      if (py::object name = parameter.attr("name"); constexprs.contains(name))
        bound[name] = bindConstant(walker, parameter, constexprs[name]);
    bound = bindArguments(function, py::tuple(), bound);

    walker.runKernel(function, bound);
    builder.create<mlir::func::ReturnOp>(loc);
    verifyModule(*module);
    return module;
  } catch (const Error &) {
    restoreCause(walker);
    throw;
  }
}

//===----------------------------------------------------------------------===//
// Rehearsal
//===----------------------------------------------------------------------===//

void rehearseKernel(mlir::MLIRContext &context, py::handle jitFunction, const py::dict &arguments,
                    py::dict options) {
  py::object function = requireJitFunction(jitFunction);
  Walker walker(context, interpreterTarget, std::move(options), Walker::Purpose::Rehearse);
  ContextScope current(walker);
  try {
    mlir::Location loc = functionLocation(&context, function);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    std::vector<semantic::Value> values;
    std::vector<std::pair<py::object, ValueTree>> trees;
    for (auto [name, value] : arguments)
      trees.emplace_back(
          py::reinterpret_borrow<py::object>(name),
          ValueTree::flatten(walker.semantic(), value, /*numbersAreLeaves=*/false, values));
    llvm::SmallVector<mlir::Type> types;
    for (const semantic::Value &value : values)
      types.push_back(emit::toMlirType(&context, value.type));
    mlir::OpBuilder &builder = walker.opBuilder();
    builder.setInsertionPointToEnd(module->getBody());
    auto op = builder.create<mlir::func::FuncOp>(loc, "kernel", builder.getFunctionType(types, {}));
    mlir::Block *block = op.addEntryBlock();
    builder.setInsertionPointToStart(block);
    for (auto [value, argument] : llvm::zip_equal(values, block->getArguments()))
      value = emit::MlirBuilder::wrap(value.type, argument);
    py::dict bound;
    size_t position = 0;
    for (const auto &[name, tree] : trees)
      bound[name] = tree.rebuild(values, position);
    walker.runKernel(function, bound);
  } catch (const Error &) {
    restoreCause(walker);
    throw;
  }
}

} // namespace tilewright
