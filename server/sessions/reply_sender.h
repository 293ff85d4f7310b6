// SPDX-License-Identifier: Apache-2.0
// ReplySender: tells workers what became of a part: its values, that a round is done, or why it
// never will be.
#pragma once

#include "server/sessions/worker_links.h"
#include "server/storage/slot.h"
#include "van/engine/van.h"
#include "van/wire/frame_views.h"

namespace stretto {

/// Thread: loop.
class ReplySender {
 public:
  /// Both outlive this.
  ReplySender(Van& van, const WorkerLinks& workers) : van_(van), workers_(workers) {}

  /// Something has changed, or somebody waits: tells those whose wait is over.
  void tell_ready(Part& part);
  /// A collected round that lacks somebody who has left can never finish: its waiters hear it now.
  void check_absentee(Part& part);
  /// What is known of a part's value, without its bytes and without waiting.
  void answer_probe(LinkId link, NodeId worker, const wire::PullFrame& probe, const Part& part);
  /// What a worker sent, or asked for, is refused. `round` is the one of its frame.
  void fault(LinkId link, const wire::Key& key, std::uint64_t round, const Status& why);
  /// All who wait for the part hear why they wait in vain.
  void fail(Part& part, const Status& why);
  /// What a worker sent is not what others did: they disagree with it just as much, those who wait
  /// and those who have yet to come, for to the first two the tensor has failed.
  void disagree(LinkId link, const wire::PushFrame& push, Part& part, const Status& why);

 private:
  void tell(const Part& part, const Waiter& waiter);

  Van& van_;
  const WorkerLinks& workers_;
};

}  // namespace stretto
