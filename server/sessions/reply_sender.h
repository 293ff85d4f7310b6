// SPDX-License-Identifier: Apache-2.0
// ReplySender: sends workers a part's values, the ends of its rounds, or errors.
#pragma once

#include "server/sessions/worker_links.h"
#include "server/storage/slot.h"
#include "van/engine/van.h"
#include "van/wire/frame_views.h"

namespace stretto {

/// Thread: loop.
class ReplySender {
 public:
  /// Both must outlive this.
  ReplySender(Van& van, const WorkerLinks& workers) : van_(van), workers_(workers) {}

  /// Replies to all waiters of `part` that are ready. Call after `part` or its list of waiters has
  /// changed.
  void tell_ready(Part& part);
  /// Fails the waiters of a collected round that lacks a worker that has left: it can never finish.
  void check_absentee(Part& part);
  /// Answers with the facts on a part's value at once, without its bytes.
  void answer_probe(LinkId link, NodeId worker, const wire::PullFrame& probe, const Part& part);
  /// Rejects a worker's push or pull. `round` is the one of its frame.
  void fault(LinkId link, const wire::Key& key, std::uint64_t round, const Status& why);
  /// Fails all waiters of the part.
  void fail(Part& part, const Status& why);
  /// A push contradicts the round: fails the tensor for its sender, and for all current and future
  /// waiters, as no side is known to be right.
  void disagree(LinkId link, const wire::PushFrame& push, Part& part, const Status& why);

 private:
  void tell(const Part& part, const Waiter& waiter);

  Van& van_;
  const WorkerLinks& workers_;
};

}  // namespace stretto
