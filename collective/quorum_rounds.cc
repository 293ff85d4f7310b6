// SPDX-License-Identifier: Apache-2.0
// A contribution is late after the median of the quorum's arrivals plus four times their median
// deviation. Related: eager-SGD's solo and majority all-reduce (arXiv 1908.04207).
#include "collective/quorum_rounds.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"

namespace stretto::collective {
namespace {

constexpr std::size_t kRecent = 64;
constexpr std::size_t kFew = 8;
constexpr int kDeviations = 4;
constexpr Duration kLeastLimit = std::chrono::microseconds(500);  // Time to wake a thread.

Duration median(std::vector<Duration> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

void UsualArrivals::add(Duration after_first) {
  recent_.push_back(after_first);
  if (recent_.size() > kRecent) recent_.pop_front();
  if (recent_.size() < kFew) return;
  const Duration usual = median({recent_.begin(), recent_.end()});
  std::vector<Duration> deviations;
  deviations.reserve(recent_.size());
  for (const Duration each : recent_) deviations.push_back(std::chrono::abs(each - usual));
  limit_ = std::max(kLeastLimit, usual + kDeviations * median(std::move(deviations)));
}

void QuorumRounds::Known::note(std::uint64_t round) {
  ahead |= std::uint64_t{1} << (round - upto - 1);
  for (; (ahead & 1) != 0; ahead >>= 1) ++upto;
}

QuorumRounds::QuorumRounds(std::uint32_t places, const CloseOptions& close)
    : places_(places), close_(close), in_(places), came_(places), known_(places) {
  STRETTO_CHECK(!close.waits_for_all() && close.quorum <= places);
  STRETTO_CHECK(close.backups == 0 || places % (close.backups + 1) == 0);
}

// With backups: one of the places with the same data has contributed.
bool QuorumRounds::same_share_came(Place place) const {
  const std::uint32_t shares = places_ / (close_.backups + 1);
  for (Place other = place % shares; other < places_; other += shares) {
    if (in_.contains(other)) return true;
  }
  return false;
}

Result<QuorumRounds::Use> QuorumRounds::come(Place place, std::uint64_t round, Time now) {
  STRETTO_CHECK(place < places_);
  Known& known = known_[place];
  if (round == 0 || round > open_ || known.has(round)) {
    return Status(Code::kMalformed,
                  fmt::format("a contribution of place {} to round {} came, which {}", place, round,
                              round != 0 && round <= open_ ? "came before" : "has not begun"));
  }
  known.note(round);
  const bool next = close_.backups == 0 && close_.late == Late::kNext;
  if (round < open_) return next ? Use::kAdd : Use::kDrop;
  came_.insert(place);
  if (close_.backups > 0 && same_share_came(place)) return Use::kDrop;
  in_.insert(place);
  if (in_.size() == 1) first_ = now;
  const bool of_quorum = in_.size() <= std::max(close_.quorum, 2U);
  if (in_.size() > 1 && of_quorum) usual_.add(now - first_);
  return Use::kAdd;
}

bool QuorumRounds::may_do_without(const Known& known) const {
  const bool kept_back = close_.backups == 0 && close_.late == Late::kOwn;
  return !kept_back || known.missed < kMostBehind;
}

bool QuorumRounds::enough() const {
  if (close_.backups > 0) return in_.size() == places_ / (close_.backups + 1);
  return in_.size() >= close_.quorum;
}

Time QuorumRounds::closes_at() const {
  // From all: a place's later message may overtake its earlier one.
  const bool any_far_behind = std::ranges::any_of(
      known_, [this](const Known& known) { return known.upto + kMostBehind < open_; });
  if (any_far_behind) return Time::max();
  if (came_.full()) return Time::min();
  if (!enough()) return Time::max();
  bool all_behind = true;  // Late in the round before, and so here.
  for (Place place = 0; place < places_; ++place) {
    const Known& known = known_[place];
    if (came_.contains(place)) continue;
    if (!may_do_without(known)) return Time::max();
    all_behind = all_behind && known.upto + 1 < open_;
  }
  if (close_.backups > 0 || all_behind) return Time::min();
  const Duration limit = usual_.limit();
  return limit == Duration::max() ? Time::max() : first_ + limit;
}

void QuorumRounds::close() {
  for (Place place = 0; place < places_; ++place) {
    Known& known = known_[place];
    known.missed = came_.contains(place) ? 0 : known.missed + 1;
  }
  ++open_;
  in_.clear();
  came_.clear();
}

std::vector<QuorumRounds::Place> QuorumRounds::awaited() const {
  std::vector<Place> places;
  for (Place place = 0; place < places_; ++place) {
    const bool far_behind = known_[place].upto + kMostBehind < open_;
    if (far_behind || !came_.contains(place)) places.push_back(place);
  }
  return places;
}

}  // namespace stretto::collective
