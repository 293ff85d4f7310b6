// SPDX-License-Identifier: Apache-2.0
// ServerRestarts: servers that are lost and whose place somebody else may take, since all that they
// held can be made again. Pure.
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

  /// There is a tensor of which servers keep more than the sum of its last round.
  void note_kept(const std::string& tensor) {
    if (kept_.empty()) kept_ = tensor;
  }
  /// Why the job cannot go on without a server, as an addition to why it ends; none: it can.
  std::optional<std::string> refusal() const;
  /// It is lost, and another is awaited so long.
  void await(const Member& lost, const std::string& cause, Time until);
  bool awaits(NodeId lost) const { return away_.contains(lost); }
  /// Whose place this one takes; null: nobody's.
  const Member* place_for(const Join& join) const;
  /// Somebody is there in its place.
  void taken(NodeId lost) { away_.erase(lost); }
  /// For whom nobody has come in time, and why it was lost.
  std::optional<std::pair<Member, std::string>> overdue(Time now) const;
  Time next_due() const;

 private:
  /// The launcher of the job starts this one where one of others is lost.
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
  std::uint32_t left_;  // How many more may be replaced.
  std::string kept_;    // The first such tensor.
  std::map<NodeId, Missing> away_;
};

}  // namespace stretto
