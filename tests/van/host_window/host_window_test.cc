// SPDX-License-Identifier: Apache-2.0
// Endpoints of one host that inform each other, in virtual time, through a real file.
#include "van/host_window/host_window.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <list>

namespace stretto::host {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

class HostWindowTest : public testing::Test {
 protected:
  HostWindowTest() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~HostWindowTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/seats"; }
  HostOptions options(HostPolicy policy = HostPolicy::kUrgent) const {
    return {.policy = policy, .job = 1, .path = path()};
  }
  static HostEntry waits(std::int32_t priority) { return {.waiting = true, .priority = priority}; }
  bool exists() const { return std::filesystem::exists(path()); }

  std::string folder_ = std::string(kSharedMemory) + "/seats-test-XXXXXX";
  Time now_{std::chrono::hours(1)};
};

TEST_F(HostWindowTest, OthersSeeUrgencyUntilProcessIsSilent) {
  HostWindow urgent(options());
  HostWindow other(options());
  urgent.join(now_);
  other.join(now_);
  urgent.tell(waits(5), now_);
  now_ += 49ms;
  EXPECT_EQ(other.look(waits(0), now_).above, 5);
  now_ += 1ms;
  EXPECT_EQ(other.look(waits(0), now_).above, std::nullopt);
}

TEST_F(HostWindowTest, TellsOnceItHasNothingMore) {
  HostWindow urgent(options());
  HostWindow other(options());
  urgent.join(now_);
  other.join(now_);
  urgent.tell(waits(5), now_);
  EXPECT_TRUE(urgent.has_told());
  urgent.tell({}, now_);
  EXPECT_FALSE(urgent.has_told());
  EXPECT_EQ(other.look(waits(0), now_).above, std::nullopt);
}

TEST_F(HostWindowTest, LooksAndTellsFiveTimesAMillisecondAtMost) {
  HostWindow window(options());
  EXPECT_FALSE(window.is_due(now_));
  EXPECT_FALSE(window.must_tell(true, now_));
  window.join(now_);
  EXPECT_TRUE(window.must_tell(true, now_));
  window.tell(waits(0), now_);
  window.look(waits(0), now_);
  now_ += 199us;
  EXPECT_FALSE(window.is_due(now_));
  EXPECT_FALSE(window.must_tell(true, now_));
  EXPECT_TRUE(window.must_tell(false, now_));  // A changed state.
  EXPECT_FALSE(window.must_tell(false, now_));
  now_ += 1us;
  EXPECT_TRUE(window.is_due(now_));
  EXPECT_TRUE(window.must_tell(false, now_));
}

// A process's rest rate is what a more urgent process leaves, by its measured rate.
TEST_F(HostWindowTest, SeesHowFastTheMoreUrgentIs) {
  HostWindow urgent(options());
  HostWindow other(options());
  urgent.join(now_);
  other.join(now_);
  HostEntry first = waits(5);
  HostEntry rest = waits(0);
  WindowShare share;
  for (int i = 0; i < 200; ++i) {
    rest.taken_bytes += kMegabyte / 10;                  // 100 MB/s
    first.taken_bytes += i < 100 ? 0 : kMegabyte / 100;  // and 10 MB/s.
    other.tell(rest, now_);
    share = other.look(rest, now_);
    if (i >= 100) urgent.tell(first, now_);
    now_ += 1ms;
  }
  EXPECT_EQ(share.above, 5);
  EXPECT_NEAR(share.rest_rate, 110e6 - 12.5e6, 2e6);
}

TEST_F(HostWindowTest, WithoutAPolicyLeavesNoTrace) {
  HostWindow window(options(HostPolicy::kNone));
  window.join(now_);
  EXPECT_FALSE(window.joined());
  EXPECT_FALSE(exists());
}

TEST_F(HostWindowTest, WithoutAFileIsAlone) {
  folder_ += "/none";
  HostWindow window(options());
  window.join(now_);
  window.join(now_);
  folder_.resize(folder_.size() - 5);
  EXPECT_FALSE(window.joined());
  EXPECT_FALSE(window.is_due(now_));
  EXPECT_FALSE(window.must_tell(true, now_));
}

TEST_F(HostWindowTest, TheLastTakesTheFileAway) {
  {
    HostWindow first(options());
    first.join(now_);
    {
      HostWindow second(options());
      second.join(now_);
    }
    EXPECT_TRUE(exists());
  }
  EXPECT_FALSE(exists());
}

TEST_F(HostWindowTest, ProcessWithoutSeatWaitsForFreeSeat) {
  std::list<HostWindow> all;
  for (std::size_t i = 0; i < kSeats; ++i) all.emplace_back(options()).join(now_);
  HostWindow late(options());
  late.join(now_);
  all.front().tell(waits(5), now_);
  late.tell(waits(0), now_);
  EXPECT_EQ(late.look(waits(0), now_).above, std::nullopt);
  all.pop_back();
  now_ += 10s;
  late.tell(waits(0), now_);
  all.front().tell(waits(5), now_);
  EXPECT_EQ(late.look(waits(0), now_).above, 5);
}

// A process whose seat was taken moves to another seat.
TEST_F(HostWindowTest, ASeatThatWasTakenIsMissedOnce) {
  HostWindow window(options());
  HostWindow other(options());
  window.join(now_);
  other.join(now_);
  Result<HostRegistryFile> file = HostRegistryFile::open(path());
  ASSERT_TRUE(file.ok());
  const auto everybody_is_gone = [](const ProcessMark&) { return Life::kGone; };
  EXPECT_EQ(file->seats().take({.owner = 1, .space = 1}, everybody_is_gone, now_), 0U);
  now_ += 10s;
  window.tell(waits(5), now_);
  EXPECT_EQ(other.look(waits(0), now_).above, 5);
}

}  // namespace
}  // namespace stretto::host
