// SPDX-License-Identifier: Apache-2.0
// The scheduler of an elastic job is lost while workers join and leave, and restarts from its
// journal: its members, joining workers, open questions, and lines to the launcher.
#include <gmock/gmock.h>

#include "tests/scheduler/scheduler_returns_fixture.h"

namespace stretto {
namespace {

using fake::FarEnd;

class ElasticReturnsTest : public SchedulerReturnsTest {
 protected:
  ElasticReturnsTest() : SchedulerReturnsTest(1) {}

  static control::Hello newcomer() {
    control::Hello hello = fake::hello(Role::kWorker, -1);
    hello.address = "10.0.0.9:4000";
    return hello;
  }
  // The second worker has left, and another worker joins.
  NodeId come_in() {
    gather();
    second_->say(control::Leave{});
    step();
    third_ = connect(0);
    third_->say(newcomer());
    step();
    return third_->node = std::get<control::Welcome>(third_->controls().front()).node;
  }
  // It has connected to the shards, and the first worker has been asked.
  NodeId be_ready() {
    const NodeId node = come_in();
    third_->say(control::AtStep{});
    step();
    return node;
  }
  static const control::AtStep* question_in(const std::vector<control::Message>& heard) {
    for (const control::Message& message : heard) {
      if (const auto* one = std::get_if<control::AtStep>(&message)) return one;
    }
    return nullptr;
  }
  std::vector<control::Message> first_comes() {
    return come(first_, again(Role::kWorker, 0, nodes_[1]));
  }
  bool asks() const { return life_->scheduler->machine().entrance().open_question().has_value(); }
  const Member* member(NodeId node) const { return life_->scheduler->view().find(node); }

  std::unique_ptr<FarEnd> third_;
};

TEST_F(ElasticReturnsTest, ViewsAndRanksFollowFromTheJournal) {
  gather();
  first_->say(control::Leave{});
  step();
  const std::uint32_t epoch = life_->scheduler->view().epoch;
  next_life();
  ASSERT_TRUE(life_->recovered.ok()) << life_->recovered.text();
  EXPECT_EQ(life_->scheduler->view().epoch, epoch + 1);
  EXPECT_EQ(member(nodes_[1]), nullptr);
  ASSERT_NE(member(nodes_[2]), nullptr);
  EXPECT_EQ(member(nodes_[2])->rank, 0U);
  // It is told again of its changed rank, and of the worker that left.
  const auto heard = come(second_, again(Role::kWorker, 1, nodes_[2]));
  ASSERT_EQ(heard.size(), 2U);
  const auto& roster = std::get<Roster>(heard[1]);
  ASSERT_NE(roster.find(nodes_[1]), nullptr);
  EXPECT_TRUE(roster.find(nodes_[1])->left);
  EXPECT_FALSE(roster.find(nodes_[1])->lost);
}

TEST_F(ElasticReturnsTest, LeftWorkerHearsWelcomeBeforeLeave) {
  gather();
  const NodeId left = second_->node;
  second_->say(control::Leave{});
  step();
  next_life();
  const auto heard = come(second_, again(Role::kWorker, 1, left));
  ASSERT_EQ(heard.size(), 2U);
  ASSERT_TRUE(control::is<control::Welcome>(heard[0])) << "nothing else may come first";
  EXPECT_EQ(std::get<control::Welcome>(heard[0]).node, left);
  EXPECT_EQ(std::get<control::Welcome>(heard[0]).rank, 1);
  EXPECT_EQ(std::get<control::Welcome>(heard[0]).job, job_);
  EXPECT_TRUE(control::is<control::Leave>(heard[1]));
}

TEST_F(ElasticReturnsTest, UninformedNewcomerKeepsAssignedNode) {
  const NodeId node = come_in();
  next_life();
  third_ = connect(0);
  third_->say(newcomer());
  step();
  const auto heard = third_->controls();
  ASSERT_GE(heard.size(), 2U);
  EXPECT_EQ(std::get<control::Welcome>(heard[0]).node, node);
  ASSERT_NE(std::get<Roster>(heard[1]).find(node), nullptr);
  EXPECT_TRUE(std::get<Roster>(heard[1]).find(node)->joining);
}

TEST_F(ElasticReturnsTest, NewcomerFromOtherAddressWaits) {
  const NodeId node = come_in();
  next_life();
  control::Hello hello = newcomer();
  hello.address = "10.0.0.9:4001";
  third_ = connect(0);
  third_->say(hello);
  step();
  EXPECT_TRUE(third_->controls().empty()) << "it waits: the other one may come";
  EXPECT_NE(member(node), nullptr);
}

TEST_F(ElasticReturnsTest, OpenQuestionIsRepeatedAfterRestart) {
  const NodeId node = be_ready();
  ASSERT_TRUE(asks());
  next_life();
  EXPECT_TRUE(asks());
  const auto heard = first_comes();
  const control::AtStep* question = question_in(heard);
  ASSERT_NE(question, nullptr);
  EXPECT_EQ(question->number, 1U);
  first_->say(control::AtStep{.number = 1, .step = 7});
  step();
  ASSERT_NE(member(node), nullptr);
  EXPECT_FALSE(member(node)->joining);
  EXPECT_EQ(member(node)->from_step, 8U);
  next_life();
  EXPECT_FALSE(asks());
  ASSERT_NE(member(node), nullptr);
  EXPECT_EQ(member(node)->from_step, 8U);
  EXPECT_EQ(question_in(first_comes()), nullptr);
}

TEST_F(ElasticReturnsTest, AnAnswerOutlivesTheSchedulerThatHeardIt) {
  const NodeId node = be_ready();
  first_->say(control::AtStep{.number = 1, .step = 7});
  life_->scheduler->step(Duration::zero());
  next_life();
  step();
  ASSERT_NE(member(node), nullptr);
  EXPECT_EQ(member(node)->from_step, 8U);
}

// Otherwise no worker with the values would be left.
TEST_F(ElasticReturnsTest, SettledNewcomerKeepsJobRunningAlone) {
  const NodeId node = be_ready();
  first_->say(control::AtStep{.number = 1, .step = 7});
  step();
  for (const bool is_settled : {false, true}) {
    next_life();
    come(server_, again(Role::kServer, 0, nodes_[0]));
    first_comes();
    come(third_, again(Role::kWorker, 1, node));
    third_->say(control::AtStep{.step = is_settled ? 8U : 0U});
    step();
    if (!is_settled) continue;
    pass(config_.job.dead_after + 1s, {server_.get(), third_.get()});
    EXPECT_EQ(life_->scheduler->phase(), "running") << life_->scheduler->status().text();
  }
}

TEST_F(ElasticReturnsTest, UnsettledNewcomerAloneEndsJob) {
  const NodeId node = be_ready();
  first_->say(control::AtStep{.number = 1, .step = 7});
  step();
  next_life();
  come(server_, again(Role::kServer, 0, nodes_[0]));
  first_comes();
  come(third_, again(Role::kWorker, 1, node));
  third_->say(control::AtStep{});
  step();
  pass(config_.job.dead_after + 200ms, {server_.get(), third_.get()});
  EXPECT_NE(life_->scheduler->phase(), "running");
  EXPECT_EQ(life_->scheduler->status().code(), Code::kPeerLost);
}

TEST_F(ElasticReturnsTest, EachSchedulerTellsOfAllLosses) {
  gather();
  pass(config_.job.dead_after + 1s, {server_.get(), first_.get()});
  ASSERT_EQ(life_->scheduler->watch().loss_news().size(), 1U);
  for (int i = 0; i < 2; ++i) {
    next_life();
    const std::vector<LossReport>& news = life_->scheduler->watch().loss_news();
    ASSERT_EQ(news.size(), 1U);
    EXPECT_EQ(news.front().number, 1U);
    EXPECT_FALSE(news.front().server);
  }
}

TEST_F(ElasticReturnsTest, NextSchedulerKnowsWorkersThatLeft) {
  gather();
  second_->say(control::Leave{});
  step();
  ASSERT_EQ(life_->scheduler->watch().left_workers(), std::vector<Rank>{1});
  next_life();
  EXPECT_EQ(life_->scheduler->watch().left_workers(), std::vector<Rank>{1});
}

// The suspicion waits until that server has re-registered or is lost itself.
TEST_F(ElasticReturnsTest, ReportOnAbsentServerExpelsNoWorker) {
  gather();
  next_life();
  first_comes();
  come(second_, again(Role::kWorker, 1, nodes_[2]));
  first_->say(control::LinkReport{.node = nodes_[0], .cause = "it broke"});
  pass(3s, {first_.get(), second_.get()});
  EXPECT_NE(member(nodes_[1]), nullptr);
  EXPECT_EQ(life_->scheduler->phase(), "running");
  pass(config_.job.dead_after, {first_.get(), second_.get()});
  EXPECT_EQ(life_->scheduler->status().code(), Code::kServerLost);
}

// It has its old number, and the last rank, which is larger.
TEST_F(ElasticReturnsTest, RejoinedWorkerReconnectsAfterRestart) {
  gather();
  pass(config_.job.dead_after + 1s, {server_.get(), second_.get()});
  ASSERT_EQ(member(nodes_[1]), nullptr);
  third_ = connect(0);
  control::Hello hello = newcomer();
  hello.node = nodes_[1];
  third_->say(hello);
  step();
  const NodeId node = std::get<control::Welcome>(third_->controls().front()).node;
  ASSERT_NE(member(node), nullptr);
  EXPECT_EQ(member(node)->number(), 0U);
  EXPECT_EQ(member(node)->rank, 1U);
  next_life();
  const auto heard = come(third_, again(Role::kWorker, 1, node));
  ASSERT_FALSE(heard.empty());
  EXPECT_TRUE(std::holds_alternative<control::Welcome>(heard.front()));
}

}  // namespace
}  // namespace stretto
