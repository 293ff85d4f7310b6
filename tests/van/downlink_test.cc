// SPDX-License-Identifier: Apache-2.0
// What a receiver grants to its senders, in virtual time.
#include "van/host_window/downlink.h"

#include <gtest/gtest.h>

#include "van/host_window/window_plan.h"

namespace stretto {
namespace {

class DownlinkTest : public testing::Test {
 protected:
  /// All of `senders` send, together `rate` bytes a second.
  void receive(std::vector<LinkId> senders, double rate, Duration length) {
    for (const Time end = now_ + length; now_ < end;) {
      for (const LinkId sender : senders) {
        downlink_.on_data(sender, 16'000, now_);
        now_ += std::chrono::nanoseconds(static_cast<std::int64_t>(16'000 / rate * 1e9));
      }
    }
  }

  Downlink downlink_;
  Time now_{std::chrono::seconds(100)};
};

TEST_F(DownlinkTest, OneSenderHasNoLimit) {
  EXPECT_EQ(downlink_.grant(now_), 0U);
  receive({1}, 119e6, 100ms);
  EXPECT_EQ(downlink_.grant(now_), 0U);
}

TEST_F(DownlinkTest, SendersShareTheRate) {
  receive({1, 2, 3, 4}, 119e6, 100ms);
  const auto wanted = static_cast<double>(granted_window(119e6, 4));
  EXPECT_NEAR(static_cast<double>(downlink_.grant(now_)), wanted, 0.1 * wanted);
}

TEST_F(DownlinkTest, SenderThatStopsHasNoShare) {
  receive({1, 2}, 119e6, 100ms);
  receive({1}, 119e6, 100ms);
  EXPECT_EQ(downlink_.grant(now_), 0U);
}

TEST_F(DownlinkTest, RemovedLinkHasNoShare) {
  receive({1, 2}, 119e6, 100ms);
  EXPECT_GT(downlink_.grant(now_), 0U);
  downlink_.remove(2);
  now_ += 1ms;
  EXPECT_EQ(downlink_.grant(now_), 0U);
}

TEST_F(DownlinkTest, PausesSayNothingOfTheRate) {
  receive({1, 2}, 119e6, 100ms);
  const std::uint64_t before = downlink_.grant(now_);
  for (int i = 0; i < 20; ++i) {
    now_ += 40ms;
    downlink_.on_data(1, 1000, now_);
    downlink_.on_data(2, 1000, now_);
  }
  EXPECT_GE(downlink_.grant(now_), before / 10 * 9);
}

}  // namespace
}  // namespace stretto
