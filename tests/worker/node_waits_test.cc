// SPDX-License-Identifier: Apache-2.0
// The call in which a worker is blocked: it reports the call to the scheduler, receives those of
// other workers, and names them in timeouts. The scheduler and a shard are simulated.
#include <gtest/gtest.h>

#include "tests/worker/joined_node.h"

namespace stretto {
namespace {

class NodeWaitsTest : public fake::JoinedNode {
 protected:
  void hear_of(const std::string& elsewhere) {
    control::Heartbeat answer = fake::heartbeat();
    answer.elsewhere = elsewhere;
    say(scheduler_, answer);
  }
  /// Lets `time` pass; returns the call that the last heartbeat reports.
  std::string told_in(Duration time) {
    scheduler_.controls();
    for (const Time end = clock_.now() + time; clock_.now() < end;) {
      clock_.advance_to(clock_.now() + 500ms);
      say(scheduler_, fake::heartbeat());
    }
    std::string told;
    for (const control::Message& message : scheduler_.controls()) {
      if (control::is<control::Heartbeat>(message))
        told = std::get<control::Heartbeat>(message).waits_in;
    }
    return told;
  }
  std::shared_ptr<Operation> pull() {
    node_.work().declare(fake::spec("grads", Dtype::kF32, 2), [](const Result<Tensor>&) {});
    say(scheduler_,
        control::Declared{
            .tensor = 3, .name = "grads", .owners = {{.first = 0, .count = 1, .owner = 50}}});
    auto operation = std::make_shared<Operation>();
    operation->kind = Operation::Kind::kPull;
    operation->tensor = {3, Dtype::kF32, 2};
    operation->target = std::as_writable_bytes(std::span(memory_));
    operation->ticket = std::make_shared<detail::TicketState>(1);
    node_.work().start(operation);
    return operation;
  }

  std::vector<float> memory_ = std::vector<float>(2);
};

TEST_F(NodeWaitsTest, ATimeoutTellsWhereOthersWait) {
  EXPECT_EQ(told_in(2s), "");
  const auto operation = pull();
  EXPECT_EQ(told_in(2s), "pull 'grads'");
  hear_of("worker 1 waits in barrier");
  hear_of("");
  EXPECT_EQ(told_in(1s), "pull 'grads'");
  control::Fault fault = {.why = {Code::kTimeout, "waited 300 s for worker 1"}};
  fault.tensor = 3;
  say(shard_, fault);
  ASSERT_TRUE(operation->ticket->done());
  EXPECT_EQ(operation->ticket->wait().cause(),
            "waited 300 s for worker 1; meanwhile worker 1 waits in barrier")
      << "also if worker 1 has given up before";
}

TEST_F(NodeWaitsTest, TimeoutDetailAppliesToOneCallOnly) {
  pull();
  EXPECT_EQ(told_in(2s), "pull 'grads'");
  hear_of("worker 1 waits in barrier");
  control::Fault fault = {.why = {Code::kTimeout, "waited 300 s for worker 1"}};
  fault.tensor = 3;
  say(shard_, fault);
  Status ended;
  node_.work().barrier([&ended](const Status& status) { ended = status; });
  EXPECT_EQ(told_in(5s), "barrier");
  told_in(16s);
  EXPECT_EQ(ended.cause(), "not every worker came to the barrier in time");
}

}  // namespace
}  // namespace stretto
