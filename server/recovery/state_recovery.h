// SPDX-License-Identifier: Apache-2.0
// StateRecovery: what a shard does that has come in the place of one that was lost. Before a part
// is used here the workers say how far they are with it, and one of them gives its last value; what
// comes for it meanwhile waits.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/clock.h"
#include "server/recovery/recovery_point.h"
#include "server/sessions/reply_sender.h"
#include "server/sessions/worker_links.h"
#include "server/storage/owned_slots.h"
#include "van/engine/van.h"
#include "van/wire/frame_views.h"

namespace stretto {

/// Thread: loop.
class StateRecovery {
 public:
  /// What a shard does with a frame of a part that is known.
  using Dispatch = std::function<void(LinkId, WorkerLinks::Worker, const wire::Header&, Buffer)>;

  /// All outlive this.
  StateRecovery(Van& van, const WorkerLinks& workers, OwnedSlots& slots, ReplySender& announcer,
                const Clock& clock)
      : van_(van), workers_(workers), slots_(slots), announcer_(announcer), clock_(clock) {}

  /// There was another in this place, of which this has these parts, but for those that are
  /// lacking, and may lack others.
  void begin(const OwnedSlots& has, const std::set<wire::Key>& lacking);
  /// Nobody need be asked of it.
  bool knows(const wire::Key& key) const { return !active_ || known_.contains(key); }

  /// True if the frame is a value that was asked for, or waits until its part is known. The link of
  /// who sends too many such, or another value, is refused.
  bool takes(LinkId link, NodeId worker, const wire::Header& header, const Buffer& payload);
  /// A worker says how far it is with a part.
  void hear(NodeId worker, const control::Recall& told);
  /// Asks those who have come, and looks at what has been answered: parts go on, or never will
  /// (Part::doomed), and what has waited for that is dispatched, in order.
  void step(const Dispatch& dispatch);
  /// When it has to be called again, at the latest.
  Time next_due() const;

  /// True once of each worker whose share of a round that was done elsewhere comes here again: it
  /// is still to have the answer.
  bool take_owed(const wire::Key& key, NodeId worker, std::uint64_t round);

 private:
  /// Of a worker, in the order in which they came: none passes another, as acknowledgments say of
  /// each frame that those before it have counted.
  struct Frame {
    wire::Header header;
    Buffer payload;
  };
  struct Kept {
    std::deque<Frame> frames;
    std::map<wire::Key, std::uint32_t> of_part;
  };
  struct Asking {
    Part* part = nullptr;
    Time deadline = Time::max();
    std::set<NodeId> asked;
    std::map<NodeId, RecoveryReport> told;
    RecoveryPoint resumption;  // Once all have told.
    bool fetching = false;
  };

  Status take_value(NodeId worker, const wire::ValueFrame& value, const Buffer& payload);
  Asking& open(Part& part);
  void ask(Asking& asking);
  std::string who_has_not_told(const Asking& asking) const;
  /// True once the part is known.
  bool go_on(Asking& asking);
  bool decide(Asking& asking);
  void resume(Asking& asking, Buffer value, std::uint32_t contributors);
  void dispatch_known(const Dispatch& dispatch);

  Van& van_;
  const WorkerLinks& workers_;
  OwnedSlots& slots_;
  ReplySender& announcer_;
  const Clock& clock_;
  bool active_ = false;
  std::map<wire::Key, Asking> open_;
  std::map<NodeId, Kept> kept_;
  std::set<wire::Key> known_;
  std::map<wire::Key, std::pair<std::uint64_t, std::set<NodeId>>> owed_;  // A round, to whom.
};

}  // namespace stretto
