// SPDX-License-Identifier: Apache-2.0
// A worker's node in a job without servers, with a scripted scheduler: it waits for no other node.
#include <gtest/gtest.h>

#include "tests/worker/played_node.h"

namespace stretto {
namespace {

class NodeWithoutServers : public fake::PlayedNode {
 protected:
  /// Stores the status of a callback that is called once.
  static WorkerNode::Done into(std::optional<Status>& told) {
    return [&told](const Status& status) {
      EXPECT_FALSE(told) << "called twice";
      told = status;
    };
  }
  static Roster roster() {
    Roster roster = fake::roster(2, 0);
    roster.servers = 0;
    roster.slots = 0;
    return roster;
  }
};

TEST_F(NodeWithoutServers, JoinsByRosterAndLeavesOnSchedulersWord) {
  std::optional<Status> joined;
  node_.join(into(joined));
  say(scheduler_, fake::welcome(10, 0));
  EXPECT_FALSE(joined) << "the others have yet to come";
  EXPECT_FALSE(node_.joined());
  say(scheduler_, roster());
  ASSERT_TRUE(joined);
  EXPECT_TRUE(joined->ok()) << joined->text();
  EXPECT_TRUE(node_.joined());
  EXPECT_EQ(wire_.connected.size(), 1U) << "it calls the scheduler alone";

  std::optional<Status> left;
  node_.leave(into(left));
  step();
  say(scheduler_, control::Leave{});
  ASSERT_TRUE(left);
  EXPECT_TRUE(left->ok()) << left->text();
}

TEST_F(NodeWithoutServers, ARosterThatLacksItsServersEndsTheJoin) {
  std::optional<Status> joined;
  node_.join(into(joined));
  say(scheduler_, fake::welcome(10, 0));
  say(scheduler_, fake::roster(2, 0));
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->code(), Code::kMalformed);
}

// ---- a worker that leaves

TEST_F(NodeWithoutServers, LeavingNodeTellsLateAnsweringPeer) {
  Roster all = roster();
  for (Member& member : all.members) member.address = "worker:1";
  node_.join([](const Status&) {});
  say(scheduler_, fake::welcome(11, 1));
  say(scheduler_, all);
  node_.work().declare(fake::spec("grads", Dtype::kF32, 2, {.exchange = Exchange::kDirect}),
                       [](const Result<Tensor>& tensor) { EXPECT_TRUE(tensor.ok()); });
  fake::FarEnd called(wire_, 2, 10);
  scheduler_.epoch = called.epoch = all.epoch;
  say(scheduler_, control::Declared{.tensor = 4, .first_slot = 0, .name = "grads"});
  EXPECT_TRUE(control::is<control::Hello>(called.control()));
  scheduler_.controls();

  node_.leave([](const Status& status) { EXPECT_TRUE(status.ok()) << status.text(); });
  step();
  EXPECT_TRUE(scheduler_.controls().empty()) << "the answer is on its way";
  say(called, fake::welcome(11, 1));
  const std::vector<control::Message> told = called.controls();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(std::get<control::Open>(told[0]).tensor, 4U);
  EXPECT_EQ(std::get<control::Fault>(told[1]).round, 1U);
  EXPECT_TRUE(control::is<control::Leave>(told[2]));
}

// ---- a worker that has left

class WhoHasLeft : public NodeWithoutServers {
 protected:
  WhoHasLeft() {
    for (Member& member : roster_.members) member.address = "worker:1";
    node_.join([](const Status&) {});
    say(scheduler_, fake::welcome(10, 0));
    say(scheduler_, roster_);
    scheduler_.epoch = peer_.epoch = roster_.epoch;
    node_.work().declare(
        fake::spec("grads", Dtype::kF32, 2, {.exchange = Exchange::kDirect}),
        [this](const Result<Tensor>& tensor) { tensor_ = tensor.ok() ? *tensor : Tensor(); });
    say(scheduler_, control::Declared{.tensor = 4, .first_slot = 0, .name = "grads"});
    peer_.connect();
    say(peer_, fake::hello(Role::kWorker, 1, 11));
  }
  /// The roster marks it as left; then its link ends without a message.
  void leave() {
    roster_.epoch += 1;
    roster_.members[1].left = true;
    say(scheduler_, roster_);
    peer_.break_link();
    step();
  }
  std::shared_ptr<Operation> push_pull() {
    auto operation = std::make_shared<Operation>();
    operation->kind = Operation::Kind::kPushPull;
    operation->tensor = tensor_;
    operation->source = std::as_bytes(std::span(memory_));
    operation->target = std::as_writable_bytes(std::span(memory_));
    operation->ticket = std::make_shared<detail::TicketState>(1);
    node_.work().start(operation);
    step();
    return operation;
  }
  static Status end_of(const std::shared_ptr<Operation>& operation) {
    return Ticket(operation->ticket).done() ? Ticket(operation->ticket).wait() : Status();
  }

  Roster roster_ = roster();
  fake::FarEnd peer_{wire_, 101, 11};
  Tensor tensor_;
  std::vector<float> memory_ = {1, 2};
};

TEST_F(WhoHasLeft, BeforeItHeardOfItsLinkMakesNoRounds) {
  const auto begun = push_pull();
  leave();
  EXPECT_EQ(end_of(begun).code(), Code::kPeerLost);
  EXPECT_EQ(end_of(begun).peer(), "worker 1");
  EXPECT_EQ(end_of(push_pull()).code(), Code::kPeerLost);
  EXPECT_FALSE(node_.over()) << "who leaves in order ends nobody's job";
}

TEST_F(WhoHasLeft, WithoutItsLastWordMakesNoRoundsThatAreOpen) {
  say(peer_, control::Open{.tensor = 4, .spec = fake::spec("grads", Dtype::kF32, 2)});
  const auto begun = push_pull();
  leave();
  EXPECT_EQ(end_of(begun).code(), Code::kPeerLost);
  EXPECT_FALSE(node_.over());
}

}  // namespace
}  // namespace stretto
