// SPDX-License-Identifier: Apache-2.0
// From credits to windows.
#include "van/path.h"

#include <algorithm>
#include <cmath>

namespace stretto {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kSliceTime = 150e-6;      // Of wire time, a slice takes so many seconds,
constexpr double kLeastSliceTime = 50e-6;  // and on fast paths no less than this,
constexpr double kMostOfSlow = 64 << 10;   // where one of kSliceTime would be larger.
constexpr double kLeastSlice = 16 << 10;   // Below, headers and wake-ups are felt.
constexpr double kFirstSlice = 32 << 10;   // While nothing is known.
constexpr double kLateCredit = 60e-6;      // Of credits, beyond the round trip.
constexpr double kGain = 1.25;             // So that a rate that has grown is noticed.
constexpr std::uint64_t kPage = 4096;
// A slice of a probe with what may go with it, and its header.
constexpr std::uint64_t kMostOfProbe = Path::kProbeBytes / 4 * 5 + 128;
constexpr Duration kProbeEvery = 2s;
constexpr Duration kRoundTripLasts = 10s;
// Over which a rate is seen: many slices, and more than the bursts that a shaper lets through; the
// first one is shorter.
constexpr Duration kInterval = 10ms;
constexpr Duration kFirstInterval = 2ms;

}  // namespace

void Greatest::add(double value, Time now) {
  if (now - since_ >= span_) {
    before_ = now - since_ >= 2 * span_ ? value : now_;
    now_ = value;
    since_ = now;
  }
  now_ = std::max(now_, value);
}

void Path::on_sent(std::uint64_t sent_bytes, std::uint64_t slice_bytes, bool more, Time now) {
  const bool alone = under_way_.empty();
  if (alone) interval_since_ += now - idle_since_;  // Idle time says nothing of the rate.
  interval_busy_ = interval_busy_ && more;
  const bool probe = alone && slice_bytes <= kMostOfProbe;
  if (probe) probed_at_ = now;
  under_way_.push_back({sent_bytes, now, probe});
  sent_bytes_ = sent_bytes;
}

void Path::begin_interval(Time now) {
  interval_since_ = now;
  interval_bytes_ = taken_bytes_;
  interval_busy_ = true;
}

void Path::on_credit(std::uint64_t taken_bytes, Time now) {
  if (taken_bytes <= taken_bytes_) return;
  while (!under_way_.empty() && under_way_.front().end_bytes <= taken_bytes) {
    const Slice& slice = under_way_.front();
    if (slice.probe) note_round_trip(now - slice.sent_at, now);
    under_way_.pop_front();
  }
  taken_bytes_ = taken_bytes;
  if (under_way_.empty()) idle_since_ = now;
  const Duration elapsed = now - interval_since_;
  const Duration interval = rate_.get() == 0 ? kFirstInterval : kInterval;
  if (elapsed < std::max(interval, round_trip_)) return;
  const double seen =
      static_cast<double>(taken_bytes_ - interval_bytes_) / Seconds(elapsed).count();
  // A path that was not kept busy may be faster than it showed.
  if (interval_busy_ || seen > rate_.get()) rate_.add(seen, now);
  begin_interval(now);
}

void Path::note_round_trip(Duration seen, Time now) {
  if (next_round_trip_ == Duration::zero() || seen < next_round_trip_) next_round_trip_ = seen;
  if (round_trip_ == Duration::zero() || seen < round_trip_) round_trip_ = seen;
  if (now - next_since_ < kRoundTripLasts) return;
  round_trip_ = next_round_trip_;
  next_round_trip_ = seen;
  next_since_ = now;
}

bool Path::wants_probe(Time now) const {
  return round_trip_ == Duration::zero() || now - probed_at_ >= kProbeEvery;
}

std::uint64_t Path::quantum_bytes() const {
  const double rate = rate_.get();
  if (rate == 0) return static_cast<std::uint64_t>(kFirstSlice);
  const double slow = std::min(rate * kSliceTime, kMostOfSlow);
  const double bytes = std::max({kLeastSlice, slow, rate * kLeastSliceTime});
  return static_cast<std::uint64_t>(bytes + kPage - 1) / kPage * kPage;
}

std::uint64_t Path::window_bytes() const {
  const double quantum = static_cast<double>(quantum_bytes());
  const double product = rate_.get() * Seconds(round_trip_).count();
  // Credits come late where programs take turns on few cores: a slice more costs a fast path
  // little.
  const double late = rate_.get() * kLateCredit;
  return static_cast<std::uint64_t>(std::max(2 * quantum, kGain * product + quantum) +
                                    std::min(late, 2 * quantum));
}

std::uint64_t Path::departed_bytes(Time now) {
  if (rate_.get() == 0) return taken_bytes_;
  // Twice the time that all that may be under way needs.
  const Seconds drain(2 * static_cast<double>(window_bytes()) / rate_.get());
  for (const Slice& slice : under_way_) {
    if (now - slice.sent_at < drain) break;
    departed_bytes_ = std::max(departed_bytes_, slice.end_bytes);
  }
  return std::max(departed_bytes_, taken_bytes_);
}

bool Path::wants_credit(std::uint64_t sent_bytes) {
  const std::uint64_t window = window_bytes();
  const std::uint64_t step = window >= 8 * quantum_bytes() ? window / 4 : 0;
  if (sent_bytes - asked_bytes_ < step) return false;
  asked_bytes_ = sent_bytes;
  return true;
}

}  // namespace stretto
