// SPDX-License-Identifier: Apache-2.0
// Descriptions from tuples, and calls without the GIL.
#include "bindings/python/core/checkpoints.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>

#include "bindings/python/core/errors.h"
#include "bindings/python/core/interruptible_wait.h"

namespace stretto::python {
namespace py = pybind11;

namespace {

Held held_named(const std::string& name) {
  constexpr std::array<std::string_view, 3> kNames = {"each", "alike", "first"};  // Held's.
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    throw py::value_error("who holds it is '" + name + "', wanted 'each', 'alike' or 'first'");
  }
  return static_cast<Held>(found - kNames.begin());
}

std::vector<Attachment> attachments_of(const std::vector<PyAttachment>& attachments) {
  std::vector<Attachment> all;
  all.reserve(attachments.size());
  for (const PyAttachment& each : attachments) {
    all.push_back({.name = each.name,
                   .bytes = Memory{each.address, each.bytes}.source(),
                   .held = held_named(each.held),
                   .dtype = each.dtype ? std::optional(dtype_named(*each.dtype)) : std::nullopt,
                   .shape = each.shape});
  }
  return all;
}

using Given = std::tuple<std::string, std::uintptr_t, std::size_t, std::string,
                         std::optional<std::string>, std::string>;

std::vector<PyAttachment> from_tuples(const std::vector<Given>& given) {
  std::vector<PyAttachment> attachments;
  attachments.reserve(given.size());
  for (const auto& [name, address, bytes, held, dtype, shape] : given) {
    attachments.push_back({name, address, bytes, held, dtype, shape});
  }
  return attachments;
}

}  // namespace

void PyCheckpoints::save(std::uint64_t step, const std::vector<PyAttachment>& attachments) const {
  worker_->process().refuse_others();
  const std::vector<Attachment> all = attachments_of(attachments);
  raise_unless_ok(heard([&all, step, saves = checkpoints_] { return saves->save(step, all); }));
}

CheckpointTicket PyCheckpoints::begin(std::uint64_t step,
                                      const std::vector<PyAttachment>& attachments) const {
  worker_->process().refuse_others();
  const std::vector<Attachment> all = attachments_of(attachments);
  return heard([&all, step, saves = checkpoints_] { return saves->begin(step, all); });
}

bool PyCheckpoints::due(std::uint64_t step) const {
  worker_->process().refuse_others();
  return value_of(heard([step, asks = checkpoints_] { return asks->due(step); }));
}

RestoredFrom PyCheckpoints::restored() const { return checkpoints_->restored(); }

std::vector<Attached> PyCheckpoints::attached() const {
  worker_->process().refuse_others();
  return value_of(without_gil([this] { return checkpoints_->attached(); }));
}

void PyCheckpoints::read(const Attached& which, Memory target) const {
  worker_->process().refuse_others();
  raise_unless_ok(without_gil([&] { return checkpoints_->read(which, target.target()); }));
}

void bind_checkpoints(py::module_& module) {
  using Place = std::tuple<std::uintptr_t, std::size_t>;
  py::class_<Attached>(module, "Attached")
      .def_readonly("name", &Attached::name)
      .def_readonly("rank", &Attached::rank)
      .def_readonly("bytes", &Attached::bytes)
      .def_readonly("shape", &Attached::shape)
      .def_property_readonly("dtype", [](const Attached& self) {
        return self.dtype ? std::optional(std::string(name_of(*self.dtype))) : std::nullopt;
      });
  py::class_<CheckpointTicket>(module, "CheckpointTicket")
      .def(
          "wait",
          [](const CheckpointTicket& self, double limit) {
            const auto longest = std::chrono::duration_cast<Duration>(
                std::chrono::duration<double>(std::clamp(limit, 0.0, 1e9)));
            raise_unless_ok(heard([&self, longest] { return self.wait_for(longest); }));
          },
          py::arg("limit") = 1e9)
      .def("done", &CheckpointTicket::done);
  py::class_<PyCheckpoints>(module, "Checkpoints")
      .def(py::init([](PyWorker& worker) { return std::make_unique<PyCheckpoints>(worker); }),
           py::arg("worker"), py::keep_alive<1, 2>())
      .def(
          "save",
          [](const PyCheckpoints& self, std::uint64_t step, const std::vector<Given>& given) {
            self.save(step, from_tuples(given));
          },
          py::arg("step"), py::arg("attachments"))
      .def(
          "begin",
          [](const PyCheckpoints& self, std::uint64_t step, const std::vector<Given>& given) {
            return self.begin(step, from_tuples(given));
          },
          py::arg("step"), py::arg("attachments"))
      .def("due", &PyCheckpoints::due, py::arg("step"))
      .def_property_readonly("restored",
                             [](const PyCheckpoints& self) {
                               const RestoredFrom from = self.restored();
                               return std::pair(from.number, from.step);
                             })
      .def("attached", &PyCheckpoints::attached)
      .def(
          "read",
          [](const PyCheckpoints& self, const Attached& which, const Place& target) {
            self.read(which, Memory{std::get<0>(target), std::get<1>(target)});
          },
          py::arg("which"), py::arg("target"));
}

}  // namespace stretto::python
