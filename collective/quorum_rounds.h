// SPDX-License-Identifier: Apache-2.0
// QuorumRounds: the rounds of one part at the place that collects all its contributions, where a
// round may close before all have arrived. Input: arrivals with times. Output: the round in which
// each counts, and when the open one may close. The caller owns bytes and links.
//
// No fixed deadline is configured: a contribution is late after the quorum's usual time plus a
// margin from the quorum's own scatter.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/index_set.h"
#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto::collective {

/// Rounds that a place may lag behind the last closed one. Beyond that, rounds wait for it.
inline constexpr std::uint64_t kMostBehind = 3;

/// The usual arrival of a quorum after a round's first contribution, and its scatter. Thread: loop.
class UsualArrivals {
 public:
  /// A member of a quorum has contributed this long after the first.
  void add(Duration after_first);
  /// The time after a round's first contribution from which others are late; Duration::max() while
  /// there are too few samples.
  Duration limit() const { return limit_; }

 private:
  std::deque<Duration> recent_;
  Duration limit_ = Duration::max();
};

/// Thread: loop.
class QuorumRounds {
 public:
  using Place = std::uint32_t;

  /// The use of a contribution: added to the open round's sum, or dropped.
  enum class Use : std::uint8_t { kAdd, kDrop };

  /// `close` has a quorum of at most `places`, or backups that divide that.
  QuorumRounds(std::uint32_t places, const CloseOptions& close);

  /// A place's contribution to the open round, or to a closed one. kMalformed, without effect, for
  /// a duplicate or a round that has not begun.
  Result<Use> come(Place place, std::uint64_t round, Time now);

  /// When the open round may close, by current arrivals; Time::max(): it needs more of them.
  Time closes_at() const;
  /// Closes the open round, and opens the next one.
  void close();

  /// From 1.
  std::uint64_t open() const { return open_; }
  /// The contributors of the open round's own contributions, without late ones of earlier rounds.
  const IndexSet& in() const { return in_; }
  /// Places without a contribution to the open round, or too far behind.
  std::vector<Place> awaited() const;

 private:
  struct Known {
    std::uint64_t upto = 0;    // All rounds up to this have come from it,
    std::uint64_t ahead = 0;   // and those with a bit here, from upto + 1 on.
    std::uint64_t missed = 0;  // Consecutive rounds that closed without it.
    bool has(std::uint64_t round) const {
      return round <= upto || (ahead >> (round - upto - 1) & 1) != 0;
    }
    void note(std::uint64_t round);
  };

  bool enough() const;
  bool may_do_without(const Known& known) const;
  bool same_share_came(Place place) const;

  const std::uint32_t places_;
  const CloseOptions close_;
  std::uint64_t open_ = 1;
  IndexSet in_;
  IndexSet came_;  // To the open round, counted or not.
  std::vector<Known> known_;
  Time first_ = {};  // Time of the open round's first contribution.
  UsualArrivals usual_;
};

}  // namespace stretto::collective
