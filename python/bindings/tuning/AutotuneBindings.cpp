//===- AutotuneBindings.cpp - The tuner's decisions -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/Bindings.h"

#include "autotune/Fit.h"
#include "autotune/Race.h"
#include "autotune/Search.h"
#include "ir/support/TargetInfo.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright {

using namespace autotune;

static py::dict summaryDict(const Summary &s) {
  py::dict d;
  d["count"] = s.count;
  d["median"] = s.median;
  d["low"] = s.low;
  d["high"] = s.high;
  d["q20"] = s.fifth;
  d["q80"] = s.fourFifths;
  return d;
}

void bindAutotune(py::module_ &module) {
  module.def(
      "summarize",
      [](std::vector<double> samples, double confidence) {
        return summaryDict(summarize(std::move(samples), confidence));
      },
      py::arg("samples"), py::arg("confidence") = 0.95);
  py::class_<Race>(module, "Race", "Interleaved measurement of candidates; see autotune/Race.h.")
      .def(py::init([](size_t candidates, double tolerance, size_t minRounds, size_t maxRounds,
                       uint64_t seed) {
             RaceOptions options;
             options.minRounds = minRounds;
             options.maxRounds = maxRounds;
             options.tolerance = tolerance;
             options.seed = seed;
             return Race(candidates, options);
           }),
           py::arg("candidates"), py::arg("tolerance"), py::arg("min_rounds") = 3,
           py::arg("max_rounds") = 12, py::arg("seed") = 0)
      .def("next_round", &Race::nextRound)
      .def("add", &Race::add)
      .def("drop", &Race::drop)
      .def_property_readonly("rounds", &Race::roundsDone)
      .def("summary", [](const Race &race, size_t i) { return summaryDict(race.summary(i)); });
  py::class_<Search>(module, "Search", "Coarse-to-fine search; see autotune/Search.h.")
      .def(py::init<std::vector<int>, size_t, uint64_t, std::function<bool(const Point &)>>(),
           py::arg("sizes"), py::arg("max_points"), py::arg("seed") = 0,
           py::arg("is_valid") = py::none())
      .def("next_batch", &Search::nextBatch)
      .def("report", &Search::report)
      .def_property_readonly("asked", &Search::asked);
  module.def(
      "judge_fit",
      [](int64_t shared, int64_t registers, int64_t threads, int64_t maxShared,
         int64_t maxRegisters, int64_t maxThreads, const std::string &target) {
        Fit fit = judgeFit({shared, registers, threads}, {maxShared, maxRegisters, maxThreads,
                                                          getTargetInfo(target).multiprocessor});
        return py::make_tuple(fit.problem, fit.blocksAtOnce);
      },
      py::arg("shared"), py::arg("registers"), py::arg("threads"), py::arg("max_shared"),
      py::arg("max_registers"), py::arg("max_threads"), py::arg("target"));
}

} // namespace tilewright
