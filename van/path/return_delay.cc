// SPDX-License-Identifier: Apache-2.0
// Differences of two clocks, and their minimum.
#include "van/path/return_delay.h"

#include <algorithm>
#include <cstdlib>

namespace stretto {
namespace {

constexpr Duration kLeastInterval = 30s;
constexpr std::int64_t kMostQueueUs = 10'000;  // No window causes a longer queue.
constexpr int kWeight = 8;                     // Of the old estimate, against one new credit.

}  // namespace

std::uint32_t sent_us(Time now) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  return std::max(static_cast<std::uint32_t>(us.count()), 1U);
}

void ReturnDelay::note(std::uint32_t sent, Time now) {
  const std::uint32_t delay = sent_us(now) - sent;
  if (!first_) {
    first_ = delay;
    since_ = now;
  }
  // Modulo 2^32, like TCP sequence numbers.
  const std::int64_t relative = static_cast<std::int32_t>(delay - *first_);
  if (now - since_ >= kLeastInterval) {
    least_before_us_ = now - since_ >= 2 * kLeastInterval ? relative : least_us_;
    least_us_ = relative;
    since_ = now;
  }
  least_us_ = std::min(least_us_, relative);
  const std::int64_t least = std::min(least_us_, least_before_us_);
  const auto queued = std::chrono::microseconds(std::min(relative - least, kMostQueueUs));
  queued_ += (std::chrono::duration_cast<Duration>(queued) - queued_) / kWeight;
}

}  // namespace stretto
