// SPDX-License-Identifier: Apache-2.0
// An endpoint among hostile peers: each frame is checked, and none does harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/methods.h"
#include "tests/rpc/node_fixture.h"
#include "tests/van/far_end.h"

namespace stretto::rpc {
namespace {

using stretto::fake::FarEnd;
using testing::HasSubstr;

wire::Header call_header(std::uint64_t number, std::string_view method) {
  return wire::CallFrame{.number = number, .method = hash_of(method)}.header();
}

wire::Header answer_header(std::uint64_t number, std::uint64_t code = 0) {
  return wire::AnswerFrame{.number = number, .error = code}.header();
}

control::Steer steer(std::uint64_t number) { return {.call = number}; }

class RpcHostile : public testing::Test {
 protected:
  RpcHostile() {
    party_.on("keep", [this](const Request&, Reply reply) { kept_.push_back(std::move(reply)); });
    guest_.connect();
    guest_.say(stretto::fake::hello(Role::kEndpoint, 0));
    step();
    EXPECT_TRUE(control::is<control::Welcome>(guest_.control()));
  }

  void step() { party_.node.step(Duration::zero()); }
  Call call() { return party_.call(Peer(guest_.link()), "far", "hello"); }
  /// The client receives the error, and then nothing more.
  void expect_turned_out(const std::string& says) {
    step();
    const auto controls = guest_.controls();
    ASSERT_FALSE(controls.empty());
    EXPECT_TRUE(control::is<control::Fault>(controls.back()));
    EXPECT_THAT(std::get<control::Fault>(controls.back()).why.cause(), HasSubstr(says));
    EXPECT_EQ(call().wait_for(0s).status().code(), Code::kPeerLost);
  }

  sim::VirtualClock clock_;
  stretto::fake::Wire wire_;
  std::vector<Reply> kept_;
  fake::Party party_{stretto::fake::scripted_transport(wire_), clock_, {"secret", 2, 2, 1000}};
  FarEnd guest_{wire_, 101, 0};
};

// ---- admission

TEST_F(RpcHostile, OnlyEndpointsWithTheTokenComeInAndNotTooMany) {
  FarEnd worker(wire_, 102, 0);
  worker.connect();
  worker.say(stretto::fake::hello(Role::kWorker, 0));
  FarEnd stranger(wire_, 103, 0);
  control::Hello hello = stretto::fake::hello(Role::kEndpoint, 0);
  hello.token = "guess";
  stranger.connect();
  stranger.say(hello);
  FarEnd second(wire_, 104, 0);
  second.connect();
  second.say(stretto::fake::hello(Role::kEndpoint, 0));
  FarEnd third(wire_, 105, 0);
  third.connect();
  third.say(stretto::fake::hello(Role::kEndpoint, 0));
  step();
  EXPECT_THAT(std::get<control::Fault>(worker.control()).why.cause(), HasSubstr("comes as worker"));
  EXPECT_THAT(std::get<control::Fault>(stranger.control()).why.cause(),
              HasSubstr("another job token"));
  EXPECT_TRUE(control::is<control::Welcome>(second.control()));
  EXPECT_THAT(std::get<control::Fault>(third.control()).why.cause(),
              HasSubstr("2 peers have connected"));
}

TEST_F(RpcHostile, ACallBeforeTheGreetingEndsTheLink) {
  FarEnd stranger(wire_, 102, 0);
  stranger.connect();
  stranger.send(call_header(1, "keep"));
  step();
  EXPECT_TRUE(stranger.closed());
  EXPECT_TRUE(kept_.empty());
}

TEST_F(RpcHostile, RefusalEndsConnectWithPeerReason) {
  Status outcome;
  party_.node.connect("there:1", 10s, [&](const Result<Peer>& peer) { outcome = peer.status(); });
  step();
  FarEnd there(wire_, 1, 0);
  const control::Message greeting = there.control();
  EXPECT_EQ(std::get<control::Hello>(greeting).role, Role::kEndpoint);
  control::Fault fault{.why = Status(Code::kRefused, "full")};
  there.say(fault);
  step();
  EXPECT_EQ(outcome.code(), Code::kRefused);
  EXPECT_EQ(outcome.cause(), "full");
  EXPECT_TRUE(there.closed());
}

// ---- events that end a link

TEST_F(RpcHostile, FramesOfOtherRolesEndTheLink) {
  guest_.send(stretto::fake::push_header({1, 0}, 1), Buffer::allocate(64));
  expect_turned_out("calls and answers only");
}

TEST_F(RpcHostile, ControlMessagesOfOtherRolesEndTheLink) {
  guest_.say(stretto::fake::heartbeat());
  expect_turned_out("what steers them");
}

TEST_F(RpcHostile, ACallThatHasNoNumberEndsTheLink) {
  guest_.send(call_header(0, "keep"));
  expect_turned_out("is no number");
}

TEST_F(RpcHostile, ACallThatComesTwiceEndsTheLink) {
  guest_.send(call_header(7, "keep"));
  guest_.send(call_header(7, "keep"));
  expect_turned_out("call 7 came twice");
  ASSERT_EQ(kept_.size(), 1U);
  EXPECT_FALSE(kept_[0].wanted());
}

TEST_F(RpcHostile, AnAnswerToNothingEndsTheLink) {
  guest_.send(answer_header(1));
  expect_turned_out("an answer to call 1 came, 0 were made");
}

TEST_F(RpcHostile, EarlyAnswerEndsLinkAndCall) {
  wire_.full.insert(guest_.link());
  const Call early = call();
  step();
  guest_.send(answer_header(1));
  step();
  EXPECT_EQ(early.wait_for(0s).status().code(), Code::kPeerLost);
  EXPECT_THAT(early.wait().status().cause(), HasSubstr("before it had left"));
}

TEST_F(RpcHostile, AMessageBeyondTheLimitEndsTheLink) {
  guest_.send(call_header(1, "keep"), Buffer::allocate(kMaxMessageBytes + 1));
  expect_turned_out("a message of 67108865 bytes came");
}

TEST_F(RpcHostile, ExpelsPeerNotReadingAnswers) {
  guest_.say(steer(1));
  wire_.full.insert(guest_.link());
  for (std::uint64_t number = 1; number <= 9; ++number) {
    guest_.send(call_header(number, "no such"));
  }
  step();
  wire_.full.clear();
  wire_.events.push_back([this](Transport::Sink& sink) { sink.on_writable(guest_.link()); });
  expect_turned_out("8 answers wait");
}

// ---- harmless frames

TEST_F(RpcHostile, IgnoresSteeringOfUnknownCalls) {
  guest_.say(steer(9));
  guest_.send(call_header(1, "keep"));
  step();
  ASSERT_EQ(kept_.size(), 1U);
  kept_[0].send("answer");
  step();
  guest_.say(steer(1));
  step();
  const auto answer = guest_.datum();
  EXPECT_EQ(answer.header.kind, wire::Kind::kAnswer);
  EXPECT_EQ(wire::AnswerFrame::of(answer.header).number, 1U);
  EXPECT_EQ(wire::AnswerFrame::of(answer.header).error, 0U);
}

TEST_F(RpcHostile, AnswerFollowsCallPriorityAndDeadline) {
  for (const std::uint64_t number : {1U, 2U}) {
    wire::Header header = call_header(number, "keep");
    header.priority = 4;
    header.deadline = 5'000'000;
    guest_.send(header);
  }
  control::Steer change = steer(2);
  change.priority = -3;
  change.deadline_us = ~std::uint64_t{0};
  guest_.say(change);
  step();
  ASSERT_EQ(kept_.size(), 2U);
  for (Reply& reply : kept_) reply.send({});
  step();
  const auto answers = guest_.data();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].header.priority, 4);
  EXPECT_EQ(answers[0].header.deadline, 5'000'000U);
  EXPECT_EQ(answers[1].header.priority, -3);
  EXPECT_EQ(answers[1].header.deadline, 0U) << "more than a day is no deadline";
}

TEST_F(RpcHostile, UnknownCodeOrLongTextIsStillError) {
  const Call unknown = call();
  const Call endless = call();
  step();
  EXPECT_EQ(guest_.data().size(), 2U);
  guest_.send(answer_header(1, ~std::uint64_t{0}));
  guest_.send(answer_header(2, 2), Buffer::copy_of(fake::bytes(100'000, 1)));
  guest_.send(answer_header(2, 0));  // Once is enough.
  step();
  EXPECT_EQ(unknown.wait_for(0s).status().code(), Code::kCancelled);
  EXPECT_EQ(endless.wait_for(0s).status().code(), Code::kMismatch);
  EXPECT_EQ(endless.wait().status().cause().size(), kMaxErrorBytes);
  EXPECT_EQ(call().wait_for(0s).status().code(), Code::kTimeout) << "the link is as it was";
}

}  // namespace
}  // namespace stretto::rpc
