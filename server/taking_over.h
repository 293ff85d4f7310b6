// SPDX-License-Identifier: Apache-2.0
// TakingOver: what a shard does that has come in the place of one that was lost. Before a part is
// used here the workers say how far they are with it, and one of them gives its last value; what
// comes for it meanwhile waits.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "common/clock.h"
#include "server/recovery.h"
#include "server/slot.h"
#include "server/worker_links.h"
#include "van/frame_views.h"
#include "van/van.h"

namespace stretto {

/// Thread: loop.
class TakingOver {
 public:
  /// What a worker sent while its part was not known yet.
  struct Frame {
    NodeId worker = 0;
    wire::Header header;
    Buffer payload;
  };
  /// Parts that go on, or never will (Part::doomed), and what has waited for that, in order.
  struct Done {
    Part* part;
    std::vector<Frame> frames;
  };

  /// All outlive this.
  TakingOver(Van& van, const WorkerLinks& workers, const Clock& clock)
      : van_(van), workers_(workers), clock_(clock) {}

  /// There was another in this place.
  void begin() { active_ = true; }
  bool active() const { return active_; }

  /// True if the part is not known yet: the frame waits for that. Errors: Resource, if too many of
  /// its sender do.
  Result<bool> keep(Part& part, LinkId link, NodeId worker, const wire::Header& header,
                    const Buffer& payload);
  /// Somebody waits for something of this part: all are asked how far they are with it, once.
  void open(Part& part);
  /// A worker says how far it is with a part.
  void hear(NodeId worker, const control::Recall& told);
  /// It sends the value that it was asked for. An error if it was not.
  Status take(NodeId worker, const wire::ValueFrame& value, const Buffer& payload);
  /// Asks those who have come, and looks at what has been answered.
  std::vector<Done> step();

  /// True once of each worker whose share of a round that was done elsewhere comes here again: it
  /// is still to have the answer.
  bool take_owed(const wire::Key& key, NodeId worker, std::uint64_t round);

 private:
  struct Asking {
    Part* part = nullptr;
    std::set<NodeId> asked;
    std::map<NodeId, RoundsSeen> told;
    Resumption resumption;  // Once all have told.
    bool fetching = false;
    bool over = false;
    std::vector<Frame> frames;
  };

  void ask(Asking& asking);
  bool all_have_told(const Asking& asking) const;
  void decide(Asking& asking);
  void resume(Asking& asking, Buffer value, std::uint32_t contributors);

  Van& van_;
  const WorkerLinks& workers_;
  const Clock& clock_;
  bool active_ = false;
  std::map<wire::Key, Asking> open_;
  std::set<wire::Key> known_;
  std::map<wire::Key, std::pair<std::uint64_t, std::set<NodeId>>> owed_;  // A round, to whom.
};

}  // namespace stretto
