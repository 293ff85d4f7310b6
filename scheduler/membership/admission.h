// SPDX-License-Identifier: Apache-2.0
// Admission: who has come, who is missing, and whether somebody who asks may join. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/config/config.h"
#include "scheduler/membership/view_events.h"

namespace stretto {

/// Thread: loop.
class Admission {
 public:
  explicit Admission(const Config& config) : config_(config) {}

  /// Admits or refuses; every refusal names what was wanted and what was found. Node ids are never
  /// given twice, so an id is an incarnation.
  Result<Member> admit(const Join& join);
  /// The same of a server, to a place in a job that runs: by any number that servers may have.
  Result<Member> admit_in_place(const Join& join);
  /// The same while the job runs and may grow: a worker gets the next rank after the last one.
  Result<Member> admit_late(const Join& join);
  /// The same of a worker for a job that is to have no more workers than it began with.
  Result<Member> admit_newcomer(Join join);
  /// Forgets a node; its place is free again.
  void remove(NodeId node);
  /// Those of this role who are here keep their order, and their ranks are 0 to n - 1 again.
  void close_gaps(Role of);

  /// Of the job; 0 as long as nobody has said how many each host has.
  std::uint32_t workers() const { return config_.workers_are_hosts ? told_ : config_.workers; }
  /// An identity for somebody who is no member.
  NodeId identity() { return next_node_++; }

  /// There are as many workers as there may be.
  bool full() const;
  bool has_worker() const;
  bool complete() const { return missing_count() == 0; }
  /// "worker 2, server 0 shard 1", at most a few by name.
  std::string missing() const;
  /// The same, with what `said` says of each.
  std::string missing(const std::function<std::string(const Member&)>& said,
                      std::string_view separator) const;
  std::vector<Member> members() const;

 private:
  Member enter(const Join& join, Rank rank, Rank number);
  Rank free_number(const Join& join) const;

  using Place = std::tuple<Role, Rank, std::uint32_t>;  // Role, rank, shard.
  struct Entry {
    Member member;
    std::string host;
    std::uint32_t told_workers;
  };

  Status check(const Join& join) const;
  Status check_workers(const Join& join) const;
  Status check_late(const Join& join) const;
  Result<Rank> place(const Join& join, Role role, std::uint32_t world) const;
  std::size_t missing_count() const;
  bool nobody_told() const;
  std::uint32_t workers_here() const;

  const Config& config_;
  std::uint32_t told_ = 0;  // Workers, by those who are in.
  std::map<Place, Entry> entries_;
  // Of all workers so far: none is given to two at a time, or to another than who had it.
  std::map<NodeId, Rank> numbers_;
  NodeId next_node_ = 2;  // 1 is the scheduler.
};

}  // namespace stretto
