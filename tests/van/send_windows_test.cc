// SPDX-License-Identifier: Apache-2.0
// Slices and windows of throughput mode and latency mode, and their change with the mode.
#include "tests/sim/sim_network.h"
#include "tests/van/send_queue_fixture.h"

namespace stretto {
namespace {

constexpr std::uint64_t kSlice = wire::kHeaderBytes + 64;
constexpr std::uint64_t kWideSlice = wire::kHeaderBytes + 256;
constexpr Urgency kBackground{};

Frame large(std::int32_t priority, std::uint64_t mark, std::size_t bytes = 256) {
  return frame(priority, mark, 1, bytes);
}

/// Latency mode allows two slices of 64 bytes in flight, on a link and on all; throughput mode four
/// of 256.
class SendModesTest : public SendQueueTest {
 protected:
  SendModesTest() {
    for (LinkId link : {1U, 2U, 3U}) {
      queue_.windows().shape(link, {2 * kSlice, 64}, {4 * kWideSlice, 256});
    }
    queue_.windows().set_shaped(2 * kSlice, 4 * kWideSlice);
  }

  void credit(LinkId link) {
    ASSERT_TRUE(queue_.windows().credited(link, queue_.windows().sent(link)));
  }
  void begin_latency_mode() { queue_.windows().set_latency_mode(kBackground); }
  void end_latency_mode() { queue_.windows().set_latency_mode(std::nullopt); }
};

TEST_F(SendModesTest, ModeSetsSlices) {
  queue_.push(1, large(0, 1, 1024));
  EXPECT_EQ(queue_.next()->bytes, 256U);
  begin_latency_mode();
  EXPECT_EQ(queue_.next()->bytes, 64U);
  end_latency_mode();
  EXPECT_EQ(queue_.next()->bytes, 256U);
}

TEST_F(SendModesTest, ThroughputModeFillsItsWindow) {
  for (std::uint64_t mark = 1; mark <= 6; ++mark) queue_.push(1, large(0, mark));
  EXPECT_EQ(take_all(), (Marks{1, 2, 3, 4}));
  EXPECT_EQ(queue_.windows().shaped_in_flight(), 4 * kWideSlice);
}

TEST_F(SendModesTest, LatencyModeFillsItsWindow) {
  begin_latency_mode();
  queue_.push(1, large(0, 1, 1024));
  queue_.push(2, large(0, 2, 1024));
  EXPECT_EQ(take_all(), (Marks{1, 2})) << "two slices are the window of all links";
}

TEST_F(SendModesTest, MoreUrgentFrameGoesNextOnAnyLink) {
  for (std::uint64_t mark = 1; mark <= 8; ++mark) queue_.push(1, large(0, mark));
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  queue_.push(1, frame(1, 21));
  queue_.push(2, frame(2, 22));
  EXPECT_EQ(take(), 22U);
  EXPECT_EQ(take(), 21U);
}

TEST_F(SendModesTest, UrgentFrameUsesWindowThatWasOpen) {
  for (std::uint64_t mark = 1; mark <= 6; ++mark) queue_.push(1, large(0, mark));
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  begin_latency_mode();
  EXPECT_EQ(take(), 0U) << "more than the window of latency mode is in flight";
  queue_.push(1, frame(1, 21));
  EXPECT_EQ(take_all(), (Marks{21})) << "it would wait twice";
  credit(1);
  for (std::uint64_t mark = 22; mark <= 24; ++mark) queue_.push(1, frame(1, mark));
  EXPECT_EQ(take_all(), (Marks{22, 23})) << "and now that window holds for all";
}

TEST_F(SendModesTest, BulkIsNeverUrgent) {
  queue_.push(1, large(0, 1));
  queue_.push(1, large(0, 2));
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  begin_latency_mode();
  Frame bulk = frame(5, 3);
  bulk.bulk = true;
  queue_.push(2, std::move(bulk));
  EXPECT_EQ(take(), 0U);
}

TEST_F(SendModesTest, DepartedBytesOpenNoWindow) {
  queue_.push(1, large(0, 1));
  EXPECT_EQ(take(), 1U);
  queue_.windows().departed(1, kWideSlice);
  begin_latency_mode();
  for (std::uint64_t mark = 2; mark <= 5; ++mark) queue_.push(2, frame(1, mark));
  EXPECT_EQ(take_all(), (Marks{2, 3}));
}

/// For any operations in any order: windows hold, and once all data has arrived they are the
/// windows of the mode.
TEST_F(SendModesTest, WindowsHoldUnderRandomUse) {
  sim::Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto link = static_cast<LinkId>(1 + random.below(3));
    const auto priority = static_cast<std::int32_t>(random.below(3));
    if (random.chance(0.4)) {
      queue_.push(link, random.chance(0.5) ? large(priority, 1) : frame(priority, 1));
    } else if (const auto pick = queue_.next(); pick && random.chance(0.8)) {
      queue_.taken(*pick);
      ASSERT_LE(queue_.windows().shaped_in_flight(), 5 * kWideSlice);
    } else if (random.chance(0.1)) {
      random.chance(0.5) ? begin_latency_mode() : end_latency_mode();
    } else if (random.chance(0.5)) {
      queue_.windows().departed(link, random.below(queue_.windows().sent(link) + 1));
    } else {
      const std::uint64_t taken = queue_.windows().sent(link) - queue_.windows().in_flight(link);
      ASSERT_TRUE(queue_.windows().credited(
          link, taken + random.below(queue_.windows().in_flight(link) + 1)));
    }
  }
  while (queue_.waiting() > 0) {
    take_all();
    for (LinkId link : {1U, 2U, 3U}) credit(link);
  }
  EXPECT_EQ(queue_.windows().shaped_in_flight(), 0U);
  begin_latency_mode();
  for (std::uint64_t mark = 1; mark <= 6; ++mark) queue_.push(1, frame(0, mark));
  EXPECT_EQ(take_all(), (Marks{1, 2}));
}

}  // namespace
}  // namespace stretto
