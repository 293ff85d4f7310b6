// SPDX-License-Identifier: Apache-2.0
// Estimates rate and round trip from credits.
#include "van/path/path_estimator.h"

#include <algorithm>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kAskEvery = 20ms;
constexpr Duration kPeriod = 30s;
constexpr Duration kLonger = 20ms;        // Than any queue from a window.
constexpr Duration kMostOfSlice = 200us;  // A slice's own part of a sample.
constexpr Duration kMostDrain = 100ms;    // A longer drain is not in this host.

}  // namespace

void PathEstimator::on_sent(std::uint64_t sent_bytes, std::uint64_t slice_bytes, bool more,
                            Time now) {
  rate_.on_sent(in_flight_.empty(), more, now);
  in_flight_.push_back({sent_bytes, slice_bytes, now});
  sent_bytes_ = sent_bytes;
}

void PathEstimator::on_credit(std::uint64_t taken_bytes, Time now) {
  if (taken_bytes <= taken_bytes_) return;
  taken_bytes_ = taken_bytes;
  while (!in_flight_.empty() && in_flight_.front().end_bytes <= taken_bytes) {
    const Slice slice = in_flight_.front();
    in_flight_.pop_front();
    if (slice.end_bytes == taken_bytes) note_round_trip(slice, now);
  }
  rate_.on_taken(taken_bytes, in_flight_.empty(), round_trip(), now);
}

bool PathEstimator::wants_packets(Time now) const {
  return !asked_at_ || now - *asked_at_ >= kAskEvery;
}

void PathEstimator::note_packets(const std::optional<Transport::RoundTrips>& packets, Time now) {
  asked_at_ = now;
  packets_ = packets.value_or(Transport::RoundTrips());
}

void PathEstimator::note_round_trip(const Slice& slice, Time now) {
  Duration own{};
  if (rate() > 0 && packets_.least > Duration::zero()) {
    const std::chrono::duration<double> time(static_cast<double>(slice.bytes) / rate());
    own = std::min(kMostOfSlice, std::chrono::duration_cast<Duration>(time));
  }
  const Duration excess = now - slice.sent_at - own - packets_.smoothed;
  const Duration seen = packets_.least + std::max(excess, Duration::zero());
  round_trip_ = std::min(round_trip_.value_or(seen), seen);
  recent_ = std::min(recent_.value_or(seen), seen);
  if (now - since_ < kPeriod) return;
  if (*recent_ > *round_trip_ + kLonger) round_trip_ = recent_;
  recent_.reset();
  since_ = now;
}

Duration PathEstimator::round_trip() const { return round_trip_.value_or(Duration::zero()); }

std::uint64_t PathEstimator::departed_bytes(std::uint64_t window_bytes, Time now) {
  // Twice the time that all bytes in flight, or the window, need.
  const std::uint64_t most = std::max(window_bytes, sent_bytes_ - taken_bytes_);
  Duration drain = kMostDrain;
  if (rate() > 0) {
    const std::chrono::duration<double> needed(2 * static_cast<double>(most) / rate());
    if (needed < kMostDrain) drain = std::chrono::duration_cast<Duration>(needed);
  }
  departs_at_ = Time::max();
  for (const Slice& slice : in_flight_) {
    departs_at_ = slice.sent_at + drain;
    if (departs_at_ > now) break;
    departed_bytes_ = std::max(departed_bytes_, slice.end_bytes);
    departs_at_ = Time::max();
  }
  return std::max(departed_bytes_, taken_bytes_);
}

}  // namespace stretto
