// SPDX-License-Identifier: Apache-2.0
// Intervals of delivery.
#include "van/path/delivery_rate.h"

#include <algorithm>

#include "common/clock.h"

namespace stretto {
namespace {

// Where two ends send to each other, data and credits travel in bursts of some milliseconds. Over
// an interval of many bursts both ends get the same rate, and so the same window. With unequal
// windows the lesser one leaves its direction idle (Zhang, Shenker and Clark, SIGCOMM 1991).
constexpr Duration kInterval = 50ms;
constexpr Duration kFirstInterval = 2ms;
constexpr Duration kGrowingInterval = 10ms;
constexpr double kGrows = 1.15;  // More than bursts change an interval.

}  // namespace

void DeliveryRate::on_sent(bool was_idle, bool more, Time now) {
  if (was_idle) since_ += now - std::max(since_, idle_since_);  // Idle time does not count.
  busy_ = busy_ && more;
}

void DeliveryRate::on_taken(std::uint64_t taken_bytes, bool is_idle, Duration least, Time now) {
  if (is_idle) idle_since_ = now;
  const Duration elapsed = now - since_;
  const Duration wanted = growing_ ? kGrowingInterval : kInterval;
  if (elapsed < std::max(rate_.get() == 0 ? kFirstInterval : wanted, least)) return;
  const double seen = static_cast<double>(taken_bytes - taken_bytes_) / seconds(elapsed);
  // Peers that were not kept busy may be faster than measured.
  growing_ = seen > kGrows * rate_.get();
  if (busy_ || seen > rate_.get()) rate_.add(seen, now);
  since_ = now;
  taken_bytes_ = taken_bytes;
  busy_ = true;
}

}  // namespace stretto
