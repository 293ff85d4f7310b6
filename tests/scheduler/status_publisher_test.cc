// SPDX-License-Identifier: Apache-2.0
// What a scheduler leaves for those who look on from outside.
#include "scheduler/status_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::HasSubstr;

TEST(StatusPublisher, LeavesNumbersAndASnapshotTwiceASecond) {
  sim::VirtualClock clock;
  fake::Wire wire;
  const Config config = fake::config(Role::kScheduler, -1);
  Scheduler scheduler(config, fake::scripted_transport(wire), clock);
  ASSERT_TRUE(scheduler.listen("127.0.0.1:9000").ok());
  metrics::MetricsSnapshots board;
  PageSnapshots page;
  StatusPublisher outlook(scheduler, &board, &page, clock);
  outlook.step(Duration::zero());
  EXPECT_THAT(page.snapshot(0), HasSubstr(R"("phase":"gathering")"));
  EXPECT_THAT(page.trace_state(), HasSubstr(R"("state":"none")"));
  EXPECT_GT(board.all().size(), 5U);
  EXPECT_LE(outlook.next_due(), clock.now() + 500ms);
  scheduler.stop(Status(Code::kInterrupted, "enough"));
  clock.advance_to(clock.now() + 600ms);
  outlook.step(Duration::zero());
  EXPECT_THAT(page.snapshot(0), HasSubstr(R"("phase":)"));
}

TEST(StatusPublisher, PublishesNoPagesWithoutViewer) {
  sim::VirtualClock clock;
  fake::Wire wire;
  const Config config = fake::config(Role::kScheduler, -1);
  Scheduler scheduler(config, fake::scripted_transport(wire), clock);
  StatusPublisher outlook(scheduler, nullptr, nullptr, clock);
  outlook.step(Duration::zero());
  EXPECT_EQ(outlook.next_due(), scheduler.next_due());
  EXPECT_FALSE(outlook.over());
}

}  // namespace
}  // namespace stretto
