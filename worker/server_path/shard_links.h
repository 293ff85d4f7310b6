// SPDX-License-Identifier: Apache-2.0
// ShardLinks: this worker's links to all shards of the job, from the first connection to the end.
// In a job without servers there are none, and they are complete at once. A lost shard may have a
// successor: until that has answered the place keeps its last link, which has ended. Standbys are
// connected to before their promotion.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "van/control/control.h"
#include "van/engine/van.h"
#include "worker/server_path/standby_links.h"

namespace stretto {

/// Thread: loop.
class ShardLinks {
 public:
  /// The previous link and the current link of a place.
  struct Moved {
    LinkId from = 0;
    LinkId to = 0;
  };

  explicit ShardLinks(Van& van) : van_(van), standbys_(van) {}

  /// Connects to every shard of the roster, with this hello. They have some time to answer.
  Status connect(const Roster& roster, const control::Hello& hello, Time now);
  /// A later roster: links to lost shards end, and their successors are connected to.
  Status follow(const Roster& roster, const control::Hello& hello, Time now);
  /// Connected to before their promotion.
  StandbyLinks& standbys() { return standbys_; }
  /// True once all were connected to.
  bool called() const { return called_; }
  /// A link has ended. True if it was to a successor that had not answered yet: this connects
  /// again, a few times.
  bool call_again(LinkId link, const control::Hello& hello, Time now);
  /// A shard has answered. A successor replaces the previous shard, and its place has moved.
  std::optional<Moved> welcome(LinkId link);
  std::size_t count() const { return places_.size(); }
  /// True if all shards have answered, or their predecessors.
  bool complete() const { return called() && welcomed_ == places_.size(); }
  /// Why some shards cannot be reached, if their time is over; else ok.
  /// `excused`: no scheduler runs that could report a loss, so the time starts again.
  Status silence(Time now, bool excused = false);
  /// When that time ends.
  Time next_due() const;

  /// The shard of this link, or null.
  const Member* find(LinkId link) const;
  /// The place that a shard has, or had: below count().
  std::size_t place_of(NodeId node) const { return by_node_.at(node); }
  /// The link to the place that this shard has, or had; 0: none.
  LinkId link_to(NodeId node) const;
  void tell_all(const control::Message& message);

 private:
  struct Place {
    Member member;
    LinkId link = 0;  // 0: it was lost before this worker connected.
    bool welcomed = false;
    bool lost = false;  // The link has ended.
    std::optional<Member> next = {};
    LinkId next_link = 0;
    std::uint32_t calls = 0;      // Connection attempts so far.
    Time deadline = Time::max();  // For the answer.
  };

  Status call(Place& place, const Member& successor, const control::Hello& hello, Time now);
  void part_with(const Member& lost, Time now);

  Van& van_;
  StandbyLinks standbys_;
  std::vector<Place> places_;
  std::map<NodeId, std::size_t> by_node_;  // Also of previous shards.
  bool called_ = false;
  std::size_t welcomed_ = 0;
};

}  // namespace stretto
