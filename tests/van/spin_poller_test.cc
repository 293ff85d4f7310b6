// SPDX-License-Identifier: Apache-2.0
// How a poll spins before it sleeps: over a counting transport, by a clock that advances with each
// read.
#include "van/event_loop/spin_poller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace stretto {
namespace {

constexpr Duration kTick = 100ns;

class RunningClock final : public Clock {
 public:
  Time now() const override { return now_ += kTick; }
  void pass(Duration time) const { now_ += time; }

 private:
  mutable Time now_{std::chrono::seconds(7)};
};

/// Data arrives `after` the end of the last poll, and ends a sleeping poll.
class ScriptedArrivals final : public Transport {
 public:
  explicit ScriptedArrivals(const RunningClock& clock) : clock_(clock), polled_(clock.now()) {}

  Result<std::string> listen(std::string_view) override { return std::string("127.0.0.1:1"); }
  Result<LinkId> connect(std::string_view) override { return LinkId{1}; }
  Sent try_send(LinkId, const wire::Header&, const Buffer&) override { return Sent::kTaken; }
  void close(LinkId) override {}
  void wake() override { ++wakes; }
  void poll(Sink&, Duration wait) override {
    held_back = false;
    waits.push_back(wait);
    const Duration left = polled_ + after - clock_.now();
    if (left > Duration::zero()) clock_.pass(std::min(left, wait));
    polled_ = clock_.now();
  }
  std::optional<bool> has_come(Asked asked) override {
    if (!tells) return std::nullopt;
    EXPECT_FALSE(held_back && asked == Asked::kSystem)
        << "a far end waits for what is not sent while one looks";
    ++(asked == Asked::kSystem ? system_asked : memory_asked);
    clock_.pass(away);
    if (clock_.now() >= posted_at) {
      posted_at = Time::max();
      waker->wake();
    }
    return (asked == Asked::kSystem) == by_system && clock_.now() >= polled_ + after;
  }
  void flush() override { held_back = false; }

  Duration after = 20us;
  Duration away{};  // How long a spinning thread loses its processor.
  bool by_system = true;
  bool tells = true;
  bool held_back = false;
  int system_asked = 0;
  int memory_asked = 0;
  int wakes = 0;
  Waker* waker = nullptr;
  Time posted_at = Time::max();  // When another thread wakes the loop.
  std::vector<Duration> waits;

 private:
  const RunningClock& clock_;
  Time polled_;
};

class SpinPollerTest : public testing::Test, protected Transport::Sink {
 protected:
  void poll(int times = 1, WaitReason awaits = WaitReason::kAnswers, Duration wait = 1s) {
    for (; times > 0; --times) lookout_.poll(transport_, *this, wait, awaits);
  }
  bool looked() { return std::exchange(transport_.system_asked, 0) > 0; }
  // Makes spinning pay off.
  void warm_up() {
    poll(SpinPredictor::kLeastNeeded + 20);
    ASSERT_TRUE(looked());
    transport_.waits.clear();
  }

  RunningClock clock_;
  ScriptedArrivals transport_{clock_};
  Waker waker_{transport_};
  bool spare_ = true;
  int asked_ = 0;
  SpinPoller lookout_{50us, clock_, waker_, [this] {
                        ++asked_;
                        return spare_;
                      }};

 private:
  void on_link(LinkId) override {}
  void on_frame(LinkId, wire::HeaderView, Buffer) override {}
  void on_broken(LinkId, Status) override {}
  void on_writable(LinkId) override {}
};

TEST_F(SpinPollerTest, SpinFindsDataWithoutSleeping) {
  warm_up();
  poll();
  EXPECT_EQ(transport_.waits, std::vector<Duration>{Duration::zero()});
}

TEST_F(SpinPollerTest, SpinFindsDataInMemory) {
  warm_up();
  transport_.by_system = false;
  poll();
  EXPECT_EQ(transport_.waits, std::vector<Duration>{Duration::zero()});
}

TEST_F(SpinPollerTest, AWakeEndsALookAndCostsTheTransportNothing) {
  warm_up();
  transport_.after = 1ms;
  transport_.waker = &waker_;
  transport_.posted_at = clock_.now() + 10us;
  poll();
  EXPECT_EQ(transport_.waits, std::vector<Duration>{Duration::zero()});
  EXPECT_EQ(transport_.wakes, 0);
  waker_.wake();
  EXPECT_EQ(transport_.wakes, 1);
}

TEST_F(SpinPollerTest, TheSystemIsAskedOnceAMicrosecondAtMost) {
  warm_up();
  transport_.after = 1ms;
  poll();
  EXPECT_LE(transport_.system_asked, 51);
  EXPECT_GT(transport_.memory_asked, transport_.system_asked);
}

TEST_F(SpinPollerTest, FailedSpinSleepsForRemainingTime) {
  warm_up();
  transport_.after = 10ms;
  poll(1, WaitReason::kAnswers, 1ms);
  ASSERT_EQ(transport_.waits.size(), 1U);
  EXPECT_LT(transport_.waits[0], 1ms - 50us);
  EXPECT_GT(transport_.waits[0], 1ms - 60us);
}

TEST_F(SpinPollerTest, ALookIsNoLongerThanTheWait) {
  warm_up();
  transport_.after = 10ms;
  const Time begin = clock_.now();
  poll(1, WaitReason::kAnswers, 5us);
  EXPECT_LT(clock_.now() - begin, 8us);
}

TEST_F(SpinPollerTest, NothingWaitsToLeaveWhileItLooks) {
  warm_up();
  transport_.held_back = true;
  poll();
  EXPECT_TRUE(looked());
}

TEST_F(SpinPollerTest, SpinsForAnswersButSleepsForRareCalls) {
  warm_up();
  transport_.after = 200ms;
  poll(10, WaitReason::kCalls);
  EXPECT_FALSE(looked());
  transport_.after = 20us;
  poll();
  EXPECT_TRUE(looked());
}

TEST_F(SpinPollerTest, NeverSpinsWithoutAwaitedData) {
  poll(100, WaitReason::kNothing);
  EXPECT_EQ(transport_.memory_asked + transport_.system_asked + asked_, 0);
}

TEST_F(SpinPollerTest, NorOverATransportThatDoesNotForetell) {
  transport_.tells = false;
  poll(100);
  EXPECT_EQ(transport_.memory_asked + transport_.system_asked + asked_, 0);
}

TEST_F(SpinPollerTest, NorWithABoundOfZero) {
  SpinPoller never(Duration::zero(), clock_, waker_, [] { return true; });
  for (int i = 0; i < 100; ++i) never.poll(transport_, *this, 1s, WaitReason::kAnswers);
  EXPECT_EQ(transport_.memory_asked + transport_.system_asked, 0);
}

TEST_F(SpinPollerTest, WhereProcessorsAreScarceItSleepsAndSeldomAsks) {
  spare_ = false;
  const Time begin = clock_.now();
  while (clock_.now() - begin < 1s) poll();
  EXPECT_FALSE(looked());
  EXPECT_LE(asked_, 12);
  spare_ = true;
  clock_.pass(SpinBudget::kMostPause);
  poll();
  EXPECT_TRUE(looked());
}

TEST_F(SpinPollerTest, CountsProcessorsOncePerMillisecond) {
  warm_up();
  asked_ = 0;
  const Time begin = clock_.now();
  while (clock_.now() - begin < 20ms) poll();
  EXPECT_LE(asked_, 20);
  EXPECT_GE(asked_, 18);
}

TEST_F(SpinPollerTest, PreemptionStopsSpinning) {
  warm_up();
  transport_.after = 1ms;
  transport_.away = 300us;
  poll();
  EXPECT_TRUE(looked());
  EXPECT_GT(transport_.waits.back(), 999ms);
  transport_.away = {};
  transport_.after = 20us;
  poll(20);
  EXPECT_FALSE(looked());
}

}  // namespace
}  // namespace stretto
