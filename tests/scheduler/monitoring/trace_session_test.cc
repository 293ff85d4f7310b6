// SPDX-License-Identifier: Apache-2.0
// The course of a trace in virtual time, with nodes that answer, lag, refuse, and leave.
#include "scheduler/monitoring/trace_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;
using Action = control::TraceCommand::Action;

class TraceSessionTest : public testing::Test {
 protected:
  static Member member(NodeId node, Role role, Rank rank) {
    return {.node = node, .role = role, .rank = rank, .shard = 0, .address = "", .left = false};
  }
  void start(std::uint32_t iterations = 5) {
    ASSERT_TRUE(session_.start(members_, iterations, 60, now_).ok());
  }
  // The commands that are due now, by node.
  std::vector<std::pair<NodeId, Action>> orders() {
    std::vector<std::pair<NodeId, Action>> said;
    for (const auto& order : session_.due(now_))
      said.emplace_back(order.node, order.command.action);
    return said;
  }
  void pass(Duration time = 100ms) { now_ += time; }
  void answer(NodeId node, std::size_t records, bool reached = false) {
    session_.on_chunk(node,
                      {.session = session_.number(),
                       .notes = std::vector<TraceNote>(records),
                       .reached = reached},
                      now_);
  }

  std::vector<Member> members_ = {member(2, Role::kServer, 0), member(3, Role::kWorker, 0)};
  TraceSession session_;
  Time now_{1h};
};

TEST_F(TraceSessionTest, StartsFetchesStopsAndFetchesToTheEnd) {
  start();
  EXPECT_EQ(orders(),
            (std::vector<std::pair<NodeId, Action>>{{2, Action::kStart}, {3, Action::kStart}}));
  EXPECT_TRUE(orders().empty());
  pass();
  EXPECT_EQ(orders().size(), 2U);
  answer(2, 10);
  answer(3, 20);
  EXPECT_EQ(session_.state(), TraceSession::State::kRunning);
  pass();
  orders();
  answer(2, 1);
  answer(3, 1, true);
  EXPECT_EQ(session_.state(), TraceSession::State::kDraining);
  EXPECT_EQ(orders(),
            (std::vector<std::pair<NodeId, Action>>{
                {2, Action::kStop}, {2, Action::kSend}, {3, Action::kStop}, {3, Action::kSend}}));
  answer(2, 0);
  answer(3, 5);
  pass();
  EXPECT_EQ(orders(), (std::vector<std::pair<NodeId, Action>>{{3, Action::kSend}}));
  answer(3, 0);
  EXPECT_EQ(session_.state(), TraceSession::State::kDone);
  EXPECT_EQ(session_.trace().nodes[0].records.size(), 11U);
  EXPECT_EQ(session_.trace().nodes[1].records.size(), 26U);
  EXPECT_THAT(session_.json(0), HasSubstr(R"("state":"done")"));
  EXPECT_THAT(session_.json(1), HasSubstr(R"("count":2,"nodes":[{"dropped":0,"node":3)"));
}

TEST_F(TraceSessionTest, StartFailsWithoutMembers) {
  EXPECT_EQ(session_.start({}, 5, 60, now_).code(), Code::kResource);
  for (Member& member : members_) member.left = true;
  EXPECT_EQ(session_.start(members_, 5, 60, now_).code(), Code::kResource);
  EXPECT_EQ(session_.state(), TraceSession::State::kNone);
}

TEST_F(TraceSessionTest, EndsWhenTheTimeIsOver) {
  start();
  orders();
  pass(61s);
  orders();
  EXPECT_EQ(session_.state(), TraceSession::State::kDraining);
  EXPECT_THAT(session_.remark(), HasSubstr("time was over"));
}

TEST_F(TraceSessionTest, StopsWaitingForUnresponsiveMember) {
  start();
  orders();
  pass();
  orders();
  answer(3, 1, true);
  orders();
  answer(3, 0);
  pass(6s);
  orders();
  EXPECT_EQ(session_.state(), TraceSession::State::kDone);
  EXPECT_THAT(session_.remark(), HasSubstr("server 0 does not answer"));
}

TEST_F(TraceSessionTest, NodesThatWriteFilesSaySo) {
  start();
  for (const NodeId node : {2U, 3U}) {
    session_.on_chunk(node, {.session = session_.number(), .refused = true}, now_);
  }
  EXPECT_EQ(session_.state(), TraceSession::State::kDone);
  EXPECT_THAT(session_.remark(), HasSubstr("STRETTO_TRACE"));
}

TEST_F(TraceSessionTest, OneAtATimeAndWithinLimits) {
  EXPECT_FALSE(session_.start(members_, 5, 0, now_).ok());
  EXPECT_FALSE(session_.start(members_, 5, 100'000, now_).ok());
  start();
  EXPECT_EQ(session_.start(members_, 5, 60, now_).code(), Code::kResource);
  session_.gone(2);
  session_.gone(3);
  EXPECT_FALSE(session_.active());
  start();
  EXPECT_EQ(session_.number(), 2U);
}

TEST_F(TraceSessionTest, ByTimeAloneItEndsWithTheTimeAndNoRemark) {
  ASSERT_TRUE(session_.start(members_, 0, 2, now_).ok());
  EXPECT_EQ(session_.due(now_).front().command.iterations, 0U);
  session_.due(now_ + 1900ms);
  EXPECT_EQ(session_.state(), TraceSession::State::kRunning);
  session_.due(now_ + 2s);
  EXPECT_EQ(session_.state(), TraceSession::State::kDraining);
  EXPECT_EQ(session_.remark(), "");
}

TEST_F(TraceSessionTest, DiscardsInvalidChunks) {
  start();
  TraceNote bad;
  bad.span.end_ns = -5;
  control::TraceChunk chunk{.session = 1, .notes = {bad}};
  session_.on_chunk(2, chunk, now_);
  session_.on_chunk(99, chunk, now_);
  chunk.session = 9;
  session_.on_chunk(2, chunk, now_);
  EXPECT_EQ(session_.trace().records(), 0U);
}

TEST_F(TraceSessionTest, ANoteMayBeTwoSpans) {
  start();
  TraceNote note{.span = {.begin_ns = 20, .end_ns = 30, .kind = TraceKind::kSum}, .since_ns = 10};
  session_.on_chunk(2, {.session = 1, .notes = {note}}, now_);
  const std::vector<TraceRecord>& records = session_.trace().nodes[0].records;
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].kind, TraceKind::kReceive);
  EXPECT_EQ(records[0].begin_ns, 10);
  EXPECT_EQ(records[0].end_ns, 20);
  EXPECT_EQ(records[1].kind, TraceKind::kSum);
  note.since_ns = 25;  // It cannot have arrived after it was summed.
  session_.on_chunk(2, {.session = 1, .notes = {note}}, now_);
  note = {.span = {.begin_ns = 20, .end_ns = 30, .kind = TraceKind::kInput}, .since_ns = 10};
  session_.on_chunk(2, {.session = 1, .notes = {note}}, now_);
  EXPECT_EQ(records.size(), 2U);
}

}  // namespace
}  // namespace stretto
