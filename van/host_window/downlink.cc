// SPDX-License-Identifier: Apache-2.0
// Counts senders and their bytes.
#include "van/host_window/downlink.h"

#include <algorithm>

#include "common/clock.h"
#include "van/host_window/window_plan.h"

namespace stretto {
namespace {

constexpr Duration kArrivalInterval = 10ms;
constexpr Duration kLongestInterval = 2 * kArrivalInterval;  // A longer interval was partly idle.
constexpr Duration kCountEvery = 1ms;
constexpr Duration kActive = 50ms;  // A sender counts as active this long after data.

}  // namespace

void Downlink::on_data(LinkId link, std::uint64_t bytes, Time now) {
  last_[link] = now;
  bytes_ += bytes;
  const Duration elapsed = now - since_;
  if (elapsed < kArrivalInterval) return;
  if (elapsed < kLongestInterval) rate_.add(static_cast<double>(bytes_) / seconds(elapsed), now);
  since_ = now;
  bytes_ = 0;
}

std::uint64_t Downlink::grant(Time now) {
  if (now - counted_at_ >= kCountEvery) {
    counted_at_ = now;
    senders_ = static_cast<std::size_t>(std::ranges::count_if(
        last_, [now](const auto& sender) { return now - sender.second < kActive; }));
  }
  return senders_ < 2 || rate_.get() == 0 ? 0 : granted_window(rate_.get(), senders_);
}

}  // namespace stretto
