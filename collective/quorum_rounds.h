// SPDX-License-Identifier: Apache-2.0
// QuorumRounds: the rounds of one part at the place that all contributions to it come to, where a
// round may close before all have. It is told what comes and when, and says what counts in which
// round, and when the open one may close. Bytes and links are its owner's.
//
// Nobody's constant is in it: a contribution is late when it comes after the quorum's usual time by
// more than the quorum's own scatter allows.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/index_set.h"
#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto::collective {

/// Rounds that a place's contributions may be behind those that have closed. More are waited for.
inline constexpr std::uint64_t kMostBehind = 3;

/// When a quorum has usually come, after a round's first contribution, and how that scatters.
/// Thread: loop.
class UsualArrivals {
 public:
  /// One of a quorum has come so much after the first.
  void add(Duration after_first);
  /// From when on, after a round's first contribution, others are late; Duration::max() while too
  /// little is known.
  Duration limit() const { return limit_; }

 private:
  std::deque<Duration> recent_;
  Duration limit_ = Duration::max();
};

/// Thread: loop.
class QuorumRounds {
 public:
  using Place = std::uint32_t;

  /// What a contribution is used for: it is added to the open round's sum, or not at all.
  enum class Use : std::uint8_t { kAdd, kDrop };

  /// `close` has a quorum of at most so many places, or backups that divide them.
  QuorumRounds(std::uint32_t places, const CloseOptions& close);

  /// A place's contribution to the open round, or to one that has closed. kMalformed, without
  /// effect, if that has come before, or is of a round that has not begun.
  Result<Use> come(Place place, std::uint64_t round, Time now);

  /// When the open round may close, by what has come; Time::max(): others must come first.
  Time closes_at() const;
  /// It closes, and the next one opens.
  void close();

  /// From 1.
  std::uint64_t open() const { return open_; }
  /// Whose contributions count in the open round, those that are late from others left out.
  const IndexSet& in() const { return in_; }
  /// Who has not contributed to the open round, or lacks one before it.
  std::vector<Place> awaited() const;

 private:
  struct Known {
    std::uint64_t upto = 0;    // All rounds to here have come from it,
    std::uint64_t ahead = 0;   // and those with a bit here, from upto + 1 on.
    std::uint64_t missed = 0;  // Rounds that have closed without it, one after the other.
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
  Time first_ = {};  // When the first of them came.
  UsualArrivals usual_;
};

}  // namespace stretto::collective
