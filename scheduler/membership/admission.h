// SPDX-License-Identifier: Apache-2.0
// Admission: which members have joined, which are missing, and whether a process may join. Pure.
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

  /// Admits or rejects; each rejection names the expected and the actual value. Node ids are never
  /// reused, so an id is an incarnation.
  Result<Member> admit(const Join& join);
  /// Like admit(), for a server that joins a running job; it may have any number of a server.
  Result<Member> admit_in_place(const Join& join);
  /// Like admit(), while the job runs and may grow: a worker gets the next rank after the last.
  Result<Member> admit_late(const Join& join);
  /// Like admit_late(), for a worker of a job that may not exceed its initial number of workers.
  Result<Member> admit_newcomer(Join join);
  /// Forgets a node; its rank is free again.
  void remove(NodeId node);
  /// Renumbers the members of this role from 0 to n - 1, in their order.
  void close_gaps(Role of);

  /// Number of workers of the job; 0 until a member has reported how many each host has.
  std::uint32_t workers() const { return config_.workers_are_hosts ? told_ : config_.workers; }
  /// A node id for a process that is not a member.
  NodeId identity() { return next_node_++; }

  /// The job has its maximum number of workers.
  bool full() const;
  bool has_worker() const;
  bool complete() const { return missing_count() == 0; }
  /// "worker 2, server 0 shard 1", at most a few by name.
  std::string missing() const;
  /// Like missing(), with the text of `said` for each member.
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
  std::uint32_t told_ = 0;  // Number of workers, as the members reported it.
  std::map<Place, Entry> entries_;
  // Member ids of all workers so far, by node id. A member id is reused only by the same worker
  // when that worker rejoins.
  std::map<NodeId, Rank> numbers_;
  NodeId next_node_ = 2;  // 1 is the scheduler.
};

}  // namespace stretto
