// SPDX-License-Identifier: Apache-2.0
// The lines on the descriptor, their times, and the behaviour without a reader.
#include "scheduler/launcher/status_pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "tests/sim/sim_network.h"

namespace stretto {
namespace {

class ReadyIdle final : public LoopTask {
 public:
  void step(Duration) override { ++steps; }
  Time next_due() const override { return Time(5s); }
  bool over() const override { return steps > 2; }
  int steps = 0;
};

// The contents of the pipe, which must not be empty unless the other end is closed.
std::string taken(int descriptor) {
  std::array<char, 256> bytes{};
  const ssize_t got = ::read(descriptor, bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(got < 0 ? 0 : got)};
}

TEST(StatusPipe, SaysWhereAndThenHowFarTheJobHasCome) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ReadyIdle agent;
  const sim::VirtualClock clock;
  JobFormation gathering = JobFormation::kUnawaited;
  StatusPipe line(ends[1], agent, [&gathering] { return gathering; }, clock);
  ASSERT_TRUE(line.tell_address("127.0.0.1:4711").ok());
  EXPECT_EQ(taken(ends[0]), "127.0.0.1:4711\n");
  const auto step = [&](JobFormation now) {
    gathering = now;
    line.step(0ns);
    line.step(0ns);  // Reported once.
  };
  step(JobFormation::kUnawaited);
  step(JobFormation::kAwaited);
  EXPECT_EQ(taken(ends[0]), "workers wait\n");
  step(JobFormation::kUnawaited);
  EXPECT_EQ(taken(ends[0]), "no worker waits\n");
  step(JobFormation::kComplete);
  EXPECT_EQ(taken(ends[0]), "all are here\n");
  EXPECT_EQ(taken(ends[0]), "");  // Closed.
  EXPECT_EQ(agent.steps, 8);
  EXPECT_TRUE(line.over());
  EXPECT_EQ(line.next_due(), Time(5s));
  ::close(ends[0]);
}

TEST(StatusPipe, RetriesLineAfterFullPipe) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  ReadyIdle agent;
  const sim::VirtualClock clock;
  StatusPipe line(ends[1], agent, [] { return JobFormation::kComplete; }, clock);
  const std::string block(4096, '-');
  while (::write(ends[1], block.data(), block.size()) > 0) {
  }
  line.step(0ns);
  std::string read;
  for (std::string piece; !(piece = taken(ends[0])).empty();) read += piece;
  EXPECT_EQ(read.find_first_not_of('-'), std::string::npos);
  line.step(0ns);
  EXPECT_EQ(taken(ends[0]), "all are here\n");
  ::close(ends[0]);
}

TEST(StatusPipe, WithoutADescriptorOnlySteps) {
  ReadyIdle agent;
  const sim::VirtualClock clock;
  StatusPipe line(-1, agent, [] { return JobFormation::kComplete; }, clock);
  EXPECT_TRUE(line.tell_address("h:1").ok());
  line.step(0ns);
  EXPECT_EQ(agent.steps, 1);
}

TEST(StatusPipe, ADescriptorThatCannotBeWrittenToIsAnError) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[1]);
  ReadyIdle agent;
  const sim::VirtualClock clock;
  StatusPipe line(ends[0], agent, [] { return JobFormation::kUnawaited; }, clock);
  EXPECT_EQ(line.tell_address("h:1").code(), Code::kInvalidArgument);
}

TEST(StatusPipe, ClosedReaderChangesNoBehavior) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ReadyIdle agent;
  const sim::VirtualClock clock;
  StatusPipe line(ends[1], agent, [] { return JobFormation::kComplete; }, clock);
  ASSERT_TRUE(line.tell_address("h:1").ok());
  ::close(ends[0]);
  line.step(0ns);
  EXPECT_EQ(agent.steps, 1);
}

TEST(StatusPipe, SaysWhichStepHasBeenSaved) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ReadyIdle agent;
  const sim::VirtualClock clock;
  std::optional<SavedCheckpoint> saved;
  StatusPipe line(
      ends[1], agent, [] { return JobFormation::kComplete; }, clock,
      StatusPipe::Changes{.losses = {},
                          .moves = {},
                          .replacements = {},
                          .leavers = {},
                          .guests = {},
                          .saved = [&saved] { return saved; },
                          .life = {},
                          .missed = {}});
  line.step(0ns);
  EXPECT_EQ(taken(ends[0]), "all are here\n");
  for (const SavedCheckpoint& one : {SavedCheckpoint{.number = 6, .step = 0, .is_made = false},
                                     SavedCheckpoint{.number = 7, .step = 300},
                                     SavedCheckpoint{.number = 8, .step = 18446744073709551615U}}) {
    saved = one;
    line.step(0ns);
    line.step(0ns);  // Reported once.
    const std::string said = taken(ends[0]);
    ASSERT_TRUE(said.ends_with('\n'));
    EXPECT_EQ(saved_in(said.substr(0, said.size() - 1)), one) << said;
  }
  EXPECT_FALSE(saved_in("a checkpoint is complete, of step "));
  EXPECT_FALSE(saved_in("a checkpoint is complete, of step 3"));
  EXPECT_FALSE(saved_in("a checkpoint is complete, of step 3x, number 2"));
  EXPECT_FALSE(saved_in("a checkpoint is complete, of step 18446744073709551616, number 2"));
  EXPECT_FALSE(saved_in("a checkpoint is complete, of step 3, number "));
  ::close(ends[0]);
}

TEST(StatusPipe, ShowsItsLifeFromTheBeginAndAgainAndAgain) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ReadyIdle agent;
  sim::VirtualClock clock;
  StatusPipe line(
      ends[1], agent, [] { return JobFormation::kUnawaited; }, clock,
      StatusPipe::Changes{.losses = {},
                          .moves = {},
                          .replacements = {},
                          .leavers = {},
                          .guests = {},
                          .saved = {},
                          .life = 1s,
                          .missed = {}});
  line.step(0ns);
  line.step(0ns);
  EXPECT_EQ(taken(ends[0]), "the scheduler is at work\n");
  clock.advance_to(clock.now() + 1s);
  line.step(0ns);
  EXPECT_EQ(taken(ends[0]), "the scheduler is at work\n");
  ::close(ends[0]);
}

TEST(StatusPipe, TellsOfMissedWorkersBeforeAllHaveCome) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ReadyIdle agent;
  const sim::VirtualClock clock;
  std::vector<Rank> missed{3};
  StatusPipe::Changes changes;
  changes.missed = [&missed]() -> const std::vector<Rank>& { return missed; };
  StatusPipe line(ends[1], agent, [] { return JobFormation::kAwaited; }, clock, changes);
  line.step(0ns);
  EXPECT_EQ(taken(ends[0]), "another is awaited for worker 3\nworkers wait\n");
  missed.push_back(3);
  line.step(0ns);
  EXPECT_EQ(taken(ends[0]), "another is awaited for worker 3\n");
  EXPECT_EQ(missed_in("another is awaited for worker 13"), 13U);
  EXPECT_FALSE(missed_in("another is awaited for worker "));
  ::close(ends[0]);
}

class ReadyLineElastic : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe(ends_), 0);
    line_.emplace(
        ends_[1], agent_, [] { return JobFormation::kComplete; }, clock_,
        StatusPipe::Changes{.losses = [this]() -> const std::vector<LossReport>& { return lost_; },
                            .moves = {},
                            .replacements = [this] { return replacements_; },
                            .leavers = [this]() -> const std::vector<Rank>& { return leavers_; },
                            .guests = [this] { return guests_; },
                            .saved = {},
                            .life = {},
                            .missed = {}});
    ASSERT_EQ(said(), "all are here\n");
  }
  void TearDown() override { ::close(ends_[0]); }

  // The lines of one iteration; "-": none.
  std::string said() {
    line_->step(0ns);
    const ssize_t mark = ::write(ends_[1], "-", 1);
    std::string text = taken(ends_[0]);
    EXPECT_TRUE(mark == 1 && text.ends_with('-'));
    return text.size() > 1 ? text.substr(0, text.size() - 1) : text;
  }

  int ends_[2] = {-1, -1};
  ReadyIdle agent_;
  sim::VirtualClock clock_;
  std::vector<LossReport> lost_;
  std::vector<Rank> replacements_;
  std::vector<Rank> leavers_;
  std::uint32_t guests_ = 0;
  std::optional<StatusPipe> line_;
};

TEST_F(ReadyLineElastic, ReportsLostAndReturnedWorkers) {
  lost_ = {{.number = 2}, {.number = 0}, {.number = 2, .is_back = true}};
  EXPECT_EQ(said(),
            "the job goes on without worker 2\nthe job goes on without worker 0\n"
            "again there comes worker 2\n");
  EXPECT_EQ(said(), "-");
  const std::optional<LossReport> lost = loss_news_in("the job goes on without worker 2");
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->number == 2 && !lost->is_back);
  const std::optional<LossReport> back = loss_news_in("again there comes worker 3");
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->number == 3 && back->is_back);
  EXPECT_FALSE(loss_news_in("the job goes on without worker 2x"));
  EXPECT_FALSE(loss_news_in("again there comes worker "));
  EXPECT_FALSE(loss_news_in("all are here"));
}

TEST_F(ReadyLineElastic, SaysOnceWhichReplacementHasJoined) {
  replacements_ = {4};
  EXPECT_EQ(said(), "worker 4 has joined\n");
  replacements_ = {3, 4};
  EXPECT_EQ(said(), "worker 3 has joined\n");
  replacements_ = {};
  EXPECT_EQ(said(), "-");
  replacements_ = {4};
  EXPECT_EQ(said(), "worker 4 has joined\n") << "another process of that number";
  EXPECT_EQ(joined_in("worker 14 has joined"), 14U);
  EXPECT_FALSE(joined_in("worker  has joined"));
  EXPECT_FALSE(joined_in("worker has joined"));
  EXPECT_FALSE(joined_in("the job goes on without worker 2"));
}

TEST_F(ReadyLineElastic, TellsOnceWhichWorkersHaveLeft) {
  leavers_ = {2, 0};
  EXPECT_EQ(said(), "worker 2 has left in order\nworker 0 has left in order\n");
  leavers_.push_back(1);
  EXPECT_EQ(said(), "worker 1 has left in order\n");
  EXPECT_EQ(said(), "-");
  EXPECT_EQ(left_in("worker 14 has left in order"), 14U);
  EXPECT_FALSE(left_in("worker 14 has joined"));
  EXPECT_FALSE(left_in("worker  has left in order"));
}

TEST_F(ReadyLineElastic, SaysAgainAndAgainHowManyGuestsThereAre) {
  guests_ = 2;
  EXPECT_EQ(said(), "2 workers are in that have joined by themselves\n");
  clock_.advance_to(clock_.now() + StatusPipe::kGuestsEvery - 1ns);
  EXPECT_EQ(said(), "-");
  clock_.advance_to(clock_.now() + 1ns);
  EXPECT_EQ(said(), "2 workers are in that have joined by themselves\n");
  guests_ = 0;
  EXPECT_EQ(said(), "0 workers are in that have joined by themselves\n");
  clock_.advance_to(clock_.now() + 10s);
  EXPECT_EQ(said(), "-");
  EXPECT_EQ(guests_named("12 workers are in that have joined by themselves"), 12U);
  EXPECT_FALSE(guests_named(" workers are in that have joined by themselves"));
  EXPECT_FALSE(guests_named("all are here"));
}

}  // namespace
}  // namespace stretto
