// SPDX-License-Identifier: Apache-2.0
// The launcher's record of a restartable scheduler: its journal folder, incarnations and silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "tools/launch/supervision/scheduler_supervisor.h"

namespace stretto::launch {
namespace {

class SchedulerSupervisorTest : public testing::Test {
 protected:
  SchedulerSupervisorTest() {
    plan_.restarts = 2;
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~SchedulerSupervisorTest() override { std::filesystem::remove_all(folder_); }
  std::vector<std::string> folders() const { return {folder_ + "/here"}; }

  Plan plan_;
  std::string folder_ = "/tmp/stretto-seat-XXXXXX";
  Time now_ = Time(100s);
};

TEST_F(SchedulerSupervisorTest, EachLifeHasAGreaterNumberAndTheSameJournal) {
  std::string journal;
  {
    SchedulerSupervisor seat(plan_, true, folders());
    ASSERT_TRUE(seat.refusal().ok()) << seat.refusal().text();
    const SchedulerIncarnation first = seat.begin_life(now_);
    EXPECT_EQ(first.life, 1U);
    EXPECT_EQ(first.restarts, 2U);
    journal = first.journal;
    EXPECT_TRUE(std::filesystem::is_directory(std::filesystem::path(journal).parent_path()));
    seat.note_restart();
    const SchedulerIncarnation second = seat.begin_life(now_);
    EXPECT_EQ(second.life, 2U);
    EXPECT_EQ(second.restarts, 1U);
    EXPECT_EQ(second.journal, journal);
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(journal).parent_path()));
}

TEST_F(SchedulerSupervisorTest, ElsewhereAndWithoutRestartsItDoesNotComeBack) {
  EXPECT_TRUE(SchedulerSupervisor(plan_, false, folders()).begin_life(now_).journal.empty());
  plan_ = {};
  EXPECT_EQ(SchedulerSupervisor(plan_, true, folders()).restarts_left(), 0U);
}

// Each scheduler incarnation reports all losses again, in chronological order.
TEST_F(SchedulerSupervisorTest, RepeatedLossReportIsNewsOnce) {
  plan_.least_workers = 1;
  SchedulerSupervisor seat(plan_, true, folders());
  EXPECT_NE(seat.restarts_left(), 0U) << "in elastic jobs too";
  seat.begin_life(now_);
  EXPECT_TRUE(seat.is_news());
  EXPECT_TRUE(seat.is_news());
  seat.begin_life(now_);
  EXPECT_FALSE(seat.is_news());
  seat.begin_life(now_);
  EXPECT_FALSE(seat.is_news());
  EXPECT_FALSE(seat.is_news());
  EXPECT_TRUE(seat.is_news()) << "one that none before had told";
}

TEST_F(SchedulerSupervisorTest, WithoutAFolderItDoesNotComeBackAndThatIsSaid) {
  SchedulerSupervisor seat(plan_, true, {folder_ + "/none" + "/below"});
  EXPECT_FALSE(seat.refusal().ok());
  EXPECT_EQ(seat.restarts_left(), 0U);
  EXPECT_TRUE(seat.begin_life(now_).journal.empty());
}

TEST_F(SchedulerSupervisorTest, OneThatSaysNothingIsMissedOnce) {
  SchedulerSupervisor seat(plan_, true, folders());
  seat.begin_life(now_);
  EXPECT_FALSE(seat.deadline()) << "it may yet come together";
  seat.begin_watch();
  for (int i = 0; i < 30; ++i) {
    now_ += 1s;
    seat.hear(now_);
    EXPECT_FALSE(seat.is_missed(now_));
  }
  const Time last = now_;
  while (!seat.is_missed(now_)) now_ = *seat.deadline();
  EXPECT_EQ(now_ - last, plan_.limits.word);
  now_ += 1s;
  EXPECT_FALSE(seat.is_missed(now_));
  seat.note_restart();
  seat.begin_life(now_);
  const Time begun = now_;
  while (!seat.is_missed(now_)) now_ = *seat.deadline();
  EXPECT_EQ(now_ - begun, 10s) << "a process has to begin";
}

TEST_F(SchedulerSupervisorTest, ASchedulerThatHasEndedIsNotMissed) {
  SchedulerSupervisor seat(plan_, true, folders());
  seat.begin_life(now_);
  seat.begin_watch();
  seat.note_end(0);
  EXPECT_TRUE(seat.ended().empty());
  EXPECT_FALSE(seat.deadline());
  seat.hear(now_ += 1s);  // Its last lines may be read after its end.
  EXPECT_FALSE(seat.is_missed(now_ += 1s));
  EXPECT_FALSE(seat.is_missed(now_ += 60s)) << "a launcher that stood still";
  EXPECT_FALSE(seat.is_missed(now_ += 1s));
  seat.begin_life(now_);
  EXPECT_TRUE(seat.deadline());
}

TEST_F(SchedulerSupervisorTest, SuspendedLauncherDoesNotMissScheduler) {
  SchedulerSupervisor seat(plan_, true, folders());
  seat.begin_life(now_);
  seat.begin_watch();
  now_ += 60s;
  EXPECT_FALSE(seat.is_missed(now_));
}

TEST_F(SchedulerSupervisorTest, TheLastOneIsNotMissed) {
  plan_.restarts = 1;
  SchedulerSupervisor seat(plan_, true, folders());
  seat.begin_watch();
  seat.note_restart();
  seat.begin_life(now_);
  EXPECT_FALSE(seat.deadline());
  EXPECT_FALSE(seat.is_missed(now_ + 100s));
}

TEST_F(SchedulerSupervisorTest, RestartedMemberIsNotAmongEnded) {
  SchedulerSupervisor seat(plan_, true, folders());
  seat.note_end(1);
  seat.note_end(2);
  seat.note_start(1);
  EXPECT_EQ(seat.ended(), (std::set<std::size_t>{2}));
}

}  // namespace
}  // namespace stretto::launch
