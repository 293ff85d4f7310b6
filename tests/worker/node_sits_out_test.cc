// SPDX-License-Identifier: Apache-2.0
// A paused worker: its messages to scheduler and shards, and the empty contributions that they
// request. The scheduler and a shard are simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/joined_node.h"

namespace stretto {
namespace {

class NodeSitsOutTest : public fake::JoinedNode {
 protected:
  NodeSitsOutTest() {
    scheduler_.controls();
    shard_.controls();
    node_.work().sit_out([this](const Result<Rank>& last) { last_ = last; });
    step();
  }

  std::optional<Result<Rank>> last_;
};

TEST_F(NodeSitsOutTest, SaysSoAndSaysWhenItIsOver) {
  const control::Barrier asked = std::get<control::Barrier>(scheduler_.control());
  EXPECT_TRUE(asked.sits_out);
  const control::SitOut told = std::get<control::SitOut>(shard_.control());
  EXPECT_EQ(told.number, asked.number);
  EXPECT_FALSE(told.over);
  EXPECT_FALSE(last_.has_value());
  control::Barrier open = fake::barrier(asked.number);
  open.last = 1;
  say(scheduler_, open);
  ASSERT_TRUE(last_.has_value() && last_->ok());
  EXPECT_EQ(**last_, 1U);
  EXPECT_TRUE(std::get<control::SitOut>(shard_.control()).over);
}

TEST_F(NodeSitsOutTest, GivesAnEmptyShareOfATensorThatItDidNotKnow) {
  scheduler_.controls();
  shard_.controls();
  const TensorSpec spec = fake::spec("grads", Dtype::kF32, 2);
  say(shard_, control::Wanted{.spec = spec, .round = 1});
  EXPECT_EQ(std::get<control::Declare>(scheduler_.control()).spec.name, "grads");
  say(scheduler_,
      control::Declared{
          .tensor = 3, .name = "grads", .owners = {{.first = 0, .count = 1, .owner = 50}}});
  EXPECT_TRUE(control::is<control::Open>(shard_.control()));
  const fake::Sent share = shard_.datum();
  EXPECT_EQ(share.header.flags, wire::kAbsent);
  EXPECT_EQ(wire::PushFrame::of(share.header).round, 1U);
  EXPECT_TRUE(share.payload.empty());
}

TEST_F(NodeSitsOutTest, MakesSharesAgainIfTheBarrierFails) {
  scheduler_.controls();
  shard_.controls();
  say(scheduler_,
      control::Fault{.why = {Code::kPeerLost, "worker 1 has left the job"}, .name = "barrier"});
  ASSERT_TRUE(last_.has_value());
  EXPECT_EQ(last_->status().code(), Code::kPeerLost);
  EXPECT_EQ(last_->status().operation(), "sit_out");
  EXPECT_EQ(std::get<control::SitOut>(shard_.control()).number, 0U);
}

TEST_F(NodeSitsOutTest, InvalidWishEndsLinkAndIsReported) {
  scheduler_.controls();
  say(shard_, control::Wanted{.part = 1});
  EXPECT_TRUE(shard_.closed());
  EXPECT_THAT(std::get<control::LinkReport>(scheduler_.control()).cause,
              testing::HasSubstr("a wish names a tensor that makes no sense"));
}

TEST_F(NodeSitsOutTest, SittingOutNodeRefusesNewOperations) {
  auto operation = std::make_shared<Operation>();
  operation->ticket = std::make_shared<detail::TicketState>(1);
  node_.work().start(operation);
  ASSERT_TRUE(operation->ticket->done());
  const Status why = operation->ticket->wait_for(Duration::zero());
  EXPECT_EQ(why.code(), Code::kInvalidArgument);
  EXPECT_THAT(why.cause(), testing::HasSubstr("sits out"));
}

}  // namespace
}  // namespace stretto
