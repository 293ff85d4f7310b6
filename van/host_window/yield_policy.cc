// SPDX-License-Identifier: Apache-2.0
// Rate limit of yielding data.
#include "van/host_window/yield_policy.h"

#include <algorithm>

#include "common/clock.h"

namespace stretto::host {
namespace {

constexpr Duration kLongest = std::chrono::milliseconds(50);  // Between two slices of the rest.
constexpr Duration kAtOnce = std::chrono::milliseconds(1);    // Largest burst of the rest.

}  // namespace

void YieldPolicy::set(const WindowShare& share) {
  above_ = share.above;
  rest_rate_ = share.rest_rate;
}

bool YieldPolicy::holds(std::int32_t priority, Time now) {
  rest_ = above_ && priority < *above_;
  if (!rest_) return false;
  const double passed = seconds(std::min(now - counted_at_, Duration(kLongest)));
  counted_at_ = now;
  left_bytes_ = std::min(left_bytes_ + rest_rate_ * passed, rest_rate_ * seconds(kAtOnce));
  return left_bytes_ < 0 && now - sent_at_ < kLongest;
}

void YieldPolicy::on_sent(std::uint64_t bytes, Time now) {
  if (!rest_) return;
  left_bytes_ = std::max(left_bytes_, 0.0) - static_cast<double>(bytes);
  sent_at_ = now;
}

}  // namespace stretto::host
