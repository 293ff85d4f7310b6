// SPDX-License-Identifier: Apache-2.0
// Roster: the members of a job, with ranks and addresses, and the job's common settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "stretto/types.h"

namespace stretto {

/// Number of slots in a job with servers.
inline constexpr std::uint32_t kSlots = 4096;
/// Largest number of workers that may connect to each other; larger rosters omit addresses.
inline constexpr std::uint32_t kMostCalledWorkers = 1024;

/// A member of the job. Each change of a member increments the epoch.
struct Member {
  NodeId node = 0;
  Role role = Role::kWorker;
  Rank rank = 0;
  std::uint32_t shard = 0;
  std::string address;  ///< Empty: it accepts no connections.
  bool left = false;
  bool lost = false;  ///< It left ungracefully.
  Rank moved_up = 0;  ///< Its member id minus its rank.
  /// It joins a running job and is not admitted yet: it contributes to no round, and its rank is
  /// above those of all admitted workers.
  bool joining = false;
  std::uint64_t from_step = 0;  ///< Its first step as a member; 0: the start of the job.
  std::uint64_t machine = 0;    ///< Host that it runs on (common/network/machine.h); 0: unknown.
  bool standby = false;         ///< A standby of the primary of its rank: serves no worker.

  /// The member id: names the member in messages for its whole life. Ids of a job's workers are
  /// unique and in the order of ranks. Both are equal at first; ranks of an elastic job close gaps.
  /// A server's rank names its replica set: of two servers with one rank one is or was the standby.
  Rank number() const { return rank + moved_up; }
  /// By its member id: "worker 3", "server 0", "server 0 shard 2".
  std::string describe() const;
};

struct Roster {
  std::uint32_t epoch = 0;
  std::uint32_t fence = 0;
  std::uint32_t workers = 0;  ///< Admitted workers, without joining ones.
  std::uint32_t servers = 0;
  std::uint32_t slots = 0;
  std::uint32_t since = 0;     ///< `members` are those changed after this epoch; 0: all.
  std::uint64_t question = 0;  ///< The last answered question (control::AtStep),
  std::uint64_t step = 0;      ///< and the answer: joining workers are admitted before this step.
  std::vector<Member> members = {};
  JobSettings settings = {};

  const Member* find(NodeId node) const;
  /// The member that was added last; 0: none.
  NodeId newest() const;
  /// Failed servers may be restarted: each has one shard.
  bool servers_return() const;
};

}  // namespace stretto
