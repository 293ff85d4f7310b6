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
constexpr double kBulkSliceTime = 1e-3;    // As kSliceTime, of bulk,
constexpr double kBulkLate = 2e-3;         // and for how long late credits do not stop it.
constexpr double kMostWait = 1e-3;         // Of loops for processors, that a window makes up for.
constexpr double kGain = 1.25;             // So that a rate that has grown is noticed.
constexpr std::uint64_t kPage = 4096;
constexpr Duration kProbeEvery = 2s;
constexpr Duration kMostDrain = 100ms;  // What takes longer than that is not in this host.
constexpr Duration kRoundTripLasts = 10s;
// Over which a rate is seen: many slices, and more than the bursts that a shaper lets through; the
// first one is shorter.
constexpr Duration kInterval = 10ms;
constexpr Duration kFirstInterval = 2ms;

std::uint64_t whole_pages(double bytes) {
  return static_cast<std::uint64_t>(bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

void Path::on_sent(std::uint64_t sent_bytes, std::uint64_t slice_bytes, bool alone, bool more,
                   Time now) {
  if (in_flight_.empty()) interval_since_ += now - idle_since_;  // Idle time says nothing of rates.
  interval_busy_ = interval_busy_ && more;
  const bool probe = alone && slice_bytes <= kMostOfProbe;
  if (probe || wants_probe(now)) probed_at_ = now;
  in_flight_.push_back({sent_bytes, now, probe});
  sent_bytes_ = sent_bytes;
}

void Path::begin_interval(Time now) {
  interval_since_ = now;
  interval_bytes_ = taken_bytes_;
  interval_busy_ = true;
}

void Path::on_credit(std::uint64_t taken_bytes, Time now) {
  if (taken_bytes <= taken_bytes_) return;
  while (!in_flight_.empty() && in_flight_.front().end_bytes <= taken_bytes) {
    const Slice& slice = in_flight_.front();
    if (slice.probe) note_round_trip(now - slice.sent_at, now);
    in_flight_.pop_front();
  }
  taken_bytes_ = taken_bytes;
  if (in_flight_.empty()) idle_since_ = now;
  const Duration elapsed = now - interval_since_;
  const Duration interval = rate_.get() == 0 ? kFirstInterval : kInterval;
  if (elapsed < std::max(interval, round_trip())) return;
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

Duration Path::round_trip() const {
  if (far_round_trip_ == Duration::zero()) return round_trip_;
  if (round_trip_ == Duration::zero()) return far_round_trip_;
  return std::min(round_trip_, far_round_trip_);
}

bool Path::wants_probe(Time now) const { return !probed_at_ || now - *probed_at_ >= kProbeEvery; }

std::uint64_t Path::quantum_bytes() const { return quantum_bytes(rate_.get()); }

std::uint64_t Path::quantum_bytes(double rate) {
  if (rate == 0) return static_cast<std::uint64_t>(kFirstSlice);
  const double slow = std::min(rate * kSliceTime, kMostOfSlow);
  const double bytes = std::max({kLeastSlice, slow, rate * kLeastSliceTime});
  return whole_pages(bytes);
}

std::uint64_t Path::bulk_quantum_bytes() const { return bulk_quantum_bytes(rate_.get()); }

std::uint64_t Path::bulk_quantum_bytes(double rate) {
  return std::max(quantum_bytes(rate), whole_pages(rate * kBulkSliceTime));
}

std::uint64_t Path::window_bytes() const {
  return window_bytes(quantum_bytes(), product_bytes(), late_bytes());
}

std::uint64_t Path::window_bytes(std::uint64_t quantum, std::uint64_t product, std::uint64_t late) {
  return std::max(2 * quantum, product + quantum) + late;
}

std::uint64_t Path::product_bytes() const {
  return static_cast<std::uint64_t>(kGain * rate_.get() * Seconds(round_trip()).count());
}

std::uint64_t Path::bulk_window_bytes() const {
  return window_bytes(bulk_quantum_bytes(), product_bytes(), bulk_late_bytes());
}

std::uint64_t Path::bulk_late_bytes() const {
  return late_bytes() + static_cast<std::uint64_t>(rate_.get() * kBulkLate);
}

// Credits come late where programs take turns on few cores: a slice more costs a fast path little.
// Where they wait for processors they come later still.
std::uint64_t Path::late_bytes() const {
  const double rate = rate_.get();
  const double turns = std::min(rate * kLateCredit, 2 * static_cast<double>(quantum_bytes()));
  return static_cast<std::uint64_t>(turns + rate * std::min(Seconds(waits_).count(), kMostWait));
}

std::uint64_t Path::departed_bytes(Time now) {
  // Twice the time that all that is in flight needs, or may be.
  const double rate = rate_.get();
  const std::uint64_t most = std::max(window_bytes(), sent_bytes_ - taken_bytes_);
  Seconds drain(kMostDrain);
  if (rate > 0) drain = std::min(drain, Seconds(2 * static_cast<double>(most) / rate));
  for (const Slice& slice : in_flight_) {
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
