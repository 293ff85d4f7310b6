// SPDX-License-Identifier: Apache-2.0
// When a worker enters the barrier of a call, and how calls end.
#include "worker/barriers/barrier_calls.h"

#include "tests/worker/exchanges_fixture.h"

namespace stretto {
namespace {

using fake::ExchangeTest;
using testing::ElementsAre;
using testing::IsEmpty;

class BarrierCallsTest : public ExchangeTest {
 protected:
  BarrierCalls::Done into(std::vector<Result<Rank>>& results) {
    return [&results](const Result<Rank>& result) { results.push_back(result); };
  }
  static control::Barrier open_of(std::uint64_t number, Rank last = 0) {
    return {.number = number, .last = last};
  }

  EmptyContributor stand_in_{
      tensors_,
      exchange_,
      {.declare = [](const TensorSpec&, const EmptyContributor::Declared&) {},
       .tell = [this](const control::SitOut& said) { told_.push_back(said.number); }}};
  BarrierCalls calls_{clock_, 10s, stand_in_, [this](const control::Barrier& barrier) {
                        entered_.push_back(barrier.number);
                        sits_out_ = barrier.sits_out;
                        last_ = barrier;
                      }};
  std::vector<std::uint64_t> told_;
  std::vector<std::uint64_t> entered_;
  bool sits_out_ = false;
  control::Barrier last_;
  std::vector<Result<Rank>> ends_;
};

TEST_F(BarrierCallsTest, SitOutIsAnnouncedThenEntersAfterRounds) {
  add(1, 2);
  const Floats source{1, 2};
  const OperationPtr first = start(Kind::kPush, 1, &source, nullptr);
  const OperationPtr second =
      start(Kind::kPush, 1, &source, nullptr);  // Waits for the first round.
  calls_.sit_out(into(ends_));
  EXPECT_THAT(told_, ElementsAre(1));
  ack(1);
  calls_.enter_if_ready();
  EXPECT_THAT(entered_, IsEmpty());
  done({1, 0}, 1);
  ack(2);
  calls_.enter_if_ready();
  EXPECT_TRUE(second->ticket->done());
  EXPECT_THAT(entered_, IsEmpty()) << "its push has ended, and the round has not";
  done({1, 0}, 2);
  calls_.enter_if_ready();
  calls_.enter_if_ready();
  EXPECT_THAT(entered_, ElementsAre(1));
  EXPECT_TRUE(sits_out_);
  calls_.on_open(open_of(1, 2));
  ASSERT_EQ(ends_.size(), 1U);
  EXPECT_EQ(*ends_[0], 2U);
  EXPECT_THAT(told_, ElementsAre(1, 1));
}

TEST_F(BarrierCallsTest, OneIsBegunAtATimeInTheirOrder) {
  calls_.barrier(into(ends_));
  calls_.sit_out(into(ends_));
  calls_.barrier(into(ends_));
  EXPECT_THAT(entered_, ElementsAre(1));
  EXPECT_FALSE(stand_in_.sitting());
  calls_.on_open(open_of(2));
  EXPECT_THAT(ends_, IsEmpty()) << "it is of another number";
  calls_.on_open(open_of(1));
  EXPECT_TRUE(stand_in_.sitting());
  pass(60s);
  EXPECT_FALSE(calls_.late()) << "the others may take as long as they like";
  EXPECT_EQ(calls_.oldest(clock_.now()), "sit_out");
  calls_.on_open(open_of(2));
  EXPECT_FALSE(stand_in_.sitting());
  EXPECT_THAT(entered_, ElementsAre(1, 2, 3));
  EXPECT_FALSE(calls_.late()) << "its patience begins with it";
  EXPECT_EQ(calls_.oldest(clock_.now() - 1s), "");
  pass(10s);
  EXPECT_TRUE(calls_.late());
  EXPECT_EQ(calls_.oldest(clock_.now()), "barrier");
}

TEST_F(BarrierCallsTest, WhileAnotherWorkerPausesNoneIsLate) {
  calls_.excuse(clock_.now());
  EXPECT_EQ(calls_.next_due(), Time::max()) << "none waits";
  calls_.barrier(into(ends_));
  pass(9s);
  calls_.excuse(clock_.now());
  pass(9s);
  EXPECT_FALSE(calls_.late());
  pass(1s);
  EXPECT_TRUE(calls_.late());
}

TEST_F(BarrierCallsTest, ACallThatFailsLeavesItsNumberToTheNext) {
  calls_.sit_out(into(ends_));
  calls_.barrier(into(ends_));
  calls_.end_all({Code::kPeerLost, "worker 1 has left the job"});
  ASSERT_EQ(ends_.size(), 2U);
  EXPECT_EQ(ends_[0].status().operation(), "sit_out");
  EXPECT_EQ(ends_[1].status().operation(), "barrier");
  EXPECT_TRUE(calls_.idle());
  EXPECT_FALSE(stand_in_.sitting());
  EXPECT_THAT(told_, ElementsAre(1, 0));
  calls_.barrier(into(ends_));
  EXPECT_THAT(entered_, ElementsAre(1, 1));
}

TEST_F(BarrierCallsTest, CheckpointEntersWhenIdleAndBlocksNewWork) {
  add(1, 2);
  const Floats source{1, 2};
  start(Kind::kPush, 1, &source, nullptr);
  std::vector<Result<std::uint64_t>> cuts;
  calls_.checkpoint(7, 0, [&cuts](const Result<std::uint64_t>& cut) { cuts.push_back(cut); });
  EXPECT_THAT(entered_, IsEmpty());
  EXPECT_EQ(calls_.refusal().code(), Code::kInvalidArgument);
  ack(1);
  done({1, 0}, 1);
  calls_.enter_if_ready();
  EXPECT_THAT(entered_, ElementsAre(1));
  EXPECT_EQ(last_.checkpoint, 8U);
  calls_.on_open({.number = 1, .checkpoint = 3});
  ASSERT_EQ(cuts.size(), 1U);
  EXPECT_EQ(*cuts[0], 3U);
  EXPECT_TRUE(calls_.refusal().ok());
}

TEST_F(BarrierCallsTest, AbandonedCheckpointWithdraws) {
  std::vector<Result<std::uint64_t>> cuts;
  calls_.checkpoint(7, 0, [&cuts](const Result<std::uint64_t>& cut) { cuts.push_back(cut); });
  calls_.end_all({Code::kTimeout, "late"});
  EXPECT_THAT(entered_, ElementsAre(1, 1));
  EXPECT_TRUE(last_.withdraws);
  ASSERT_EQ(cuts.size(), 1U);
  EXPECT_EQ(cuts[0].status().operation(), "checkpoint");
}

}  // namespace
}  // namespace stretto
