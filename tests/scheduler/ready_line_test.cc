// SPDX-License-Identifier: Apache-2.0
// What is said on the descriptor, when, and what happens if nobody listens.
#include "scheduler/ready_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace stretto {
namespace {

class ReadyIdle final : public Agent {
 public:
  void step(Duration) override { ++steps; }
  Time next_due() const override { return Time(5s); }
  bool over() const override { return steps > 2; }
  int steps = 0;
};

// What is in the pipe; it must not be empty, unless its other end is closed.
std::string taken(int descriptor) {
  std::array<char, 256> bytes{};
  const ssize_t got = ::read(descriptor, bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(got < 0 ? 0 : got)};
}

TEST(ReadyLine, SaysWhereAndThenHowFarTheJobHasCome) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ReadyIdle agent;
  Gathering gathering = Gathering::kUnawaited;
  ReadyLine line(ends[1], agent, [&gathering] { return gathering; });
  ASSERT_TRUE(line.tell_address("127.0.0.1:4711").ok());
  EXPECT_EQ(taken(ends[0]), "127.0.0.1:4711\n");
  const auto step = [&](Gathering now) {
    gathering = now;
    line.step(0ns);
    line.step(0ns);  // Said once.
  };
  step(Gathering::kUnawaited);
  step(Gathering::kAwaited);
  EXPECT_EQ(taken(ends[0]), "workers wait\n");
  step(Gathering::kUnawaited);
  EXPECT_EQ(taken(ends[0]), "no worker waits\n");
  step(Gathering::kComplete);
  EXPECT_EQ(taken(ends[0]), "all are here\n");
  EXPECT_EQ(taken(ends[0]), "");  // Closed.
  EXPECT_EQ(agent.steps, 8);
  EXPECT_TRUE(line.over());
  EXPECT_EQ(line.next_due(), Time(5s));
  ::close(ends[0]);
}

TEST(ReadyLine, WhatAFullPipeDoesNotTakeIsSaidLater) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  ReadyIdle agent;
  ReadyLine line(ends[1], agent, [] { return Gathering::kComplete; });
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

TEST(ReadyLine, WithoutADescriptorOnlySteps) {
  ReadyIdle agent;
  ReadyLine line(-1, agent, [] { return Gathering::kComplete; });
  EXPECT_TRUE(line.tell_address("h:1").ok());
  line.step(0ns);
  EXPECT_EQ(agent.steps, 1);
}

TEST(ReadyLine, ADescriptorThatCannotBeWrittenToIsAnError) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[1]);
  ReadyIdle agent;
  ReadyLine line(ends[0], agent, [] { return Gathering::kUnawaited; });
  EXPECT_EQ(line.tell_address("h:1").code(), Code::kInvalidArgument);
}

TEST(ReadyLine, AReaderThatLeftAfterTheFirstLineChangesNothing) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ReadyIdle agent;
  ReadyLine line(ends[1], agent, [] { return Gathering::kComplete; });
  ASSERT_TRUE(line.tell_address("h:1").ok());
  ::close(ends[0]);
  line.step(0ns);
  EXPECT_EQ(agent.steps, 1);
}

TEST(ReadyLine, SaysWithoutWhomAnElasticJobGoesOn) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ReadyIdle agent;
  std::vector<Rank> lost;
  ReadyLine line(
      ends[1], agent, [] { return Gathering::kComplete; },
      [&lost]() -> const std::vector<Rank>& { return lost; });
  line.step(0ns);
  EXPECT_EQ(taken(ends[0]), "all are here\n");
  lost = {2, 0};
  line.step(0ns);
  EXPECT_EQ(taken(ends[0]), "the job goes on without worker 2\nthe job goes on without worker 0\n");
  EXPECT_EQ(loss_named("the job goes on without worker 2"), 2U);
  EXPECT_FALSE(loss_named("the job goes on without worker 2x"));
  EXPECT_FALSE(loss_named("all are here"));
  ::close(ends[0]);
}

}  // namespace
}  // namespace stretto
