// SPDX-License-Identifier: Apache-2.0
// Observers: tools that watch a job without being members (stretto-trace, stretto-top), and the
// answers to them. They present the job's token in their hello, as members do.
#pragma once

#include <map>
#include <string>

#include "scheduler/coordination/tensor_registry.h"
#include "scheduler/monitoring/job_snapshot.h"
#include "scheduler/monitoring/stack_requests.h"
#include "scheduler/monitoring/trace_session.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class Observers {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostUnread = 64;  // Answers that an observer may leave unread.

  /// What observers may read and start.
  struct Sights {
    const Snapshot& snapshot;
    const TensorRegistry& registry;
    TraceSession& trace;
    StackRequests& stacks;
    std::string_view phase;
    const std::vector<Member>& members;
  };

  /// Registers the observer of this link. Refused if there are too many.
  Status add(LinkId link);
  bool has(LinkId link) const { return links_.count(link) != 0; }
  void remove(LinkId link) { links_.erase(link); }

  /// The answer to a request; a fault on error.
  static control::Message answer(const control::Observe& question, const Sights& sights, Time now);

 private:
  std::map<LinkId, bool> links_;
};

}  // namespace stretto
