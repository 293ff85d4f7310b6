// SPDX-License-Identifier: Apache-2.0
// PacerFixture: a queue and its pacer in virtual time, on links with the given rate and delay.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "van/pacing/pacer.h"

namespace stretto::fake {

class PacerFixture : public testing::Test {
 protected:
  static constexpr std::uint64_t kTag = 1;

  void push(LinkId link, std::size_t bytes, bool bulk = false, std::int32_t priority = 0) {
    Frame frame;
    frame.bulk = bulk;
    frame.header.priority = priority;
    frame.tag = kTag;
    frame.header.kind = wire::Kind::kPush;
    frame.payload = Buffer::allocate(bytes);
    queue_.push(link, std::move(frame));
  }
  // Sends all that the pacer allows; returns the bytes.
  std::uint64_t send() {
    std::uint64_t bytes = 0;
    pacer_.on_time(now_);
    while (const auto pick = pacer_.next(now_)) {
      const SendQueue::Pick taken = *pick;
      pacer_.note_urgency(*taken.frame, taken.charge(), now_);
      queue_.taken(taken);
      pacer_.on_sent(taken.link, taken.charge(), now_);
      bytes += taken.bytes;
      slices_.push_back(taken.bytes);
    }
    return bytes;
  }
  void credit(LinkId link) {
    ASSERT_TRUE(queue_.windows().credited(link, queue_.windows().sent(link)));
    pacer_.on_credit(link, queue_.windows().sent(link), now_, [] { return std::nullopt; });
  }
  // Sends without a pause at 1 Gbit/s, with credits after 100 us.
  void learn(LinkId link, Duration length) {
    for (const Time end = now_ + length; now_ < end;) {
      push(link, 1 << 20);
      while (queue_.waiting(link) > 0) {
        const std::uint64_t bytes = send();
        now_ += 100us + std::chrono::nanoseconds(bytes * 8);
        credit(link);
      }
    }
  }
  std::uint32_t largest_slice() const {
    return slices_.empty() ? 0 : *std::max_element(slices_.begin(), slices_.end());
  }

  SendQueue queue_{1 << 20, 8 << 20};
  Pacer pacer_{queue_};
  Time now_{std::chrono::seconds(50)};
  std::vector<std::uint32_t> slices_;  // In the order of sending.
};

}  // namespace stretto::fake
