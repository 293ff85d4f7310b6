// SPDX-License-Identifier: Apache-2.0
// Heartbeats lead to one report when a job stalls, and to one when it continues.
#include "scheduler/monitoring/stall_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using control::Activity;
using testing::HasSubstr;

TEST(TypicalWaitTest, LimitIsFiveTimesSecondLongestWait) {
  TypicalWait waits;
  EXPECT_EQ(waits.limit(), TypicalWait::kFloorAtFirst);
  waits.heard(1, 4, {});
  EXPECT_EQ(waits.limit(), TypicalWait::kFloorAtFirst);
  waits.heard(1, 5, {});
  EXPECT_EQ(waits.limit(), TypicalWait::kFloor);
  waits.heard(1, 6, {{.rounds = 6, .time = 30s}});
  EXPECT_EQ(waits.limit(), TypicalWait::kFloor) << "once is no habit";
  waits.heard(1, 7, {{.rounds = 6, .time = 20s}, {.rounds = 7, .time = 1s}});
  EXPECT_EQ(waits.limit(), 5s);
  waits.heard(2, 7, {{.rounds = 5, .time = 3s}, {.rounds = 7, .time = 2s}});
  EXPECT_EQ(waits.limit(), 10s) << "of the slower shard";
  waits.left(2);
  waits.heard(1, 56, {});
  EXPECT_EQ(waits.limit(), TypicalWait::kFloor) << "the 30 s are forgotten";
}

TEST(TypicalWaitTest, BelieveNoNonsense) {
  TypicalWait waits;
  waits.heard(1, 5, {{.rounds = 6, .time = 90s}, {.rounds = 7, .time = 90s}});
  EXPECT_EQ(waits.limit(), TypicalWait::kFloor) << "of rounds that are not done";
  waits.heard(1, 5,
              {{.rounds = 4, .time = Duration::max()}, {.rounds = 5, .time = Duration::max()}});
  EXPECT_EQ(waits.limit(), Duration::max());
}

class StallDetectorTest : public testing::Test {
 protected:
  StallDetectorTest() {
    server_ = {.node = 1, .role = Role::kServer, .rank = 0, .shard = 0, .address = ""};
    for (Rank rank = 0; rank < 2; ++rank) {
      workers_.push_back(
          {.node = 2 + rank, .role = Role::kWorker, .rank = rank, .shard = 0, .address = ""});
    }
  }
  /// All members send heartbeats every half second; worker 1 reports the activity set by the test.
  std::vector<StallDetector::Word> pass(Duration time) {
    std::vector<StallDetector::Word> words;
    for (const Time end = now_ + time; now_ < end; now_ += 100ms) {
      if (now_ >= next_beat_) beat();
      if (auto word = watch_.look(now_)) words.push_back(*word);
    }
    return words;
  }
  void beat() {
    next_beat_ = now_ + 500ms;
    if (!server_silent_) beat_of_server();
    beat_of_workers();
  }
  void beat_of_server() {
    control::Heartbeat of_server{.rounds = rounds_};
    of_server.ended_waits = std::exchange(ended_, {});
    if (stands_since_ != Time() && now_ - stands_since_ >= 1s) {
      of_server.long_waits = {
          {.tensor = "x", .round = rounds_ + 1, .age = now_ - stands_since_, .ranks = {1}}};
    }
    watch_.heard(server_, of_server, now_);
  }
  void beat_of_workers() {
    control::Heartbeat of_first;
    of_first.activity = Activity{};
    if (stands_since_ != Time()) {
      of_first.waits_in = "push_pull 'x'";
      of_first.activity =
          Activity{.place = Activity::Place::kInCall, .age = now_ - stands_since_, .awaits = {1}};
    }
    watch_.heard(workers_[0], of_first, now_);
    if (silent_) return;
    control::Heartbeat of_second;
    of_second.activity = second_;
    if (computes_) second_.cpu += 500ms;
    watch_.heard(workers_[1], of_second, now_);
  }
  void stand_still() { stands_since_ = now_; }
  void go_on() {
    ended_.push_back({.rounds = ++rounds_, .time = now_ - stands_since_});
    stands_since_ = Time();
  }
  std::string said(Duration time) {
    std::string all;
    for (const auto& word : pass(time)) all += word.text + (word.alarming ? "!\n" : "\n");
    return all;
  }

  StallDetector watch_{500ms};
  Member server_;
  std::vector<Member> workers_;
  Time now_{1h};
  Time next_beat_;
  Time stands_since_;
  std::uint64_t rounds_ = 100;
  std::vector<control::EndedWait> ended_;
  Activity second_;
  bool computes_ = true;
  bool silent_ = false;
  bool server_silent_ = false;
};

TEST_F(StallDetectorTest, ReportsStallAndItsEndOnce) {
  EXPECT_EQ(said(5s), "");
  stand_still();
  EXPECT_EQ(said(2s), "");
  EXPECT_THAT(
      said(3s),
      HasSubstr("s (computing, computes): worker 1 computes (1.0 cores), and has not pushed 'x'"));
  EXPECT_EQ(watch_.verdict()->rank, 1U);
  EXPECT_EQ(said(20s), "") << "once";
  EXPECT_GE(watch_.verdict()->age, 20s);
  go_on();
  EXPECT_THAT(said(3s), HasSubstr("the standstill is over"));
  EXPECT_FALSE(watch_.verdict());
}

TEST_F(StallDetectorTest, IsNamedAgainWhenItsCauseChanges) {
  pass(1s);
  stand_still();
  EXPECT_THAT(said(5s), HasSubstr("worker 1 computes"));
  computes_ = false;
  second_.rest = Activity::Rest::kLock;
  EXPECT_THAT(said(5s), HasSubstr("worker 1 is blocked in its own program"));
  silent_ = true;
  EXPECT_THAT(said(4s), HasSubstr("worker 1 has not been heard of"));
}

TEST_F(StallDetectorTest, WaitingPausesExcuseNoPause) {
  const auto pause = [&](const std::string& waits_in) {
    for (const Member& worker : workers_) {
      control::Heartbeat beat{.waits_in = waits_in};
      beat.activity = Activity{};
      beat.activity->pause = "checkpoint";
      watch_.heard(worker, beat, now_);
    }
  };
  pause("");
  EXPECT_EQ(watch_.pause_of_others(2), "checkpoint") << "worker 1 works";
  pause("barrier");
  EXPECT_EQ(watch_.pause_of_others(2), "") << "both wait";
  EXPECT_EQ(watch_.pause_of_others(1), "checkpoint") << "a shard does not pause";
}

TEST_F(StallDetectorTest, OthersHearOfAPause) {
  pass(1s);
  EXPECT_EQ(watch_.pause_of_others(1), "");
  second_.pause = "evaluation";
  pass(1s);
  EXPECT_EQ(watch_.pause_of_others(1), "evaluation");
  EXPECT_EQ(watch_.pause_of_others(2), "evaluation");
  EXPECT_EQ(watch_.pause_of_others(3), "") << "it pauses itself";
  watch_.left(3);
  EXPECT_EQ(watch_.pause_of_others(1), "");
}

TEST_F(StallDetectorTest, APauseIsNone) {
  pass(1s);
  second_.pause = "evaluation";
  pass(1s);
  stand_still();
  EXPECT_EQ(said(60s), "");
  second_.pause.clear();
  EXPECT_EQ(said(1s), "") << "the worker has yet to make its step";
  go_on();
  EXPECT_EQ(said(2s), "");
  EXPECT_EQ(watch_.limit(), TypicalWait::kFloor);
  for (int i = 0; i < 3; ++i) {  // Such waits do not count as usual either.
    second_.pause = "saving";
    pass(1s);
    stand_still();
    pass(20s);
    second_.pause.clear();
    go_on();
    pass(1s);
  }
  EXPECT_EQ(watch_.limit(), TypicalWait::kFloor);
}

TEST_F(StallDetectorTest, StepsThatAlwaysWaitLongAreNone) {
  pass(1s);
  const auto step = [&] {
    stand_still();
    const std::string words = said(5s);
    go_on();
    pass(1s);
    return words;
  };
  EXPECT_NE(step(), "") << "nobody can know";
  EXPECT_NE(step(), "");
  EXPECT_EQ(step(), "");
  EXPECT_EQ(step(), "");
}

TEST_F(StallDetectorTest, AServerThatStopsIsNamed) {
  pass(1s);
  server_silent_ = true;
  stand_still();
  EXPECT_EQ(said(2s), "");
  EXPECT_THAT(said(3s), HasSubstr("(stopped, silence): server 0 has not been heard of for 3."));
}

TEST_F(StallDetectorTest, AWorkerThatStopsIsNotSaidToComputeBefore) {
  pass(1s);
  stand_still();
  pass(1s);
  silent_ = true;  // The limit passes before its silence is long enough to count as stopped.
  EXPECT_THAT(said(4s), HasSubstr("(stopped, silence): worker 1"));
  for (int tenths = 0; tenths < 10; ++tenths) {
    watch_ = StallDetector{500ms};
    silent_ = false;
    go_on();
    pass(1s);
    stand_still();
    pass(tenths * 100ms);
    silent_ = true;
    EXPECT_THAT(said(4s), testing::StartsWith("standstill for"));
    EXPECT_EQ(watch_.verdict()->cause, StallCause::kSilence) << tenths;
  }
}

TEST_F(StallDetectorTest, LateServerHeartbeatDuringPauseIsNoStall) {
  pass(1s);
  second_.pause = "evaluation";
  pass(1s);
  stand_still();
  pass(5s);
  server_silent_ = true;  // The server gets no processor for a while.
  EXPECT_EQ(said(5s), "");
  server_silent_ = false;
  EXPECT_EQ(said(5s), "");
}

TEST_F(StallDetectorTest, SuspendedSchedulerReportsNoStall) {
  for (const Duration gap : {1700ms, 1900ms, 2100ms, 30000ms}) {  // The scheduler was stopped,
    pass(1s);
    stand_still();
    pass(1s);
    now_ += gap;  // and all other processes too.
    watch_.look(now_);
    server_silent_ = true;  // The server is the last to wake up,
    EXPECT_EQ(said(700ms), "") << gap.count();
    server_silent_ = false;
    EXPECT_EQ(said(500ms), "") << gap.count();
    go_on();  // and the round ends.
    EXPECT_EQ(said(1s), "") << gap.count();
  }
}

TEST_F(StallDetectorTest, SchedulerWithoutHeartbeatsReportsNoStall) {
  pass(1s);
  stand_still();
  pass(1s);
  for (int i = 0; i < 45; ++i) EXPECT_FALSE(watch_.look(now_ += 100ms));  // No CPU for any.
  next_beat_ = now_;
  server_silent_ = true;
  EXPECT_EQ(said(700ms), "");
  server_silent_ = false;
  EXPECT_EQ(said(500ms), "");
  go_on();
  EXPECT_EQ(said(1s), "");
}

TEST_F(StallDetectorTest, ForgetsDepartedMembers) {
  pass(1s);
  stand_still();
  pass(4s);
  ASSERT_TRUE(watch_.verdict());
  for (const Member& worker : workers_) watch_.left(worker.node);
  workers_.clear();
  watch_.left(server_.node);
  for (int i = 0; i < 20; ++i) watch_.look(now_ += 100ms);
  EXPECT_FALSE(watch_.verdict());
}

}  // namespace
}  // namespace stretto
