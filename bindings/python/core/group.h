// SPDX-License-Identifier: Apache-2.0
// PyGroup: a group's calls for Python, and EndedTickets: which of many tickets have ended. Memory
// comes as with PyWorker, by its address, with the object that owns it.
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
  /// The workers of these ranks, or all if there are none. Blocks until all of them have called it.
  static std::unique_ptr<PyGroup> of(PyWorker& worker, std::vector<Rank> ranks,
                                     const std::string& exchange, bool deterministic);
  PyGroup(PyWorker& worker, Group group) : worker_(worker), group_(std::move(group)) {}

  std::uint32_t rank() const { return group_.rank(); }
  std::uint32_t size() const { return group_.size(); }
  std::vector<Rank> ranks() const { return group_.ranks(); }
  /// Begins what `call` begins with the group; the owner is kept until that has ended.
  template <typename Call>
  PyTicket begin(Call call, const pybind11::object& owner) {
    worker_.process().refuse_others();
    (void)worker_.worker();  // Raises once it was abandoned.
    return worker_.keep(call(group_), owner);
  }

 private:
  PyWorker& worker_;
  Group group_;
};

/// Tells in which order tickets end, for one thread that serves those who do not wait themselves.
/// Thread: any that holds the GIL; take() lets it go.
class EndedTickets {
 public:
  EndedTickets() : ended_(std::make_shared<Ended>()) {}

  /// take() returns this number once, when the ticket has ended.
  void watch(const PyTicket& ticket, std::uint64_t number) const;
  /// The number of one that has ended; waits for the next if there is none. None after close(),
  /// when all that had ended was taken.
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
