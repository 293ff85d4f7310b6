// SPDX-License-Identifier: Apache-2.0
// PyGroup: a group's calls for Python. EndedTickets: the order in which many tickets end. As in
// PyWorker, memory is passed by its address, with the object that owns it.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python/core/worker.h"
#include "common/mutex.h"
#include "stretto/group.h"

namespace stretto::python {

/// Some workers of a job. Thread: any that holds the GIL. The worker must outlive it.
class PyGroup {
 public:
  /// The group of these ranks; empty: all workers. Blocks until all members have called it.
  static std::unique_ptr<PyGroup> of(PyWorker& worker, std::vector<Rank> ranks,
                                     const std::string& exchange, bool deterministic);
  PyGroup(PyWorker& worker, Group group) : worker_(worker), group_(std::move(group)) {}

  std::uint32_t rank() const { return group_.rank(); }
  std::uint32_t size() const { return group_.size(); }
  std::vector<Rank> ranks() const { return group_.ranks(); }
  /// Starts an operation by `call` on the group; the owner is kept until the operation has ended.
  template <typename Call>
  PyTicket begin(Call call, const pybind11::object& owner) {
    worker_.process().refuse_others();
    (void)worker_.worker();  // Raises once the worker was abandoned.
    return worker_.keep(call(group_), owner);
  }

 private:
  PyWorker& worker_;
  Group group_;
};

/// Reports the order in which tickets end, to a thread that serves callers without a wait().
/// Thread: any that holds the GIL; take() lets it go.
class EndedTickets {
 public:
  EndedTickets() : ended_(std::make_shared<Ended>()) {}

  /// take() returns this number once, when the ticket has ended.
  void watch(const PyTicket& ticket, std::uint64_t number) const;
  /// The number of an ended ticket; waits for the next if there is none. None after close(), once
  /// all ended tickets were taken.
  std::optional<std::uint64_t> take() const;
  void close() const;

 private:
  /// Shared with callbacks of tickets, which may run on the worker's thread.
  struct Ended {
    Mutex mutex;
    Condition changed;
    std::deque<std::uint64_t> numbers GUARDED_BY(mutex);
    bool is_closed GUARDED_BY(mutex) = false;
  };
  std::shared_ptr<Ended> ended_;
};

/// Group and EndedTickets, in the module.
void bind_group(pybind11::module_& module);

}  // namespace stretto::python
