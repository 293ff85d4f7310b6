// SPDX-License-Identifier: Apache-2.0
// ExternalServerIds: the numbers of servers that somebody starts elsewhere: who has been told
// which, and which are given up, so that their processes must not come any more. Pure.
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

  /// By which one can be started for this place; none: both are in, or given up, and nobody has
  /// said that their processes have ended.
  std::optional<Rank> free(Rank place, const View& view, Time now) const;
  /// Who has started it, or is to, is `asker`.
  void tell(Rank number, std::uint32_t asker);
  /// Who says that its process has ended has been told this number.
  bool is_told(Rank number, std::uint32_t asker) const;
  /// It is not to have its place any more. Its process has been heard of by then to have ended, or
  /// is about to be killed: that is remembered for a minute at most.
  void give_up(Rank number, Time now);
  bool is_given_up(Rank number, Time now) const;
  /// Its process has ended.
  void end(Rank number);
  /// This one asks no more.
  void forget(std::uint32_t asker);

 private:
  const Config& config_;
  std::map<Rank, std::vector<std::uint32_t>> told_;  // Who, by number.
  std::map<Rank, Time> given_up_;                    // Until then.
};

}  // namespace stretto
