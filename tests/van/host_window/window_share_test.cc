// SPDX-License-Identifier: Apache-2.0
// The fraction of a host's window that a process gets, as a table over the host's processes.
#include "van/host_window/window_share.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stretto::host {
namespace {

constexpr Time kNow{std::chrono::hours(1)};
constexpr std::uint64_t kJob = 7;
constexpr std::uint64_t kWindow = 64'000;
constexpr double kRate = 125e6;

HostEntry waits(std::int32_t priority, std::uint64_t job = kJob) {
  return {.alive_at = kNow, .job = job, .waiting = true, .priority = priority};
}

WindowShare urgent(const std::vector<HostEntry>& others, const HostEntry& mine) {
  return share_of(others, mine, HostPolicy::kUrgent, kRate, kNow);
}

WindowShare fair(const std::vector<HostEntry>& others, const HostEntry& mine) {
  return share_of(others, mine, HostPolicy::kFair, kRate, kNow);
}

// The result for a process that has the window to itself.
void expect_alone(const WindowShare& share) {
  EXPECT_EQ(share.part, 1);
  EXPECT_EQ(share.of(kWindow), kWindow);
  EXPECT_FALSE(share.above);
  EXPECT_FALSE(share.urgent);
  EXPECT_EQ(share.others.rate, 0);
}

TEST(WindowShare, SoleProcessGetsFullWindow) {
  expect_alone(urgent({}, waits(0)));
  expect_alone(fair({}, waits(0)));
}

TEST(WindowShare, IsEverythingWithoutAPolicy) {
  HostEntry other = waits(9);
  other.here_bytes = 1000;
  expect_alone(share_of({&other, 1}, waits(0), HostPolicy::kNone, kRate, kNow));
}

TEST(WindowShare, IgnoresLongSilentProcess) {
  HostEntry other = waits(9);
  other.here_bytes = 1000;
  other.paths.rate = 1e6;
  other.alive_at = kNow - kAliveFor;
  expect_alone(urgent({other}, waits(0)));
  other.alive_at = kNow + kAliveFor;  // By another clock.
  expect_alone(urgent({other}, waits(0)));
  other.alive_at = kNow - kAliveFor + Duration(1);
  EXPECT_EQ(urgent({other}, waits(0)).above, 9);
}

TEST(WindowShare, OfEqualsIsEqual) {
  EXPECT_EQ(urgent({waits(0)}, waits(0)).part, 0.5);
  EXPECT_EQ(urgent({waits(0), waits(0), waits(0)}, waits(0)).part, 0.25);
  EXPECT_EQ(fair({waits(5), waits(0), waits(-5)}, waits(0)).part, 0.25);
}

TEST(WindowShare, IsOfAJobFirst) {
  // Another job's two processes count as one; two processes without a job count as two.
  EXPECT_EQ(fair({waits(0, 8), waits(0, 8)}, waits(0)).part, 0.5);
  EXPECT_EQ(fair({waits(0, 8), waits(0)}, waits(0)).part, 0.25);
  EXPECT_EQ(fair({waits(0, 0), waits(0, 0)}, waits(0)).part, 1.0 / 3);
  // Urgency counts only within a job.
  EXPECT_EQ(urgent({waits(9, 8)}, waits(0)).part, 0.5);
  EXPECT_FALSE(urgent({waits(9, 8)}, waits(0)).above);
}

TEST(WindowShare, LessUrgentProcessGetsOneThirtySecond) {
  const WindowShare share = urgent({waits(3), waits(9)}, waits(0));
  EXPECT_EQ(share.above, 9);
  EXPECT_FALSE(share.urgent) << "bulk that is more urgent than other bulk";
  EXPECT_EQ(share.part, 1.0 / 32);
  EXPECT_EQ(share.rest_rate, kRate / 32);
  // The most urgent process ignores the others.
  const WindowShare first = urgent({waits(0), waits(3)}, waits(9));
  EXPECT_EQ(first.part, 1);
  EXPECT_FALSE(first.above);
}

TEST(WindowShare, RestGetsRateUnusedByMoreUrgent) {
  HostEntry slow = waits(9);
  slow.recent_rate = kRate / 10;
  const WindowShare share = urgent({slow}, waits(0));
  EXPECT_EQ(share.above, 9);
  EXPECT_NEAR(share.rest_rate, kRate * (1 - 0.125), 1);
  slow.recent_rate = kRate;
  EXPECT_EQ(urgent({slow}, waits(0)).rest_rate, kRate / 32);
  // While the speed of one of them is unknown, they may need everything.
  slow.recent_rate = kRate / 10;
  EXPECT_EQ(urgent({slow, waits(8)}, waits(0)).rest_rate, kRate / 32);
}

TEST(WindowShare, IdleProcessOfJobYieldsToAnyPriority) {
  EXPECT_EQ(urgent({waits(-5)}, {}).above, std::nullopt);  // In no job.
  EXPECT_EQ(urgent({waits(-5)}, {.job = kJob}).above, -5);
}

TEST(WindowShare, LendsWindowUnusedByOthers) {
  HostEntry other = waits(0);
  other.here_bytes = kWindow / 4;
  EXPECT_EQ(urgent({other}, waits(0)).of(kWindow), kWindow / 4 * 3);
  other.here_bytes = kWindow * 2;  // It shrinks; one's own part is safe.
  EXPECT_EQ(urgent({other}, waits(0)).of(kWindow), kWindow / 2);
  other.waiting = false;  // It has nothing to send: only bytes in flight count.
  other.here_bytes = kWindow / 4;
  EXPECT_EQ(fair({other}, waits(0)).of(kWindow), kWindow);
}

TEST(WindowShare, RemembersRecentUrgencyWithinJob) {
  HostEntry other{.alive_at = kNow, .job = kJob, .urgent = true, .urgent_priority = 3};
  EXPECT_TRUE(urgent({other}, waits(0)).urgent);
  EXPECT_FALSE(urgent({other}, waits(3)).urgent);
  EXPECT_FALSE(fair({other}, waits(0)).urgent);
  other.job = 8;
  EXPECT_FALSE(urgent({other}, waits(0)).urgent);
}

// Shared memory may contain anything.
TEST(WindowShare, OfAnyWordsIsAShare) {
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 2000; ++turn) {
    std::vector<HostEntry> others(random() % 64);
    for (HostEntry& other : others) {
      EntryWords words;
      for (std::uint64_t& word : words) word = random() >> (random() % 64);
      other = HostEntry::of(words);
      if (random() % 2 == 0) other.alive_at = kNow;
      if (random() % 2 == 0) other.job = kJob;
    }
    for (const HostPolicy policy : {HostPolicy::kFair, HostPolicy::kUrgent}) {
      const WindowShare share = share_of(others, waits(0), policy, kRate, kNow);
      EXPECT_GT(share.part, 0);
      EXPECT_LE(share.part, 1);
      EXPECT_LE(share.of(kWindow), kWindow);
      EXPECT_GE(share.rest_rate, share.above ? kRate / 32 / 65 : 0);
      EXPECT_LE(share.rest_rate, kRate);
      EXPECT_LE(share.others.product_bytes, std::uint64_t{64} << 40);
      EXPECT_GE(share.others.rate, 0);
    }
  }
}

}  // namespace
}  // namespace stretto::host
