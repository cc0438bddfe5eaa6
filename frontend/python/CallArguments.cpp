//===- CallArguments.cpp - Which parameter gets which argument ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/python/CallArguments.h"

#include "frontend/python/PythonValue.h"
#include "ir/support/Error.h"

namespace py = pybind11;

namespace tilewright {

std::string functionName(py::handle function) {
  return py::cast<std::string>(py::str(function.attr("__name__")));
}

static std::string signatureText(py::handle function) {
  std::string text = functionName(function) + "(";
  bool first = true;
  for (py::handle parameter : function.attr("params")) {
    text += (first ? "" : ", ") + py::cast<std::string>(py::str(parameter.attr("name")));
    if (py::cast<bool>(parameter.attr("has_default")))
      text += "=" + py::cast<std::string>(py::str(py::repr(parameter.attr("default"))));
    first = false;
  }
  return text + ")";
}

[[noreturn]] static void refuseCall(py::handle function, const std::string &problem) {
  throw makeError(ErrorCode::E0122, fmt::arg("name", functionName(function)),
                  fmt::arg("problem", problem), fmt::arg("sig", signatureText(function)));
}

py::dict bindArguments(py::handle function, const py::tuple &args, const py::dict &kwargs) {
  py::dict bound;
  size_t position = 0, keywordsUsed = 0;
  py::object varargName = function.attr("_vararg");
  size_t numKeywordOnly = py::cast<size_t>(function.attr("_keyword_only"));
  size_t numPositional = py::len(function.attr("params")) - numKeywordOnly, number = 0;
  for (py::handle parameter : function.attr("params")) {
    py::object name = parameter.attr("name");
    if (!varargName.is_none() && name.equal(varargName)) {
      bound[name] =
          py::reinterpret_steal<py::object>(PyTuple_GetSlice(args.ptr(), position, args.size()));
      position = args.size();
      continue;
    }
    bool byKeyword = kwargs.contains(name);
    py::object value;
    if (number++ < numPositional && position < args.size()) {
      if (byKeyword)
        refuseCall(function, fmt::format("argument '{}' is given twice",
                                         py::cast<std::string>(py::str(name))));
      value = args[position++];
    } else if (byKeyword) {
      value = kwargs[name];
      ++keywordsUsed;
    } else if (py::cast<bool>(parameter.attr("has_default"))) {
      value = parameter.attr("default");
    } else {
      refuseCall(function,
                 fmt::format("missing argument '{}'", py::cast<std::string>(py::str(name))));
    }
    bound[name] = unwrapConstexpr(value);
  }
  if (position < args.size())
    refuseCall(function,
               fmt::format("{} positional arguments given, {} taken", args.size(), position));
  if (keywordsUsed < kwargs.size())
    for (auto [key, value] : kwargs)
      if (!bound.contains(key))
        refuseCall(function,
                   fmt::format("unexpected argument '{}'", py::cast<std::string>(py::str(key))));
  return bound;
}

} // namespace tilewright
