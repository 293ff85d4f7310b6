// SPDX-License-Identifier: Apache-2.0
// ServerRestarts: failed servers that can be replaced because all of their state can be recovered.
// Pure.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/config/config.h"
#include "scheduler/membership/view_events.h"

namespace stretto {

/// Thread: loop.
class ServerRestarts {
 public:
  explicit ServerRestarts(const Config& config)
      : config_(config),
        wanted_(config.job.servers_return()),
        one_shard_(config.shards == 1),
        left_(config.job.server_restarts -
              std::min(config.scheduler_return.life - 1, config.job.server_restarts)) {}

  /// Servers keep more of this tensor than the sum of its last round.
  void note_kept(const std::string& tensor) {
    if (kept_.empty()) kept_ = tensor;
  }
  /// Why no server can be replaced, to append to the reason of the job's end; none: servers can.
  std::optional<std::string> refusal() const;
  /// The server has failed; a replacement may join until `until`.
  void await(const Member& lost, const std::string& cause, Time until);
  bool awaits(NodeId lost) const { return away_.contains(lost); }
  /// The failed server that this one replaces; null: none.
  const Member* place_for(const Join& join) const;
  /// A replacement has joined.
  void taken(NodeId lost) { away_.erase(lost); }
  /// A failed server whose replacement is overdue, and why it failed.
  std::optional<std::pair<Member, std::string>> overdue(Time now) const;
  Time next_due() const;

 private:
  /// The job's launcher starts this number as the replacement of an external server.
  bool stands_in(std::int64_t number, const Member& away) const {
    return config_.is_guest_server(away.number()) && number >= 0 &&
           !config_.is_guest_server(static_cast<Rank>(number)) &&
           number % config_.servers == std::int64_t{away.rank};
  }

  struct Missing {
    Member member;
    std::string cause;
    Time until;
  };

  const Config& config_;
  const bool wanted_;
  const bool one_shard_;
  std::uint32_t left_;  // Remaining replacements.
  std::string kept_;    // The first tensor passed to note_kept().
  std::map<NodeId, Missing> away_;
};

}  // namespace stretto
