//===- Unrolling.cpp - tl.static_range ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: visits the body of a tl.static_range once per iteration, with a counter
// that is known at compile time. Also binds the arguments of all kinds of ranges.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/ast/LoopArguments.h"

namespace py = pybind11;

namespace tilewright {

/// Iterations that tl.static_range may unroll: beyond it compile time, not the
/// kernel, becomes the problem.
static constexpr int64_t maxUnrolledIterations = 16384;

std::vector<py::object> bindRange(const char *function, llvm::ArrayRef<const char *> names,
                                  size_t mostPositional, const py::tuple &args,
                                  const py::dict &kwargs) {
  std::vector<py::object> bound(names.size());
  auto fail = [&](const std::string &problem) {
    throw makeError(ErrorCode::E0122, fmt::arg("name", function), fmt::arg("problem", problem),
                    fmt::arg("sig", fmt::format("{}({})", function, fmt::join(names, ", "))));
  };
  if (args.size() > mostPositional)
    fail(fmt::format("{} positional arguments given, {} taken", args.size(), mostPositional));
  for (size_t i = 0; i < args.size(); ++i)
    bound[i] = args[i];
  for (auto [key, value] : kwargs) {
    std::string text = py::cast<std::string>(key);
    auto found = llvm::find_if(names, [&](const char *name) { return text == name; });
    if (found == names.end())
      fail(fmt::format("unexpected argument '{}'", text));
    if (bound[found - names.begin()])
      fail(fmt::format("argument '{}' is given twice", text));
    bound[found - names.begin()] = py::reinterpret_borrow<py::object>(value);
  }
  if (!bound[0])
    fail("missing argument 'arg1'");
  for (py::object &value : bound)
    if (!value)
      value = py::none();
  return bound;
}

FunctionWalker::Flow FunctionWalker::unrollRange(Handle statement, const py::tuple &args,
                                                 const py::dict &kwargs, const Rest &rest) {
  static const char *const names[] = {"arg1", "arg2", "step"};
  std::vector<py::object> bound =
      bindRange("tl.static_range", names, std::size(names), args, kwargs);
  py::object iterator = field(statement, f.iter);
  py::list numbers;
  bool hasStart = !bound[1].is_none();
  const char *const roles[] = {hasStart ? "start" : "end", "end", "step"};
  for (auto [value, role] : llvm::zip(bound, roles)) {
    if (isTensor(value)) {
      currentNode = iterator;
      throw makeError(ErrorCode::E0112, fmt::arg("n", fmt::format("{} of tl.static_range", role)));
    }
    if (!value.is_none())
      numbers.append(value);
  }
  if (bound[1].is_none() && !bound[2].is_none())
    numbers.insert(0, 0); // static_range(n, step=s)
  py::object range = py::module_::import("builtins").attr("range")(*numbers);
  int64_t count = static_cast<int64_t>(py::len(range));
  if (count > maxUnrolledIterations)
    throw makeError(ErrorCode::E0114, fmt::arg("n", count), fmt::arg("m", maxUnrolledIterations));
  currentNode = statement;
  UnrolledLoop loop{field(field(statement, f.target), f.id), field(statement, f.body),
                    py::list(range)};
  return visitIterations(loop, 0, &rest);
}

/// Visits the iterations from `first` on. A branch that falls through inside one takes
/// the others along (finishRest), so a return may stand under a run-time `if`.
FunctionWalker::Flow FunctionWalker::visitIterations(const UnrolledLoop &loop, size_t first,
                                                     const Rest *rest) {
  for (size_t i = first, n = loop.indices.size(); i < n; ++i) {
    scope.set(loop.counter, loop.indices[i]);
    Rest others{loop.body, i + 1, rest, &loop};
    if (visitStatements(loop.body, 0, &others) == Flow::Returned)
      return Flow::Returned;
  }
  return Flow::Next;
}

} // namespace tilewright
