// SPDX-License-Identifier: Apache-2.0
// Roster: who is in a job, with ranks and addresses, and the settings that all have from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "stretto/types.h"

namespace stretto {

/// Slots of a job that has servers.
inline constexpr std::uint32_t kSlots = 4096;
/// Workers of a job in which they may call one another; of larger ones rosters tell no addresses.
inline constexpr std::uint32_t kMostCalledWorkers = 1024;

/// Who is in the job. Grows an epoch with each change.
struct Member {
  NodeId node = 0;
  Role role = Role::kWorker;
  Rank rank = 0;
  std::uint32_t shard = 0;
  std::string address;  ///< Empty: it cannot be called.
  bool left = false;
  bool lost = false;  ///< It left, and not in order.
  Rank moved_up = 0;  ///< By how much its rank is less than its number.
  /// It has come to a job that runs and is not in yet: it makes no rounds, and its rank is above
  /// those of all who are in.
  bool joining = false;
  std::uint64_t from_step = 0;  ///< It is in from this step on; 0: from the begin.
  std::uint64_t machine = 0;    ///< Where it runs (common/network/machine.h); 0: not known.
  bool standby = false;  ///< A server that serves nobody, and has what the one of its rank has.

  /// What messages name it by as long as it lives. No two workers of a job have one, and their
  /// order is that of ranks. Ranks of an elastic job close up; at first both are the same. Of
  /// servers the ranks are places: that of two with one rank one stands by, or has.
  Rank number() const { return rank + moved_up; }
  /// By its number: "worker 3", "server 0", "server 0 shard 2".
  std::string describe() const;
};

struct Roster {
  std::uint32_t epoch = 0;
  std::uint32_t fence = 0;
  std::uint32_t workers = 0;  ///< That are in: without those who are joining.
  std::uint32_t servers = 0;
  std::uint32_t slots = 0;
  std::uint32_t since = 0;     ///< The members are those that changed after this epoch; 0: all.
  std::uint64_t question = 0;  ///< The last one that has its answer (control::AtStep),
  std::uint64_t step = 0;      ///< and that: newcomers come in before this step.
  std::vector<Member> members = {};
  JobSettings settings = {};

  const Member* find(NodeId node) const;
  /// The one that came last; 0 of none.
  NodeId newest() const;
  /// Servers that are lost may come back: each has one shard.
  bool servers_return() const;
};

}  // namespace stretto
