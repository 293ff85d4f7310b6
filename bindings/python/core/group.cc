// SPDX-License-Identifier: Apache-2.0
// The names of Python's calls, and the words in them.
#include "bindings/python/core/group.h"

#include <pybind11/stl.h>

#include <tuple>
#include <utility>

#include "bindings/python/core/interruptible_wait.h"

namespace stretto::python {
namespace py = pybind11;

namespace {

using Region = std::tuple<std::uintptr_t, std::size_t>;

std::span<const std::byte> source_at(const Region& region) {
  return Memory{std::get<0>(region), std::get<1>(region)}.source();
}

std::span<std::byte> target_at(const Region& region) {
  return Memory{std::get<0>(region), std::get<1>(region)}.target();
}

ReduceOp reduce_op_named(const std::string& name) {
  for (int number = 0; name_of(static_cast<ReduceOp>(number)) != "unknown"; ++number) {
    if (name_of(static_cast<ReduceOp>(number)) == name) return static_cast<ReduceOp>(number);
  }
  throw py::value_error("no reduction is called '" + name + "'");
}

using Bound = py::class_<PyGroup>;

void bind_reductions(Bound& group) {
  group
      .def(
          "all_reduce",
          [](PyGroup& self, const std::string& dtype, const Region& source, const Region& target,
             const std::string& op, int priority, const py::object& owner) {
            const auto call = [&](Group& on) {
              return on.all_reduce(dtype_named(dtype), source_at(source), target_at(target),
                                   reduce_op_named(op), priority);
            };
            return self.begin(call, owner);
          },
          py::arg("dtype"), py::arg("source"), py::arg("target"), py::arg("op"),
          py::arg("priority"), py::arg("owner"))
      .def(
          "reduce",
          [](PyGroup& self, const std::string& dtype, const Region& source, const Region& target,
             std::uint32_t root, const std::string& op, int priority, const py::object& owner) {
            const auto call = [&](Group& on) {
              return on.reduce(dtype_named(dtype), source_at(source), target_at(target), root,
                               reduce_op_named(op), priority);
            };
            return self.begin(call, owner);
          },
          py::arg("dtype"), py::arg("source"), py::arg("target"), py::arg("root"), py::arg("op"),
          py::arg("priority"), py::arg("owner"))
      .def(
          "reduce_scatter",
          [](PyGroup& self, const std::string& dtype, const Region& source, const Region& target,
             const std::string& op, int priority, const py::object& owner) {
            const auto call = [&](Group& on) {
              return on.reduce_scatter(dtype_named(dtype), source_at(source), target_at(target),
                                       reduce_op_named(op), priority);
            };
            return self.begin(call, owner);
          },
          py::arg("dtype"), py::arg("source"), py::arg("target"), py::arg("op"),
          py::arg("priority"), py::arg("owner"));
}

void bind_moves(Bound& group) {
  group
      .def(
          "broadcast",
          [](PyGroup& self, const Region& data, std::uint32_t root, int priority,
             const py::object& owner) {
            return self.begin(
                [&](Group& on) { return on.broadcast(target_at(data), root, priority); }, owner);
          },
          py::arg("data"), py::arg("root"), py::arg("priority"), py::arg("owner"))
      .def(
          "all_gather",
          [](PyGroup& self, const Region& source, const Region& target, int priority,
             const py::object& owner) {
            const auto call = [&](Group& on) {
              return on.all_gather(source_at(source), target_at(target), priority);
            };
            return self.begin(call, owner);
          },
          py::arg("source"), py::arg("target"), py::arg("priority"), py::arg("owner"))
      .def(
          "gather",
          [](PyGroup& self, const Region& source, const Region& target, std::uint32_t root,
             int priority, const py::object& owner) {
            const auto call = [&](Group& on) {
              return on.gather(source_at(source), target_at(target), root, priority);
            };
            return self.begin(call, owner);
          },
          py::arg("source"), py::arg("target"), py::arg("root"), py::arg("priority"),
          py::arg("owner"))
      .def(
          "scatter",
          [](PyGroup& self, const Region& source, const Region& target, std::uint32_t root,
             int priority, const py::object& owner) {
            const auto call = [&](Group& on) {
              return on.scatter(source_at(source), target_at(target), root, priority);
            };
            return self.begin(call, owner);
          },
          py::arg("source"), py::arg("target"), py::arg("root"), py::arg("priority"),
          py::arg("owner"));
}

void bind_pairs(Bound& group) {
  group
      .def(
          "all_to_all",
          [](PyGroup& self, const Region& source, const Region& target,
             const std::optional<std::vector<std::size_t>>& give,
             const std::optional<std::vector<std::size_t>>& take, int priority,
             const py::object& owner) {
            if (give.has_value() != take.has_value()) {
              throw py::value_error("give and take are both sizes of blocks, or both None");
            }
            const auto call = [&](Group& on) {
              if (!give) return on.all_to_all(source_at(source), target_at(target), priority);
              return on.all_to_all(source_at(source), *give, target_at(target), *take, priority);
            };
            return self.begin(call, owner);
          },
          py::arg("source"), py::arg("target"), py::arg("give"), py::arg("take"),
          py::arg("priority"), py::arg("owner"))
      .def(
          "send",
          [](PyGroup& self, const Region& source, std::uint32_t to, std::uint64_t tag, int priority,
             const py::object& owner) {
            return self.begin(
                [&](Group& on) { return on.send(source_at(source), to, tag, priority); }, owner);
          },
          py::arg("source"), py::arg("to"), py::arg("tag"), py::arg("priority"), py::arg("owner"))
      .def(
          "receive",
          [](PyGroup& self, const Region& target, std::uint32_t from, std::uint64_t tag,
             int priority, const py::object& owner) {
            return self.begin(
                [&](Group& on) { return on.receive(target_at(target), from, tag, priority); },
                owner);
          },
          py::arg("target"), py::arg("from_"), py::arg("tag"), py::arg("priority"),
          py::arg("owner"));
}

}  // namespace

std::unique_ptr<PyGroup> PyGroup::of(PyWorker& worker, std::vector<Rank> ranks,
                                     const std::string& exchange, bool deterministic) {
  worker.process().refuse_others();
  const GroupOptions options{.exchange = value_of(exchange_named(exchange)),
                             .deterministic = deterministic};
  Worker& inside = worker.worker();
  Result<Group> group = heard([&] { return Group::of(inside, std::move(ranks), options); });
  return std::make_unique<PyGroup>(worker, value_of(std::move(group)));
}

void EndedTickets::watch(const PyTicket& ticket, std::uint64_t number) const {
  ticket.ticket().on_done([ended = ended_, number](const Status&) {
    const MutexLock lock(ended->mutex);
    ended->numbers.push_back(number);
    ended->changed.notify_all();
  });
}

std::optional<std::uint64_t> EndedTickets::take() const {
  return without_gil([&ended = *ended_]() -> std::optional<std::uint64_t> {
    const MutexLock lock(ended.mutex);
    while (ended.numbers.empty() && !ended.is_closed) ended.changed.wait(ended.mutex);
    if (ended.numbers.empty()) return std::nullopt;
    const std::uint64_t number = ended.numbers.front();
    ended.numbers.pop_front();
    return number;
  });
}

void EndedTickets::close() const {
  const MutexLock lock(ended_->mutex);
  ended_->is_closed = true;
  ended_->changed.notify_all();
}

void bind_group(py::module_& module) {
  Bound group(module, "Group");
  group
      .def_static("of", &PyGroup::of, py::arg("worker"), py::arg("ranks"),
                  py::arg("exchange") = "direct", py::arg("deterministic") = false,
                  py::keep_alive<0, 1>())
      .def_property_readonly("rank", &PyGroup::rank)
      .def_property_readonly("size", &PyGroup::size)
      .def_property_readonly("ranks", &PyGroup::ranks)
      .def(
          "barrier",
          [](PyGroup& self, int priority) {
            return self.begin([&](Group& on) { return on.barrier(priority); }, py::none());
          },
          py::arg("priority"));
  bind_reductions(group);
  bind_moves(group);
  bind_pairs(group);
  py::class_<EndedTickets>(module, "EndedTickets")
      .def(py::init<>())
      .def("watch", &EndedTickets::watch, py::arg("ticket"), py::arg("number"))
      .def("take", &EndedTickets::take)
      .def("close", &EndedTickets::close);
}

}  // namespace stretto::python
