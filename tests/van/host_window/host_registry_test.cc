// SPDX-License-Identifier: Apache-2.0
// Registry entries in plain memory: ownership, reads during writes, and invalid contents.
#include "van/host_window/host_registry.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>

namespace stretto::host {
namespace {

constexpr Time kSeatsNow{std::chrono::hours(1)};
constexpr std::uint64_t kSpace = 1;

ProcessMark process(std::uint64_t number) { return {.owner = number, .space = kSpace}; }

Life everybody_lives(const ProcessMark&) { return Life::kAlive; }
Life everybody_is_gone(const ProcessMark&) { return Life::kGone; }
Life nobody_knows(const ProcessMark&) { return Life::kUnknown; }

class HostRegistryTest : public testing::Test {
 protected:
  std::optional<std::size_t> take(std::uint64_t number) {
    return seats_.take(process(number), everybody_lives, kSeatsNow);
  }

  std::unique_ptr<SeatsLayout> layout_ = std::make_unique<SeatsLayout>();
  HostRegistry seats_{*layout_};
};

TEST_F(HostRegistryTest, EachIsTakenByOne) {
  for (std::size_t i = 0; i < kSeats; ++i) EXPECT_EQ(take(i + 1), i);
  EXPECT_FALSE(take(100));
  seats_.give_up(17, process(18));
  EXPECT_EQ(take(100), 17U);
}

TEST_F(HostRegistryTest, OnlyItsOwnerGivesOneUp) {
  take(1);
  seats_.give_up(0, process(2));
  EXPECT_TRUE(seats_.has(0, process(1)));
  EXPECT_FALSE(seats_.has(0, process(2)));
}

TEST_F(HostRegistryTest, TakesSeatOfDeadProcess) {
  take(1);
  EXPECT_EQ(seats_.take(process(2), everybody_is_gone, kSeatsNow), 0U);
  EXPECT_FALSE(seats_.has(0, process(1)));
  seats_.give_up(0, process(1));  // Too late: the seat has a new owner.
  EXPECT_TRUE(seats_.has(0, process(2)));
}

TEST_F(HostRegistryTest, UnknownProcessIsGoneAfterSilentMinute) {
  take(1);
  EXPECT_EQ(seats_.take(process(2), nobody_knows, kSeatsNow + 59s), 1U);
  EXPECT_EQ(seats_.take(process(3), nobody_knows, kSeatsNow + 61s), 0U);
}

TEST_F(HostRegistryTest, OthersAreReadAsTheyWereWritten) {
  take(1);
  take(2);
  const HostEntry told{.alive_at = kSeatsNow,
                       .job = 3,
                       .waiting = true,
                       .priority = -4,
                       .urgent = true,
                       .urgent_priority = 5,
                       .here_bytes = 6,
                       .paths = {.rate = 7, .product_bytes = 8, .wait_bytes = 9, .queue_bytes = 10},
                       .recent_rate = 11};
  seats_.write(1, told);
  std::array<HostEntry, kSeats> others;
  ASSERT_EQ(seats_.read_others(0, others), 1U);
  EXPECT_EQ(others[0].words(), told.words());
  EXPECT_EQ(others[0].priority, -4);
  EXPECT_EQ(others[0].urgent_priority, 5);
  ASSERT_EQ(seats_.read_others(1, others), 1U);
  EXPECT_FALSE(others[0].waiting);
}

TEST_F(HostRegistryTest, IgnoresUnfinishedEntry) {
  take(1);
  layout_->seats[0].sequence = 3;
  EXPECT_FALSE(seats_.read(0));
  std::array<HostEntry, kSeats> others;
  EXPECT_EQ(seats_.read_others(kSeats, others), 0U);
  seats_.write(0, {.alive_at = kSeatsNow});  // The next owner's write completes the entry.
  EXPECT_TRUE(seats_.read(0));
}

TEST_F(HostRegistryTest, ReadsConsistentEntryDuringWrites) {
  take(1);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i) {
      seats_.write(0, {.job = i, .here_bytes = i, .paths = {.product_bytes = i, .wait_bytes = i}});
    }
  });
  std::uint64_t seen = 0;
  for (int i = 0; i < 20'000 || seen < 2; ++i) {
    const auto entry = seats_.read(0);
    if (!entry || entry->job == 0) continue;
    seen += seen < 2 ? 1 : 0;
    EXPECT_EQ(entry->here_bytes, entry->job);
    EXPECT_EQ(entry->paths.product_bytes, entry->job);
    EXPECT_EQ(entry->paths.wait_bytes, entry->job);
  }
  stop = true;
  writer.join();
}

// Concurrent takes: each process gets a different seat.
TEST_F(HostRegistryTest, ManyTakeThemAtOnce) {
  std::array<std::optional<std::size_t>, 4> taken;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      threads.emplace_back([this, i, &taken] { taken[i] = take(i + 1); });
    }
  }
  for (std::size_t i = 0; i < taken.size(); ++i) {
    ASSERT_TRUE(taken[i]);
    EXPECT_TRUE(seats_.has(*taken[i], process(i + 1)));
  }
}

TEST_F(HostRegistryTest, AnyBytesAreSeats) {
  std::mt19937_64 random(1);
  std::array<HostEntry, kSeats> others;
  for (int turn = 0; turn < 500; ++turn) {
    for (SeatsLayout::Seat& seat : layout_->seats) {
      seat.owner = random() >> (random() % 64);
      seat.space = random();
      seat.sequence = random();
      for (auto& word : seat.words) word = random() >> (random() % 64);
    }
    EXPECT_LE(seats_.read_others(0, others), kSeats - 1);
    const auto seat = seats_.take(process(1), nobody_knows, kSeatsNow);
    if (!seat) continue;
    seats_.write(*seat, {.alive_at = kSeatsNow, .job = 5});
    ASSERT_TRUE(seats_.read(*seat));
    EXPECT_EQ(seats_.read(*seat)->job, 5U);
  }
}

}  // namespace
}  // namespace stretto::host
