// SPDX-License-Identifier: Apache-2.0
// The module stretto._core: what Python sees of the worker API. Private: stretto/ and stretto.torch
// are what programs use. Its types are described in stretto/_core.pyi.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <string>

#include "bindings/python/core/checkpoints.h"
#include "bindings/python/core/decoding.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/gil.h"
#include "bindings/python/core/group.h"
#include "bindings/python/core/parameters.h"
#include "bindings/python/core/reader.h"
#include "bindings/python/core/worker.h"
#include "common/clock.h"
#include "worker/elastic/notice_watch.h"

namespace stretto::python {
namespace {

namespace py = pybind11;

Duration duration_of(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

Tensor declare(PyWorker& self, const std::string& name, const std::string& dtype,
               std::size_t elements, const std::string& mode, std::uint32_t bound,
               const std::string& rule, bool deterministic, const std::optional<std::string>& codec,
               bool bulk, const std::string& shape, const std::string& exchange,
               std::uint32_t quorum, const std::string& late, std::uint32_t backups) {
  TensorOptions options{
      .mode = value_of(mode_named(mode)),
      .bound = bound,
      .update = {.rule = value_of(rule_named(rule))},
      .deterministic = deterministic,
      .bulk = bulk,
      .shape = shape,
      .exchange = value_of(exchange_named(exchange)),
      .close = {.quorum = quorum, .late = value_of(late_named(late)), .backups = backups}};
  if (codec) options.codec = value_of(codec_from(*codec));
  return self.declare(name, dtype_named(dtype), elements, options);
}

ParameterOptions parameter_options(const std::string& mode, std::uint32_t bound,
                                   const std::string& rate_rule, std::uint32_t warm_up,
                                   bool deterministic, bool late) {
  return {.mode = value_of(mode_named(mode)),
          .bound = bound,
          .optimizer = {.rule = Rule::kSum},
          .rate_rule = value_of(rate_rule_named(rate_rule)),
          .warm_up = warm_up,
          .deterministic = deterministic,
          .late = late};
}

void bind_values(py::module_& module) {
  py::class_<Tensor>(module, "Tensor")
      .def_readonly("id", &Tensor::id)
      .def_readonly("elements", &Tensor::elements)
      .def_property_readonly("bytes", &Tensor::bytes)
      .def_property_readonly("dtype",
                             [](const Tensor& self) { return std::string(name_of(self.dtype)); });
  py::class_<ValueInfo>(module, "ValueInfo")
      .def_readonly("version", &ValueInfo::version)
      .def_readonly("staleness", &ValueInfo::staleness)
      .def_readonly("applied", &ValueInfo::applied)
      .def_readonly("slowest", &ValueInfo::slowest)
      .def_readonly("spread", &ValueInfo::spread)
      .def_readonly("contributors", &ValueInfo::contributors);
  py::class_<StepInfo>(module, "StepInfo")
      .def_readonly("step", &StepInfo::step)
      .def_readonly("staleness", &StepInfo::staleness)
      .def_readonly("factor", &StepInfo::factor)
      .def_readonly("value", &StepInfo::value);
  py::class_<Options>(module, "Options")
      .def_static("from_environment", [] { return value_of(Options::from_environment()); })
      .def_readwrite("scheduler", &Options::scheduler)
      .def_readwrite("token", &Options::token)
      .def_readwrite("rank", &Options::rank)
      .def_readwrite("former", &Options::former)
      .def_readwrite("workers", &Options::workers)
      .def_readwrite("servers", &Options::servers)
      .def_readwrite("checkpoint", &Options::checkpoint)
      .def_property(
          "rendezvous_timeout",
          [](const Options& self) { return seconds(self.rendezvous_timeout); },
          [](Options& self, double value) { self.rendezvous_timeout = duration_of(value); })
      .def_property(
          "operation_timeout", [](const Options& self) { return seconds(self.operation_timeout); },
          [](Options& self, double value) { self.operation_timeout = duration_of(value); });
}

void bind_tickets(py::module_& module) {
  py::class_<PyTicket>(module, "Ticket")
      .def("wait", &PyTicket::wait)
      .def("wait_for", &PyTicket::wait_for, py::arg("seconds"))
      .def("done", &PyTicket::done)
      .def("waits_for", &PyTicket::waits_for)
      .def("info", &PyTicket::info)
      .def("set_priority", &PyTicket::set_priority, py::arg("priority"))
      .def("set_deadline", &PyTicket::set_deadline, py::arg("seconds_from_now"))
      .def("pause", &PyTicket::pause)
      .def("resume", &PyTicket::resume)
      .def("cancel", &PyTicket::cancel);
  py::class_<Pause>(module, "Pause").def("end", &Pause::end);
}

void bind_worker(py::module_& module) {
  bind_tickets(module);
  using Place = std::tuple<std::uintptr_t, std::size_t>;
  using Route = std::tuple<Tensor, std::uintptr_t, std::uintptr_t, std::size_t>;
  const auto memory = [](const Place& place) {
    return Memory{std::get<0>(place), std::get<1>(place)};
  };
  py::class_<PyWorker>(module, "Worker")
      .def_static("join", &PyWorker::join, py::arg("options"))
      .def_property_readonly("rank", &PyWorker::rank)
      .def_property_readonly("size", &PyWorker::size)
      .def_readonly("elastic", &PyWorker::elastic)
      .def_property_readonly("lost_as", &lost_as)
      .def("declare", &declare, py::arg("name"), py::arg("dtype"), py::arg("elements"),
           py::arg("mode") = "sync", py::arg("bound") = 0, py::arg("rule") = "sum",
           py::arg("deterministic") = false, py::arg("codec") = py::none(), py::arg("bulk") = false,
           py::arg("shape") = "", py::arg("exchange") = "servers", py::arg("quorum") = 0,
           py::arg("late") = "next", py::arg("backups") = 0)
      .def(
          "push",
          [memory](PyWorker& self, const Tensor& tensor, const Place& source, int priority,
                   py::object owner) {
            return self.push(tensor, memory(source), priority, std::move(owner));
          },
          py::arg("tensor"), py::arg("source"), py::arg("priority"), py::arg("owner"))
      .def(
          "pull",
          [memory](PyWorker& self, const Tensor& tensor, const Place& target, int priority,
                   py::object owner) {
            return self.pull(tensor, memory(target), priority, std::move(owner));
          },
          py::arg("tensor"), py::arg("target"), py::arg("priority"), py::arg("owner"))
      .def(
          "push_pull",
          [](PyWorker& self, const std::vector<Route>& routes, int priority, py::object owner) {
            std::vector<PyTransfer> transfers;
            transfers.reserve(routes.size());
            for (const auto& [tensor, source, target, bytes] : routes) {
              transfers.push_back({tensor, source, target, bytes});
            }
            return self.push_pull(transfers, priority, std::move(owner));
          },
          py::arg("routes"), py::arg("priority"), py::arg("owner"))
      .def(
          "listen",
          [memory](PyWorker& self, const Tensor& tensor, const Place& target, int priority,
                   py::object owner) {
            return listen(self, tensor, memory(target), priority, std::move(owner));
          },
          py::arg("tensor"), py::arg("target"), py::arg("priority"), py::arg("owner"))
      .def(
          "broadcast",
          [memory](PyWorker& self, const Tensor& tensor, const Place& data, Rank root, int priority,
                   py::object owner) {
            return self.broadcast(tensor, memory(data), root, priority, std::move(owner));
          },
          py::arg("tensor"), py::arg("data"), py::arg("root"), py::arg("priority"),
          py::arg("owner"))
      .def("barrier", &PyWorker::barrier)
      .def("sit_out", &PyWorker::sit_out)
      .def("next_step", &next_step)
      .def_property_readonly("tracing", &PyWorker::tracing)
      .def("note_span", &PyWorker::note_span, py::arg("kind"), py::arg("begin_s"), py::arg("end_s"))
      .def("pause", &PyWorker::pause, py::arg("what"))
      .def("note_ending", &PyWorker::note_ending)
      .def("report", &PyWorker::report, py::arg("name"), py::arg("value"))
      .def("leave", &PyWorker::leave, py::arg("patience") = py::none())
      .def("abandon", &PyWorker::abandon);
}

void bind_parameters(py::module_& module) {
  using Place = std::tuple<std::uintptr_t, std::size_t>;
  const auto values = [](const std::vector<Place>& places) {
    std::vector<Values> all;
    all.reserve(places.size());
    for (const auto& [address, elements] : places) all.push_back({address, elements});
    return all;
  };
  py::class_<PyParameters>(module, "Parameters")
      .def(py::init([values](PyWorker& worker, const std::vector<std::string>& names,
                             const std::vector<Place>& initial, const std::string& mode,
                             std::uint32_t bound, const std::string& rate_rule,
                             std::uint32_t warm_up, bool deterministic, bool late) {
             return std::make_unique<PyParameters>(
                 worker, names, values(initial),
                 parameter_options(mode, bound, rate_rule, warm_up, deterministic, late));
           }),
           py::arg("worker"), py::arg("names"), py::arg("initial"), py::arg("mode"),
           py::arg("bound") = 3, py::arg("rate_rule") = "relative", py::arg("warm_up") = 0,
           py::arg("deterministic") = false, py::arg("late") = false, py::keep_alive<1, 2>())
      .def("values",
           [](const PyParameters& self, std::size_t tensor) {
             const Values at = self.values(tensor);
             return py::memoryview::from_memory(
                 reinterpret_cast<void*>(at.address),  // NOLINT: an address is a number.
                 static_cast<py::ssize_t>(at.elements * sizeof(float)));
           })
      .def("compensate",
           [values](PyParameters& self, const std::vector<Place>& gradients) {
             self.compensate(values(gradients));
           })
      .def("step", [values](PyParameters& self,
                            const std::vector<Place>& updates) { self.step(values(updates)); })
      .def("finish", &PyParameters::finish)
      .def("info", &PyParameters::info);
}

void bind_notices(py::module_& module) {
  py::class_<NoticeWatch>(module, "NoticeWatch")
      .def(py::init([](double patience) {
             return std::make_unique<NoticeWatch>(
                 std::chrono::duration_cast<std::chrono::milliseconds>(duration_of(patience)));
           }),
           py::arg("patience_s"))
      .def("reinstall", &NoticeWatch::reinstall)
      .def("told_ago", [](const NoticeWatch& self) -> std::optional<double> {
        const auto ago = self.told_ago();
        return ago ? std::optional(std::chrono::duration<double>(*ago).count()) : std::nullopt;
      });
}

}  // namespace
}  // namespace stretto::python

PYBIND11_MODULE(_core, module) {
  module.doc() = "Stretto's worker API; use the packages stretto and stretto.torch instead.";
  module.attr("__version__") = STRETTO_VERSION;
  module.def(
      "codec",
      [](const std::string& text) {
        (void)stretto::python::value_of(stretto::codec_from(text));
        return text;
      },
      pybind11::arg("text"));
  module.def("keep_other_threads_out", &stretto::python::keep_other_threads_out);
  stretto::python::bind_values(module);
  stretto::python::bind_worker(module);
  stretto::python::bind_checkpoints(module);
  stretto::python::bind_group(module);
  stretto::python::bind_parameters(module);
  stretto::python::bind_notices(module);
  stretto::python::bind_reader(module);
  stretto::python::bind_decoding(module);
}
