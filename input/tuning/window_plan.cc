// SPDX-License-Identifier: Apache-2.0
// Computes window lengths from rate and latency, within limits.
#include "input/tuning/window_plan.h"

#include <algorithm>

#include "common/clock.h"

namespace stretto::input {
namespace {

constexpr double kRequestsInWindow = 32;  // So that one request more or less does not matter.
constexpr double kLatenciesInWindow = 8;
constexpr double kLeastLatenciesInWindow = 3;
constexpr double kMostOccupancy = 1.15;
constexpr std::uint32_t kMostRemeasured = 3;
constexpr double kLongest = 3600;  // In seconds; safe to convert.

Duration length_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void WindowPlan::begin_ramp(std::uint64_t bytes, double rate) {
  ramp_ = true;
  remeasured_ = 0;
  const double wanted = rate > 0 ? 1.5 * static_cast<double>(bytes) / rate : 0;
  length_ =
      std::clamp(length_of(std::min(wanted, kLongest)), limits_.window / 5, limits_.longest_window);
}

void WindowPlan::begin_window(const Knobs& knobs, double rate) {
  ramp_ = false;
  length_ = limits_.window;
  if (rate <= 0) return;
  // Duration of the requests in flight, by Little's law.
  const double request_s = knobs.read_bytes / rate;
  const double wanted = request_s * std::max(kRequestsInWindow, kLatenciesInWindow * knobs.depth);
  length_ =
      std::clamp(length_of(std::min(wanted, kLongest)), limits_.window, limits_.longest_window);
}

bool WindowPlan::is_telling(const Window& window, const Knobs& knobs) {
  const double latency = seconds(window.mean_latency);
  const double in_flight = static_cast<double>(window.delivered_bytes) /
                           std::max(seconds(window.length), 1e-9) * latency;
  const bool too_short =
      window.requests == 0 || seconds(window.length) < kLeastLatenciesInWindow * latency;
  const bool mixed = in_flight > kMostOccupancy * static_cast<double>(bytes_in_flight(knobs));
  if ((!too_short && !mixed) || remeasured_ == kMostRemeasured) {
    remeasured_ = 0;
    return true;
  }
  ++remeasured_;
  if (too_short) {
    const Duration longer = std::max(2 * length_, length_of(kLatenciesInWindow * latency));
    length_ = std::min(longer, limits_.longest_window);
  }
  return false;
}

}  // namespace stretto::input
