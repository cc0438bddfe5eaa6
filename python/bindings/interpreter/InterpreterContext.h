//===- InterpreterContext.h - A kernel that runs natively -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the evaluation context of one interpreted launch: the CPU builder, the
// Semantic on top of it, the launch's arrays, and the loop over the programs.
// Python sees it as `_core.InterpreterContext`.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_INTERPRETERCONTEXT_H
#define TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_INTERPRETERCONTEXT_H

#include "frontend/python/EvaluationContext.h"
#include "frontend/python/PythonValue.h"
#include "python/bindings/interpreter/KernelPlaces.h"
#include "python/bindings/interpreter/ProgramScheduler.h"
#include "runtime/interpreter/CpuTileBuilder.h"

#include <memory>
#include <set>

namespace tilewright {

/// A jit function rewritten to run natively: the Python function and how many arguments
/// it takes.
struct NativeFunction {
  /// Not owned: the jit function owns this object.
  pybind11::handle jitFunction;
  pybind11::object function;
  /// Fewest and most positional arguments; the latter is -1 for a `*args`.
  std::pair<int64_t, int64_t> arity;

  /// Raises E0122 for arguments that do not fit the signature.
  void checkArguments(const pybind11::tuple &args, const pybind11::dict &kwargs) const;
  pybind11::object call(const pybind11::tuple &args, const pybind11::dict &kwargs) const;
};

class InterpreterContext final : public EvaluationContext, public interpreter::InterpreterHost {
public:
  /// `prepare` maps a jit function to its NativeFunction.
  InterpreterContext(pybind11::object prepare, pybind11::dict options);

  //===--- EvaluationContext ----------------------------------------------===//
  semantic::Semantic &semantic() override { return meaning; }
  bool isCompiling() const override { return false; }
  pybind11::object callFunction(pybind11::handle jitFunction, pybind11::tuple args,
                                pybind11::dict kwargs) override;
  std::string targetName() const override { return "interpreter"; }
  pybind11::object option(const std::string &name) const override;
  std::optional<semantic::Literal> concreteScalar(const semantic::Value &value) override;
  pybind11::object concreteArray(const semantic::Value &value) override;

  //===--- InterpreterHost ------------------------------------------------===//
  void writeLine(const std::string &line) override;
  SourceFrame currentFrame() override;
  interpreter::PlaceId currentPlace() override { return places.current(); }
  std::string describePlace(interpreter::PlaceId place) override { return places.describe(place); }
  bool waitForOthers() override { return scheduler && scheduler->waitForOthers(); }
  void mayInterrupt(bool isAtomic) override { scheduler->mayInterrupt(isAtomic); }

  /// Registers an array and returns the pointer that the kernel gets.
  pybind11::object addArray(const std::string &name, uint64_t address, const std::string &dtype,
                            std::vector<int64_t> shape, const std::vector<int64_t> &byteStrides,
                            bool writable, bool isConst);
  /// A run-time scalar of type `dtype`: "i32", "fp32", "i1", ...
  pybind11::object scalar(const std::string &dtype, pybind11::handle number);
  bool wasWritten(interpreter::AllocationId id) const;

  /// Hands what the checks find to `function(code, class, message, help, notes)`; the kernel
  /// goes on. An exception that ends a program goes to `ended(exception)`: where that
  /// returns true, the next program runs.
  void collect(pybind11::object function, pybind11::object ended);
  /// Tells `function(kind, array, first, last, active, lanes, bytes)` of each access; first
  /// and last are elements, and None where no lane is active or no array holds them.
  void observe(pybind11::object function);
  /// Tells `function(kind, lane)` of each store or atomic to one element.
  void watchElement(interpreter::AllocationId id, int64_t element, pybind11::object function);
  /// Lets run() leave out all programs but these.
  void choose(const std::vector<std::array<int64_t, 3>> &programs);
  bool hasChoice() const { return chosen.has_value(); }

  /// Runs the programs of the grid in order, x fastest.
  void run(const NativeFunction &kernel, const pybind11::tuple &args, std::array<int64_t, 3> grid);

  ProgramOrder order;

  interpreter::CpuTileBuilder &tileBuilder() { return builder; }

private:
  void checkRecursion(const NativeFunction &native, const pybind11::tuple &args) const;
  bool isChosen(const std::array<int64_t, 3> &program) const;
  void runProgram(const NativeFunction &kernel, const pybind11::tuple &args);

  /// For recursion without an end.
  OpenCalls calls;
  /// While programs run.
  ProgramScheduler *scheduler = nullptr;
  KernelPlaces places;
  interpreter::CpuTileBuilder builder;
  semantic::Semantic meaning;
  pybind11::object prepare;
  pybind11::dict options;
  /// What collect() was given for exceptions.
  pybind11::object programEnded;
  /// The programs to run; all where there is nothing.
  std::optional<std::set<std::array<int64_t, 3>>> chosen;
};

/// A NumPy array with a copy of the elements; bfloat16 and the 8-bit floats
/// have the dtypes of ml_dtypes.
pybind11::object toNumpy(const semantic::Value &value);

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_INTERPRETERCONTEXT_H
