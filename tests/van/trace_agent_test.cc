// SPDX-License-Identifier: Apache-2.0
// A node's side of tracing: orders of the scheduler, answers, and files from the start.
#include "van/trace_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "observe/trace/file.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

class TraceAgentTest : public testing::Test {
 protected:
  struct Nobody final : Van::Handler {
    void on_control(LinkId, const wire::Control&) override {}
    void on_data(LinkId, const wire::Header&, Buffer) override {}
    void on_acked(LinkId, wire::Key) override {}
    void on_broken(LinkId, const Status&) override {}
  };

  TraceAgentTest() {
    van_.listen("127.0.0.1:9000").or_exit();
    scheduler_.connect();
    van_.step(nobody_, Duration::zero());
  }

  void order(wire::TraceCommand::Action action, std::uint64_t session,
             std::uint32_t iterations = 0) {
    wire::Control message;
    message.mutable_trace_command()->set_action(action);
    message.mutable_trace_command()->set_session(session);
    message.mutable_trace_command()->set_iterations(iterations);
    message.mutable_trace_command()->set_records(8192);
    EXPECT_TRUE(agent_.on_control(scheduler_.link(), message));
  }
  wire::TraceChunk chunk(std::uint64_t session) {
    order(wire::TraceCommand::SEND, session);
    van_.step(nobody_, Duration::zero());
    return scheduler_.control().trace_chunk();
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
  Membership membership_{config_, {}, van_, clock_};
};

TEST_F(TraceAgentTest, StartsSendsAndStops) {
  note(3);
  EXPECT_EQ(chunk(1).notes().size(), 0U);
  order(wire::TraceCommand::START, 1);
  EXPECT_TRUE(agent_.tracer().on());
  const Time began = clock_.now();
  note(5000);
  const wire::TraceChunk first = chunk(1);
  EXPECT_EQ(first.session(), 1U);
  EXPECT_EQ(first.notes().size(), TraceAgent::kChunkNotes * sizeof(TraceNote));
  EXPECT_EQ(chunk(1).notes().size(), (5000 - TraceAgent::kChunkNotes) * sizeof(TraceNote));
  clock_.advance_to(clock_.now() + 3s);
  order(wire::TraceCommand::STOP, 1);
  EXPECT_FALSE(agent_.tracer().on());
  const wire::TraceChunk last = chunk(1);
  ASSERT_EQ(last.notes().size(), sizeof(TraceNote));
  TraceNote all;
  std::memcpy(&all, last.notes().data(), sizeof all);
  EXPECT_EQ(all.span.kind, TraceKind::kTraced);
  EXPECT_EQ(all.span.begin_ns, trace_time(began));
  EXPECT_EQ(all.span.end_ns, trace_time(began + 3s));
  order(wire::TraceCommand::STOP, 1);
  EXPECT_EQ(chunk(1).notes().size(), 0U);
}

TEST_F(TraceAgentTest, ANewSessionBeginsEmptyAndCountsItsOwnDrops) {
  order(wire::TraceCommand::START, 1);
  note(10'000);
  EXPECT_EQ(chunk(1).dropped(), 10'000U - 8192U);
  order(wire::TraceCommand::START, 2);
  EXPECT_EQ(chunk(1).notes().size(), 0U);
  note(2);
  const wire::TraceChunk own = chunk(2);
  EXPECT_EQ(own.notes().size(), 2 * sizeof(TraceNote));
  EXPECT_EQ(own.dropped(), 0U);
}

TEST_F(TraceAgentTest, SaysWhenTheIterationsAreOverAndNotesOneMore) {
  agent_.tick(membership_, 0, 7);
  order(wire::TraceCommand::START, 1, 3);
  agent_.tick(membership_, 0, 10);
  EXPECT_FALSE(chunk(1).reached());
  agent_.tick(membership_, 0, 11);
  EXPECT_TRUE(chunk(1).reached());
  EXPECT_TRUE(agent_.tracer().on());
  agent_.tick(membership_, 0, 12);
  EXPECT_FALSE(agent_.tracer().on());
}

TEST_F(TraceAgentTest, OtherMessagesAreOthers) {
  EXPECT_FALSE(agent_.on_control(1, fake::heartbeat()));
}

}  // namespace
}  // namespace stretto
