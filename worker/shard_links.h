// SPDX-License-Identifier: Apache-2.0
// ShardLinks: this worker's links to all shards of the job, from the first call to the last word.
// In a job without servers there are none, and they are complete at once.
#pragma once

#include <map>

#include "common/clock.h"
#include "van/control.h"
#include "van/van.h"

namespace stretto {

/// Thread: loop.
class ShardLinks {
 public:
  explicit ShardLinks(Van& van) : van_(van) {}

  /// Calls every shard of the roster, with this hello. They have some time to answer.
  Status connect(const Roster& roster, const control::Hello& hello, Time now);
  /// All were called.
  bool called() const { return called_; }
  /// A shard has answered.
  void welcome(LinkId link);
  std::size_t count() const { return shards_.size(); }
  /// All have answered.
  bool complete() const { return called() && welcomed_ == shards_.size(); }
  /// Why some cannot be reached, if their time is over; else ok.
  Status silence(Time now) const;
  /// When that will be.
  Time next_due() const { return called() && !complete() ? deadline_ : Time::max(); }

  /// The shard at the end of this link, or null.
  const Member* find(LinkId link) const;
  /// The link to this shard, or 0.
  LinkId link_to(NodeId node) const;
  void tell_all(const control::Message& message);

 private:
  struct Shard {
    Member member;
    LinkId link = 0;
    bool welcomed = false;
  };

  Van& van_;
  std::map<NodeId, Shard> shards_;
  bool called_ = false;
  std::size_t welcomed_ = 0;
  Time deadline_ = Time::max();
};

}  // namespace stretto
