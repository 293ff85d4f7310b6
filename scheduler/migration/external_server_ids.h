// SPDX-License-Identifier: Apache-2.0
// ExternalServerIds: the numbers of external servers: which requester has each number, and which
// numbers are given up, so that their processes are rejected. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "core/view.h"

namespace stretto {

/// Thread: loop.
class ExternalServerIds {
 public:
  explicit ExternalServerIds(const Config& config) : config_(config) {}

  /// A number for a new server of this rank; none: both are members, or given up with no report
  /// that their processes have exited.
  std::optional<Rank> free(Rank place, const View& view, Time now) const;
  /// The requester `asker` has started this server, or will.
  void tell(Rank number, std::uint32_t asker);
  /// This requester has been told the number, so it may report the exit of its process.
  bool is_told(Rank number, std::uint32_t asker) const;
  /// Rejects this server from now on, for at most a minute. By then its process has reportedly
  /// exited, or is about to be killed.
  void give_up(Rank number, Time now);
  bool is_given_up(Rank number, Time now) const;
  /// Its process has ended.
  void end(Rank number);
  /// This requester has gone.
  void forget(std::uint32_t asker);

 private:
  const Config& config_;
  std::map<Rank, std::vector<std::uint32_t>> told_;  // Requesters by number.
  std::map<Rank, Time> given_up_;                    // Until when.
};

}  // namespace stretto
