// SPDX-License-Identifier: Apache-2.0
// What is asked of servers, and what is believed of their answers, against one played by hand.
#include "worker/server_path/optimizer_state_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "worker/server_path/optimizer_state_block.h"

namespace stretto {
namespace {

using testing::HasSubstr;
using Bytes = OptimizerStateTransfer::Bytes;

/// Thread: loop.
class OptimizerStateTransferTest : public testing::Test {
 protected:
  static constexpr LinkId kShard = 1;

  OptimizerStateTransferTest() {
    van_.set_node(10);
    EXPECT_TRUE(van_.links().connect("shard0:1", fake::hello(Role::kWorker, 0)).ok());
    shard_.say(fake::welcome(10, 0));
    step();
    van_.links().admit(kShard, 50);
    shard_.controls();
  }

  void step() {
    fake::Recorder seen;
    van_.step(seen, Duration::zero());
    for (const auto& [link, message] : seen.controls) {
      const auto* piece = std::get_if<control::StatePiece>(&message);
      if (piece != nullptr) states_.on_piece(*piece);
    }
    states_.tick();
    van_.step(seen, Duration::zero());
  }

  static OptimizerStateTransfer::Target target(std::uint32_t parts) {
    TensorSpec spec{.name = "w", .dtype = Dtype::kF32, .elements = 8, .options = {}};
    spec.options.update.rule = Rule::kMomentum;
    return {7, spec, 256, std::vector<LinkId>(parts, kShard)};
  }
  void save(std::uint32_t parts) {
    states_.save(target(parts), [this](const Result<Bytes>& result) { saved_.push_back(result); });
    step();
  }
  void load(std::uint32_t parts, const Bytes& block) {
    states_.load(target(parts), block, [this](const Status& status) { loaded_.push_back(status); });
    step();
  }
  control::StateRequest asked() { return std::get<control::StateRequest>(shard_.control()); }
  void answer(const control::StateRequest& request, const std::string& piece, std::uint64_t total,
              std::uint64_t version = 3) {
    control::StatePiece message{
        .number = request.number, .total = total, .version = version, .piece = piece};
    shard_.say(message);
    step();
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Van van_{fake::scripted_transport(wire_), clock_};
  OptimizerStateTransfer states_{van_, clock_, 20s};
  fake::FarEnd shard_{wire_, kShard, 50};
  std::vector<Result<Bytes>> saved_;
  std::vector<Status> loaded_;
};

TEST_F(OptimizerStateTransferTest, EachPieceOfEachPartIsAskedForInTurn) {
  save(2);
  control::StateRequest request = asked();
  EXPECT_EQ(request.tensor, 7U);
  EXPECT_EQ(request.part, 0U);
  answer(request, "ab", 3);
  request = asked();
  EXPECT_EQ(request.offset, 2U);
  answer(request, "c", 3);
  request = asked();
  EXPECT_EQ(request.part, 1U);
  EXPECT_EQ(request.offset, 0U);
  EXPECT_TRUE(saved_.empty());
  answer(request, "", 0);
  ASSERT_EQ(saved_.size(), 1U);
  const Bytes block = *saved_[0];
  const auto parts = parts_of_state_block(block, target(2).spec, 256, 2).or_exit();
  EXPECT_EQ(parts[0].size(), 3U);
  EXPECT_EQ(parts[1].size(), 0U);
  EXPECT_TRUE(states_.idle());

  load(2, block);
  request = asked();
  EXPECT_EQ(request.set, "abc");
  EXPECT_EQ(request.total, 3U);
  answer(request, "", 3);
  ASSERT_EQ(loaded_.size(), 1U) << "nothing is set of a part without state";
  EXPECT_TRUE(loaded_[0].ok());
}

TEST_F(OptimizerStateTransferTest, OneAtATime) {
  save(1);
  save(1);
  const control::StateRequest first = asked();
  answer(first, "", 0);
  EXPECT_EQ(saved_.size(), 1U);
  answer(asked(), "", 0);
  EXPECT_EQ(saved_.size(), 2U);
}

TEST_F(OptimizerStateTransferTest, SharesThatComeMeanwhileMakeItAMismatch) {
  save(2);
  answer(asked(), "a", 1, 3);
  answer(asked(), "b", 1, 4);
  ASSERT_EQ(saved_.size(), 1U);
  EXPECT_EQ(saved_[0].status().code(), Code::kMismatch);
  EXPECT_THAT(saved_[0].status().cause(), HasSubstr("from version 3 to 4"));
}

TEST_F(OptimizerStateTransferTest, AnswersThatMakeNoSenseEndIt) {
  const struct {
    std::string piece;
    std::uint64_t total;
  } kWrong[] = {{"abc", 2}, {"", 2}, {"a", std::uint64_t{1} << 40}};
  for (const auto& wrong : kWrong) {
    save(1);
    answer(asked(), wrong.piece, wrong.total);
    EXPECT_EQ(saved_.back().status().code(), Code::kMalformed) << wrong.total;
  }
  EXPECT_TRUE(states_.idle());
}

TEST_F(OptimizerStateTransferTest, ReportsServerRefusal) {
  save(1);
  control::StatePiece message{.number = asked().number, .why = {Code::kResource, "no memory"}};
  shard_.say(message);
  step();
  ASSERT_EQ(saved_.size(), 1U);
  EXPECT_EQ(saved_[0].status().code(), Code::kResource);
}

TEST_F(OptimizerStateTransferTest, SilenceTimesOutAndLateAnswerIsIgnored) {
  save(1);
  const control::StateRequest late = asked();
  EXPECT_EQ(states_.next_due(), clock_.now() + 20s);
  clock_.advance_to(clock_.now() + 20s);
  step();
  ASSERT_EQ(saved_.size(), 1U);
  EXPECT_EQ(saved_[0].status().code(), Code::kTimeout);
  save(1);
  const control::StateRequest next = asked();
  answer(late, "x", 1);
  EXPECT_EQ(saved_.size(), 1U);
  answer(next, "y", 1);
  EXPECT_EQ(saved_.size(), 2U);
  EXPECT_TRUE(saved_[1].ok());
}

TEST_F(OptimizerStateTransferTest, TheEndEndsAll) {
  save(1);
  load(1, Bytes(3));
  ASSERT_EQ(loaded_.size(), 1U);
  EXPECT_EQ(loaded_[0].code(), Code::kMalformed) << "before anything is sent";
  save(1);
  states_.end_all({Code::kCancelled, "over"});
  ASSERT_EQ(saved_.size(), 2U);
  EXPECT_EQ(saved_[1].status().code(), Code::kCancelled);
}

}  // namespace
}  // namespace stretto
