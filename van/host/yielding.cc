// SPDX-License-Identifier: Apache-2.0
// A rate for the rest.
#include "van/host/yielding.h"

#include "common/clock.h"

namespace stretto::host {
namespace {

constexpr Duration kLongest = std::chrono::milliseconds(50);  // Between two slices of the rest.

}  // namespace

void Yielding::set(const HostShare& share) {
  above_ = share.above;
  rest_rate_ = share.rest_rate;
}

bool Yielding::holds(std::int32_t priority, Time now) {
  rest_ = above_ && priority < *above_;
  return rest_ && now - rest_sent_at_ < gap();
}

void Yielding::on_sent(std::uint64_t bytes, Time now) {
  if (!rest_) return;
  rest_sent_bytes_ = bytes;
  rest_sent_at_ = now;
}

Duration Yielding::gap() const {
  const double bytes = static_cast<double>(rest_sent_bytes_);
  if (bytes >= rest_rate_ * seconds(kLongest)) return kLongest;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(bytes / rest_rate_ * 1e9));
}

}  // namespace stretto::host
