// SPDX-License-Identifier: Apache-2.0
// A path of known rate and round trip, in virtual time, and the results of PathEstimator.
#include "van/path/path_estimator.h"

#include <gtest/gtest.h>

#include <deque>

#include "van/host_window/window_plan.h"

namespace stretto {
namespace {

using Seconds = std::chrono::duration<double>;

/// A pipe with a rate and a round trip; its sender keeps to the window if it can.
class Pipe {
 public:
  Pipe(double rate, Duration round_trip) : rate_(rate), round_trip_(round_trip) {}

  void set_rate(double rate) { rate_ = rate; }
  void set_round_trip(Duration round_trip) { round_trip_ = round_trip; }
  /// Sends whenever the window is open, until `length` has passed.
  void run(Duration length) {
    const Time end = now_ + length;
    while (now_ < end) {
      const WindowLimits bounds = latency_bounds(
          estimate(path.rate(), path.round_trip(), Duration::zero(), Duration::zero()));
      while (sent_ - taken_ + bounds.quantum_bytes / 2 <= bounds.window_bytes) {
        send(bounds.quantum_bytes, true);
      }
      advance();
    }
  }
  void send(std::uint64_t bytes, bool more) {
    sent_ += bytes;
    path.on_sent(sent_, bytes, more, now_);
    const Time start = std::max(now_, free_at_);
    free_at_ =
        start + std::chrono::duration_cast<Duration>(Seconds(static_cast<double>(bytes) / rate_));
    credits_.emplace_back(free_at_ + round_trip_, sent_);
  }
  void advance() {
    now_ = std::max(now_, credits_.front().first);
    taken_ = credits_.front().second;
    credits_.pop_front();
    path.on_credit(taken_, now_);
  }
  void idle(Duration length) { now_ += length; }
  Time now() const { return now_; }
  std::uint64_t in_flight() const { return sent_ - taken_; }

  PathEstimator path;

 private:
  double rate_;
  Duration round_trip_;
  Time now_{std::chrono::seconds(100)};
  Time free_at_{};
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  std::deque<std::pair<Time, std::uint64_t>> credits_;
};

TEST(PathEstimator, FindsRateAndRoundTrip) {
  for (const double rate : {12.5e6, 125e6, 1.25e9, 12.5e9}) {
    for (const Duration round_trip : {Duration(50us), Duration(200us), Duration(2ms)}) {
      Pipe pipe(rate, round_trip);
      pipe.run(1s);
      EXPECT_NEAR(pipe.path.rate() / rate, 1.0, 0.1) << rate << " " << round_trip.count();
      EXPECT_GE(pipe.path.round_trip(), round_trip * 9 / 10);
      EXPECT_LE(pipe.path.round_trip(), round_trip + 3ms) << "a slice of 12.5 MB/s takes 2.6 ms";
    }
  }
}

TEST(PathEstimator, FollowsARateThatFalls) {
  Pipe pipe(1.25e9, 100us);
  pipe.run(1s);
  pipe.set_rate(125e6);
  pipe.run(1s);
  EXPECT_NEAR(pipe.path.rate() / 125e6, 1.0, 0.1);
}

TEST(PathEstimator, FollowsARateThatGrows) {
  Pipe pipe(125e6, 1ms);
  pipe.run(1s);
  pipe.set_rate(1.25e9);
  pipe.run(2s);
  EXPECT_NEAR(pipe.path.rate() / 1.25e9, 1.0, 0.1);
}

// A queue delays packets and credits alike.
TEST(PathEstimator, LeavesQueuesOutOfTheRoundTrip) {
  Pipe pipe(125e6, 5ms);
  pipe.path.note_packets(Transport::RoundTrips{.least = 100us, .smoothed = 5ms}, pipe.now());
  pipe.run(1s);
  EXPECT_GE(pipe.path.round_trip(), 100us);
  EXPECT_LT(pipe.path.round_trip(), 500us);
}

// A relay on this host acknowledges immediately, although the data needs 20 ms more.
TEST(PathEstimator, CountsTheWayBehindARelay) {
  Pipe pipe(125e6, 20ms);
  pipe.path.note_packets(Transport::RoundTrips{.least = 50us, .smoothed = 60us}, pipe.now());
  pipe.run(1s);
  EXPECT_GE(pipe.path.round_trip(), 19ms);
  EXPECT_LT(pipe.path.round_trip(), 22ms);
}

TEST(PathEstimator, FollowsARoundTripThatGrows) {
  Pipe pipe(125e6, 100us);
  pipe.run(1s);
  EXPECT_LT(pipe.path.round_trip(), 1ms);
  pipe.set_round_trip(50ms);
  pipe.run(1s);
  EXPECT_LT(pipe.path.round_trip(), 1ms) << "one slow moment says nothing";
  for (int i = 0; i < 90; ++i) {
    pipe.run(100ms);
    while (pipe.in_flight() > 0) pipe.advance();
    pipe.idle(1s);
  }
  EXPECT_GE(pipe.path.round_trip(), 49ms);
}

TEST(PathEstimator, KeepsItsRateWhileLittleIsSent) {
  Pipe pipe(125e6, 100us);
  pipe.run(500ms);
  const double known = pipe.path.rate();
  while (pipe.in_flight() > 0) pipe.advance();
  for (int i = 0; i < 1000; ++i) {  // A frame a millisecond: a thirtieth of the rate.
    pipe.send(4096, false);
    pipe.advance();
    pipe.idle(1ms);
  }
  EXPECT_GE(pipe.path.rate(), 0.9 * known);
}

TEST(PathEstimator, AsksForPacketsNowAndThen) {
  Pipe pipe(125e6, 100us);
  EXPECT_TRUE(pipe.path.wants_packets(pipe.now()));
  pipe.path.note_packets(std::nullopt, pipe.now());
  EXPECT_FALSE(pipe.path.wants_packets(pipe.now()));
  pipe.idle(20ms);
  EXPECT_TRUE(pipe.path.wants_packets(pipe.now()));
}

TEST(PathEstimator, TracksBytesDepartedFromHost) {
  constexpr std::uint64_t kWindow = 128 << 10;
  Pipe pipe(125e6, 100us);
  pipe.run(500ms);
  while (pipe.in_flight() > 0) pipe.advance();
  const std::uint64_t before = pipe.path.departed_bytes(kWindow, pipe.now());
  pipe.send(4096, true);
  EXPECT_EQ(pipe.path.departed_bytes(kWindow, pipe.now()), before);
  pipe.idle(100ms);
  EXPECT_EQ(pipe.path.departed_bytes(kWindow, pipe.now()), before + 4096);
}

}  // namespace
}  // namespace stretto
