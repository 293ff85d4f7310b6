// SPDX-License-Identifier: Apache-2.0
// StateRecovery: restores the parts of a shard that replaces a failed one. Before a part is used,
// workers report their progress, and one of them sends its last value; frames for the part wait
// meanwhile.
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
  /// Handles a frame of a recovered part.
  using Dispatch = std::function<void(LinkId, WorkerLinks::Worker, const wire::Header&, Buffer)>;

  /// All arguments must outlive this.
  StateRecovery(Van& van, const WorkerLinks& workers, OwnedSlots& slots, ReplySender& announcer,
                const Clock& clock)
      : van_(van), workers_(workers), slots_(slots), announcer_(announcer), clock_(clock) {}

  /// This shard replaces a failed one, and has these parts of it, except `lacking`; it may lack
  /// others.
  void begin(const OwnedSlots& has, const std::set<wire::Key>& lacking);
  /// True if the part needs no recovery.
  bool knows(const wire::Key& key) const { return !active_ || known_.contains(key); }

  /// True if the frame is a recovery value, or waits until its part is recovered. Refuses the link
  /// on too many waiting frames, or an invalid value.
  bool takes(LinkId link, NodeId worker, const wire::Header& header, const Buffer& payload);
  /// A worker reports its progress on a part.
  void hear(NodeId worker, const control::Recall& told);
  /// Queries connected workers, and evaluates their reports: parts continue, or fail for good
  /// (Part::doomed). Then dispatches the frames that waited, in order.
  void step(const Dispatch& dispatch);
  /// When step() must be called again, at the latest.
  Time next_due() const;

  /// True once for each worker that retransmits a contribution to a round that was completed before
  /// the failure: it still needs the answer.
  bool take_owed(const wire::Key& key, NodeId worker, std::uint64_t round);

 private:
  /// A worker's frames, in order of arrival: acknowledgments are cumulative, so no frame may
  /// overtake another.
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
    RecoveryPoint resumption;  // Once all have reported.
    bool fetching = false;
  };

  Status take_value(NodeId worker, const wire::ValueFrame& value, const Buffer& payload);
  Asking& open(Part& part);
  void ask(Asking& asking);
  std::string who_has_not_told(const Asking& asking) const;
  /// True once the part is recovered.
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
  std::map<wire::Key, std::pair<std::uint64_t, std::set<NodeId>>> owed_;  // Round, workers.
};

}  // namespace stretto
