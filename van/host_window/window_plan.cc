// SPDX-License-Identifier: Apache-2.0
// Times of a path, converted to bytes.
#include "van/host_window/window_plan.h"

#include <algorithm>

#include "common/clock.h"

namespace stretto {
namespace {

// Seconds of the path's rate.
constexpr double kLatencySlice = 150e-6;
constexpr double kLeastLatencySlice = 50e-6;  // On fast paths at least this,
constexpr double kMostOfSlow = 64 << 10;      // where a slice of kLatencySlice exceeds this size.
constexpr double kLateCredit = 60e-6;         // Beyond the round trip.
constexpr double kThroughputSlice = 0.5e-3;
constexpr double kThroughputWindow = 3e-3;
constexpr double kMostWait = 1e-3;  // Scheduling delay that a window compensates at most.
// Bytes.
constexpr double kLeastSlice = 16 << 10;  // Smaller slices cost too many headers and wake-ups.
constexpr double kLeastThroughputSlice = 64 << 10;
constexpr double kFirstSlice = 32 << 10;        // While the rate is unknown.
constexpr double kLeastGrantedSlice = 8 << 10;  // With many senders to one receiver.
constexpr std::uint64_t kPage = 4096;

// Shows an increased rate, and a growing queue of credits.
constexpr double kGain = 1.25;
constexpr std::uint64_t kLatencyPartOfGrant = 5;  // Latency windows have this ratio to others.

std::uint64_t whole(double bytes) { return static_cast<std::uint64_t>(bytes); }

std::uint64_t whole_pages(double bytes) { return whole(bytes + kPage - 1) / kPage * kPage; }

std::uint64_t latency_slice(double rate) {
  if (rate == 0) return whole(kFirstSlice);
  const double slow = std::min(rate * kLatencySlice, kMostOfSlow);
  return whole_pages(std::max({kLeastSlice, slow, rate * kLeastLatencySlice}));
}

}  // namespace

PathEstimate estimate(double rate, Duration round_trip, Duration queued, Duration waits) {
  return {.rate = rate,
          .product_bytes = whole(kGain * rate * seconds(round_trip)),
          .wait_bytes = whole(rate * std::min(seconds(waits), kMostWait)),
          .queue_bytes = whole(kGain * rate * seconds(queued))};
}

// Credits are late where programs share few cores: one more slice costs a fast path little.
WindowLimits latency_bounds(const PathEstimate& path) {
  const std::uint64_t slice = latency_slice(path.rate);
  const double late = std::min(path.rate * kLateCredit, 2 * static_cast<double>(slice));
  const std::uint64_t in_time = std::max(2 * slice, path.product_bytes + slice);
  return {.window_bytes = in_time + path.wait_bytes + whole(late), .quantum_bytes = slice};
}

WindowLimits throughput_bounds(const PathEstimate& path, std::uint64_t granted) {
  if (path.rate == 0) return latency_bounds(path);
  const std::uint64_t slice =
      std::max(latency_slice(path.rate),
               whole_pages(std::max(kLeastThroughputSlice, path.rate * kThroughputSlice)));
  const double late = path.rate * (kThroughputWindow + kLateCredit);
  const std::uint64_t wanted =
      std::max(whole(late) + path.product_bytes + path.wait_bytes + path.queue_bytes, 2 * slice);
  if (granted == 0 || granted >= wanted) return {.window_bytes = wanted, .quantum_bytes = slice};
  const std::uint64_t half = whole_pages(std::max(kLeastSlice, static_cast<double>(granted) / 2));
  return {.window_bytes = granted, .quantum_bytes = std::min(slice, half)};
}

std::uint64_t granted_window(double rate, std::size_t senders) {
  return throughput_bounds({.rate = rate}, 0).window_bytes / senders;
}

WindowLimits limit_latency(WindowLimits bounds, std::uint64_t granted, const PathEstimate& path) {
  const std::uint64_t most = granted / kLatencyPartOfGrant + path.product_bytes + path.wait_bytes;
  const double part = static_cast<double>(granted) / kLatencyPartOfGrant;
  const std::uint64_t slice = whole_pages(std::clamp(part, kLeastGrantedSlice, kLeastSlice));
  return {.window_bytes = std::min(bounds.window_bytes, most),
          .quantum_bytes = std::min(bounds.quantum_bytes, slice)};
}

}  // namespace stretto
