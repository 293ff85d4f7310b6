// SPDX-License-Identifier: Apache-2.0
// Seconds in Python are durations here.
#include "bindings/python/core/decoding.h"

#include <algorithm>
#include <chrono>

#include "common/clock.h"
#include "input/tuning/caller_pool_tuner.h"

namespace stretto::python {
namespace py = pybind11;

namespace {

using input::CallerPoolTuner;

constexpr double kLongest = 86400;  // What a program may do between two samples, in seconds,
constexpr double kLatest = 1e9;     // and what a clock may tell.

Duration duration(double seconds, double most = kLongest) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, most)));
}

}  // namespace

void bind_decoding(py::module_& module) {
  py::class_<CallerPoolTuner>(module, "DecodeTuner")
      .def(py::init<std::uint32_t>(), py::arg("most"))
      .def_property_readonly("threads", &CallerPoolTuner::threads)
      .def_property_readonly("window",
                             [](const CallerPoolTuner& self) { return seconds(self.window()); })
      .def(
          "measured",
          [](CallerPoolTuner& self, double now, double length, std::uint64_t samples,
             double decoding, double stall) {
            self.measured(Time(duration(now, kLatest)), {.length = duration(length),
                                                         .samples = samples,
                                                         .decoding = duration(decoding),
                                                         .stall = duration(stall)});
          },
          py::arg("now"), py::arg("length"), py::arg("samples"), py::arg("decoding"),
          py::arg("stall"))
      .def("log", &CallerPoolTuner::log);
}

}  // namespace stretto::python
