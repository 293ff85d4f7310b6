// SPDX-License-Identifier: Apache-2.0
// A path of known rate and round trip, in virtual time, and what is made of it.
#include "van/path.h"

#include <gtest/gtest.h>

#include <deque>

namespace stretto {
namespace {

using Seconds = std::chrono::duration<double>;

/// A pipe of a rate, with a delay there and back; its sender keeps to the window if it can.
class Pipe {
 public:
  Pipe(double rate, Duration round_trip) : rate_(rate), round_trip_(round_trip) {}

  void set_rate(double rate) { rate_ = rate; }
  void set_round_trip(Duration round_trip) { round_trip_ = round_trip; }
  /// Sends whenever the window is open, until `length` has passed.
  void run(Duration length) {
    const Time end = now_ + length;
    while (now_ < end) {
      while (sent_ - taken_ + slice() / 2 <= path.window_bytes()) send(slice(), true);
      advance();
    }
  }
  void send(std::uint64_t bytes, bool more) {
    sent_ += bytes;
    path.on_sent(sent_, bytes, sent_ - bytes == taken_, more, now_);
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

  Path path;

 private:
  std::uint64_t slice() const {
    return path.wants_probe(now_) && sent_ == taken_ ? Path::kProbeBytes : path.quantum_bytes();
  }

  double rate_;
  Duration round_trip_;
  Time now_{std::chrono::seconds(100)};
  Time free_at_{};
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
  std::deque<std::pair<Time, std::uint64_t>> credits_;
};

TEST(Path, FindsRateAndRoundTripOfSlowAndFastPathsFromNothing) {
  for (const double rate : {12.5e6, 125e6, 1.25e9, 12.5e9}) {
    for (const Duration round_trip : {Duration(50us), Duration(200us), Duration(2ms)}) {
      Pipe pipe(rate, round_trip);
      pipe.run(1s);
      EXPECT_NEAR(pipe.path.rate() / rate, 1.0, 0.1) << rate << " " << round_trip.count();
      EXPECT_GE(pipe.path.round_trip(), round_trip);
      const auto probe = Seconds(static_cast<double>(Path::kProbeBytes) / rate);
      EXPECT_LE(Seconds(pipe.path.round_trip()).count(),
                Seconds(round_trip).count() + probe.count() * 1.1);
    }
  }
}

TEST(Path, AWindowIsLittleMoreThanTheProductOfRateAndRoundTrip) {
  Pipe pipe(1.25e9, 2ms);
  pipe.run(1s);
  const double product = 1.25e9 * 2e-3;
  EXPECT_GT(static_cast<double>(pipe.path.window_bytes()), product);
  EXPECT_LT(static_cast<double>(pipe.path.window_bytes()),
            1.5 * product + static_cast<double>(pipe.path.quantum_bytes()));
}

TEST(Path, BulkHasLargerSlicesAndSomeMillisecondsInFlight) {
  EXPECT_EQ(Path().bulk_quantum_bytes(), Path().quantum_bytes()) << "nothing is known yet";
  Pipe slow(1e6, 100us);
  slow.run(2s);
  EXPECT_EQ(slow.path.bulk_quantum_bytes(), slow.path.quantum_bytes()) << "16 ms";
  Pipe gigabit(119e6, 100us);
  gigabit.run(1s);
  EXPECT_GE(gigabit.path.bulk_quantum_bytes(), 100U << 10);
  EXPECT_LE(gigabit.path.bulk_quantum_bytes(), 140U << 10);
  const double most = 119e6 * 5e-3;
  EXPECT_GT(static_cast<double>(gigabit.path.bulk_window_bytes()), most / 2);
  EXPECT_LT(static_cast<double>(gigabit.path.bulk_window_bytes()), most);
}

TEST(Path, ASliceIsBoundedInTimeAndNeverTiny) {
  EXPECT_EQ(Path().quantum_bytes(), 32U << 10) << "nothing is known yet";
  Pipe slow(1e6, 100us);
  slow.run(2s);
  EXPECT_EQ(slow.path.quantum_bytes(), 16U << 10);
  Pipe gigabit(119e6, 100us);
  gigabit.run(1s);
  EXPECT_GE(gigabit.path.quantum_bytes(), 16U << 10);
  EXPECT_LE(gigabit.path.quantum_bytes(), 24U << 10);
  Pipe ten(1.19e9, 100us);
  ten.run(1s);
  EXPECT_EQ(ten.path.quantum_bytes(), 64U << 10);
  Pipe hundred(12e9, 100us);
  hundred.run(1s);
  EXPECT_GT(hundred.path.quantum_bytes(), 512U << 10);
}

TEST(Path, FollowsARateThatFalls) {
  Pipe pipe(1.25e9, 100us);
  pipe.run(1s);
  pipe.set_rate(125e6);
  pipe.run(1s);
  EXPECT_NEAR(pipe.path.rate() / 125e6, 1.0, 0.1);
}

TEST(Path, FollowsARateThatGrows) {
  Pipe pipe(125e6, 1ms);
  pipe.run(1s);
  pipe.set_rate(1.25e9);
  pipe.run(1s);
  EXPECT_NEAR(pipe.path.rate() / 1.25e9, 1.0, 0.1);
}

TEST(Path, TheLesserRoundTripOfBothEndsHolds) {
  Pipe pipe(125e6, 2ms);
  pipe.run(500ms);
  const std::uint64_t window = pipe.path.window_bytes();
  pipe.path.on_far_round_trip(200us);
  EXPECT_EQ(pipe.path.round_trip(), 200us);
  EXPECT_GE(pipe.path.own_round_trip(), 2ms) << "what is told is one's own, so that it can grow";
  EXPECT_LT(pipe.path.window_bytes(), window / 2);
  pipe.path.on_far_round_trip(5ms);
  EXPECT_EQ(pipe.path.round_trip(), pipe.path.own_round_trip());
  pipe.path.on_far_round_trip(Duration::zero());
  EXPECT_EQ(pipe.path.window_bytes(), window);
}

TEST(Path, AWayThatHasGrownLongerIsTakenForLongerAfterAWhile) {
  Pipe pipe(125e6, 100us);
  const auto now_and_then = [&pipe](int times) {  // Each first slice is a probe.
    for (int i = 0; i < times; ++i) {
      pipe.run(20ms);
      while (pipe.in_flight() > 0) pipe.advance();
      pipe.idle(3s);
    }
  };
  now_and_then(4);
  EXPECT_LT(pipe.path.own_round_trip(), 1ms);
  pipe.set_round_trip(50ms);
  now_and_then(1);
  EXPECT_LT(pipe.path.own_round_trip(), 1ms) << "one slow moment says nothing";
  now_and_then(8);
  EXPECT_GE(pipe.path.own_round_trip(), 50ms);
}

TEST(Path, WhatASenderDidNotAskForSaysNothingOfThePath) {
  Pipe pipe(125e6, 100us);
  pipe.run(500ms);
  const double known = pipe.path.rate();
  while (pipe.in_flight() > 0) pipe.advance();
  for (int i = 0; i < 1000; ++i) {  // A frame a millisecond: a tenth of the rate.
    pipe.send(4096, false);
    pipe.advance();
    pipe.idle(1ms);
  }
  EXPECT_GE(pipe.path.rate(), 0.9 * known);
}

TEST(Path, AsksForAProbeAtFirstAndWhenItHasSeenNoneForLong) {
  Pipe pipe(125e6, 100us);
  EXPECT_TRUE(pipe.path.wants_probe(pipe.now()));
  pipe.send(4096, true);
  pipe.advance();
  EXPECT_FALSE(pipe.path.wants_probe(pipe.now()));
  pipe.idle(3s);
  EXPECT_TRUE(pipe.path.wants_probe(pipe.now()));
}

TEST(Path, WhatWasSentLongAgoHasLeftThisHost) {
  Pipe pipe(125e6, 100us);
  pipe.run(500ms);
  while (pipe.in_flight() > 0) pipe.advance();
  const std::uint64_t before = pipe.path.departed_bytes(pipe.now());
  pipe.send(4096, true);
  EXPECT_EQ(pipe.path.departed_bytes(pipe.now()), before);
  pipe.idle(100ms);
  EXPECT_EQ(pipe.path.departed_bytes(pipe.now()), before + 4096);
}

}  // namespace
}  // namespace stretto
