// SPDX-License-Identifier: Apache-2.0
// ShardLinks: this worker's links to all shards of the job, from the first call to the last word.
// In a job without servers there are none, and they are complete at once. A shard that is lost may
// have a successor: until that has answered the place keeps its last link, which has ended. Who
// stands by for it has been called before.
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
  /// A place's link before and now.
  struct Moved {
    LinkId from = 0;
    LinkId to = 0;
  };

  explicit ShardLinks(Van& van) : van_(van), standbys_(van) {}

  /// Calls every shard of the roster, with this hello. They have some time to answer.
  Status connect(const Roster& roster, const control::Hello& hello, Time now);
  /// A later roster: links to who is lost end, and who has come in their place is called.
  Status follow(const Roster& roster, const control::Hello& hello, Time now);
  /// Who is called before it has a place.
  StandbyLinks& standbys() { return standbys_; }
  /// All were called.
  bool called() const { return called_; }
  /// A link has ended. True if it was to who comes in another's place and had not answered yet:
  /// that one is called again, a few times.
  bool call_again(LinkId link, const control::Hello& hello, Time now);
  /// A shard has answered; and if it is another's successor that was here before, it has the place.
  std::optional<Moved> welcome(LinkId link);
  std::size_t count() const { return places_.size(); }
  /// All have answered, or their predecessors.
  bool complete() const { return called() && welcomed_ == places_.size(); }
  /// Why some cannot be reached, if their time is over; else ok.
  /// `excused`: nobody is there now who would say that one of them is lost, so that they have their
  /// time anew.
  Status silence(Time now, bool excused = false);
  /// When that will be.
  Time next_due() const;

  /// The shard at the end of this link, or null.
  const Member* find(LinkId link) const;
  /// The place that a shard has, or had: below count().
  std::size_t place_of(NodeId node) const { return by_node_.at(node); }
  /// The link to the place that this shard has, or had; 0: none.
  LinkId link_to(NodeId node) const;
  void tell_all(const control::Message& message);

 private:
  struct Place {
    Member member;
    LinkId link = 0;  // 0: it was lost before it was called.
    bool welcomed = false;
    bool lost = false;  // The link has ended.
    std::optional<Member> next = {};
    LinkId next_link = 0;
    std::uint32_t calls = 0;      // Of it, so far.
    Time deadline = Time::max();  // Of who has been called.
  };

  Status call(Place& place, const Member& successor, const control::Hello& hello, Time now);
  void part_with(const Member& lost, Time now);

  Van& van_;
  StandbyLinks standbys_;
  std::vector<Place> places_;
  std::map<NodeId, std::size_t> by_node_;  // Of all who had them.
  bool called_ = false;
  std::size_t welcomed_ = 0;
};

}  // namespace stretto
