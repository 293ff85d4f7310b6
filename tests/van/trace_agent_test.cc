// SPDX-License-Identifier: Apache-2.0
// A node's side of tracing: orders of the scheduler, answers, and files from the start.
#include "van/membership/trace_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "observe/trace/file.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using Action = control::TraceCommand::Action;

class TraceAgentTest : public testing::Test {
 protected:
  struct Nobody final : Van::Handler {
    void on_control(LinkId, const control::Message&) override {}
    void on_data(LinkId, const wire::Header&, Buffer) override {}
    void on_acked(LinkId, wire::PushTag) override {}
    void on_broken(LinkId, const Status&) override {}
  };

  TraceAgentTest() {
    van_.listen("127.0.0.1:9000").or_exit();
    scheduler_.connect();
    van_.step(nobody_, Duration::zero());
  }

  void order(Action action, std::uint64_t session, std::uint32_t iterations = 0) {
    control::TraceCommand message{
        .action = action, .session = session, .iterations = iterations, .records = 8192};
    EXPECT_TRUE(agent_.on_control(scheduler_.link(), message));
  }
  control::TraceChunk chunk(std::uint64_t session) {
    order(Action::kSend, session);
    van_.step(nobody_, Duration::zero());
    return std::get<control::TraceChunk>(scheduler_.control());
  }
  void note(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) agent_.tracer().note(TraceRecord{});
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Config config_ = fake::config(Role::kWorker, 0);
  Van van_{fake::scripted_transport(wire_), clock_};
  fake::FarEnd scheduler_{wire_, 101, kSchedulerNode};
  Nobody nobody_;
  TraceAgent agent_{config_, van_};
  MembershipClient membership_{config_, {}, van_, clock_};
};

TEST_F(TraceAgentTest, StartsSendsAndStops) {
  note(3);
  EXPECT_EQ(chunk(1).notes.size(), 0U);
  order(Action::kStart, 1);
  EXPECT_TRUE(agent_.tracer().on());
  const Time began = clock_.now();
  note(5000);
  const control::TraceChunk first = chunk(1);
  EXPECT_EQ(first.session, 1U);
  EXPECT_EQ(first.notes.size(), control::TraceChunk::kMostNotes);
  EXPECT_EQ(chunk(1).notes.size(), 5000 - control::TraceChunk::kMostNotes);
  clock_.advance_to(clock_.now() + 3s);
  order(Action::kStop, 1);
  EXPECT_FALSE(agent_.tracer().on());
  const control::TraceChunk last = chunk(1);
  ASSERT_EQ(last.notes.size(), 1U);
  const TraceNote& all = last.notes.front();
  EXPECT_EQ(all.span.kind, TraceKind::kTraced);
  EXPECT_EQ(all.span.begin_ns, trace_time(began));
  EXPECT_EQ(all.span.end_ns, trace_time(began + 3s));
  order(Action::kStop, 1);
  EXPECT_EQ(chunk(1).notes.size(), 0U);
}

TEST_F(TraceAgentTest, ANewSessionBeginsEmptyAndCountsItsOwnDrops) {
  order(Action::kStart, 1);
  note(10'000);
  EXPECT_EQ(chunk(1).dropped, 10'000U - 8192U);
  order(Action::kStart, 2);
  EXPECT_EQ(chunk(1).notes.size(), 0U);
  note(2);
  const control::TraceChunk own = chunk(2);
  EXPECT_EQ(own.notes.size(), 2U);
  EXPECT_EQ(own.dropped, 0U);
}

TEST_F(TraceAgentTest, SaysWhenTheIterationsAreOverAndNotesOneMore) {
  agent_.tick(membership_, 0, 7);
  order(Action::kStart, 1, 3);
  agent_.tick(membership_, 0, 10);
  EXPECT_FALSE(chunk(1).reached);
  agent_.tick(membership_, 0, 11);
  EXPECT_TRUE(chunk(1).reached);
  EXPECT_TRUE(agent_.tracer().on());
  agent_.tick(membership_, 0, 12);
  EXPECT_FALSE(agent_.tracer().on());
}

TEST_F(TraceAgentTest, OtherMessagesAreOthers) {
  EXPECT_FALSE(agent_.on_control(1, fake::heartbeat()));
}

}  // namespace
}  // namespace stretto
