// SPDX-License-Identifier: Apache-2.0
// Retained pushes are retransmitted unchanged to a promoted standby.
#include "worker/server_path/push_retention.h"

#include "tests/worker/exchanges_fixture.h"

namespace stretto::fake {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PushRetentionTest : public ExchangeTest {
 protected:
  static constexpr LinkId kHeir = 2;

  PushRetentionTest() { exchange_.servers().recalls().shares().begin(); }

  // Promotes the standby of the shard.
  void move() {
    EXPECT_TRUE(van_.links().connect("shard1:1", hello(Role::kWorker, 0)).ok());
    heir_.say(welcome(10, 0));
    step();
    van_.links().admit(kHeir, 51);
    heir_.controls();
    for (const std::uint32_t id : tensors_.move(kShard, kHeir)) {
      exchange_.servers().send_again(*tensors_.find(id), kHeir);
    }
    step();
  }
  void answer(const wire::Header& header, const Floats& numbers = {}) {
    heir_.send(header, numbers.empty() ? Buffer() : bytes_of(numbers));
    step();
  }

  FarEnd heir_{wire_, kHeir, 51};
};

TEST_F(PushRetentionTest, AckedPushIsResentFromRetainedCopy) {
  add(1, 2);
  const auto push = start(Kind::kPush, 1, &source_, nullptr);
  ack(1);
  EXPECT_TRUE(push->ticket->done());
  source_ = {9, 9, 9, 9, 9};
  move();
  const Sent sent = heir_.datum();
  EXPECT_TRUE(wire::PushFrame::of(sent.header).again);
  EXPECT_EQ(wire::PushFrame::of(sent.header).round, 1U);
  EXPECT_THAT(floats_of(sent.payload.bytes()), ElementsAre(1, 2));
}

TEST_F(PushRetentionTest, NothingIsKeptOfARoundThatHasEnded) {
  add(1, 2);
  start(Kind::kPush, 1, &source_, nullptr);
  ack(1);
  done({1, 0}, 1);
  move();
  EXPECT_THAT(heir_.data(), IsEmpty());
  EXPECT_TRUE(tensors_.find(1)->parts[0].sent.bytes.empty());
}

TEST_F(PushRetentionTest, WhereThereAreNoRoundsAnAcknowledgmentIsTheEnd) {
  add(1, 2, {.mode = Mode::kAsync});
  start(Kind::kPush, 1, &source_, nullptr);
  start(Kind::kPush, 1, &source_, nullptr);
  ack(1);
  move();
  EXPECT_EQ(wire::PushFrame::of(heir_.datum().header).round, 2U);
}

TEST_F(PushRetentionTest, AnAcknowledgmentOfAnEarlierPushEndsNoLaterOne) {
  add(1, 2, {.mode = Mode::kAsync});
  push_pull(1, source_, target_);
  value({1, 0}, 1, {1, 2});
  const auto push = start(Kind::kPush, 1, &source_, nullptr);
  ack(1);
  EXPECT_FALSE(push->ticket->done());
  ack(2);
  EXPECT_TRUE(push->ticket->done());
}

TEST_F(PushRetentionTest, TheEndOfARoundThatIsSaidAgainEndsNoLaterOne) {
  add(1, 2);
  start(Kind::kPush, 1, &source_, nullptr);
  done({1, 0}, 1);
  ack(1);
  start(Kind::kPush, 1, &source_, nullptr);
  start(Kind::kPush, 1, &source_, nullptr);
  ack(2);
  done({1, 0}, 1);
  shard_.data();
  EXPECT_FALSE(tensors_.find(1)->parts[0].settled());
}

TEST_F(PushRetentionTest, AValueInPiecesLeavesAShareThatLiesThereAsItIs) {
  add(1, 2);
  Floats both{1, 2};
  push_pull(1, both, both);
  EXPECT_THAT(exchange_.servers().landing(value_header({1, 0}, 1)), IsEmpty());
  move();
  EXPECT_THAT(floats_of(heir_.datum().payload.bytes()), ElementsAre(1, 2));
  answer(value_header({1, 0}, 1), {5, 6});
  EXPECT_THAT(both, ElementsAre(5, 6));
}

TEST_F(PushRetentionTest, ValueLandsInSeparateTarget) {
  add(1, 2);
  push_pull(1, source_, target_);
  EXPECT_THAT(exchange_.servers().landing(value_header({1, 0}, 1)), SizeIs(8));
}

TEST_F(PushRetentionTest, AnEncodedShareGoesAgainAsItWas) {
  add(1, 2, {.codec = CodecSpec{.codec = Codec::kOnebit, .error_feedback = true}});
  Floats both{1, -2};
  push_pull(1, both, both);
  const Sent first = shard_.datum();
  both = {-7, 7};
  move();
  const Sent again = heir_.datum();
  EXPECT_EQ(again.header.codec, first.header.codec);
  EXPECT_THAT(again.payload.bytes(), testing::ElementsAreArray(first.payload.bytes()));
}

TEST_F(PushRetentionTest, AShareThatIsBeingEncodedLeavesOnce) {
  coder_->hold = true;
  add(1, 2, {.codec = CodecSpec{.codec = Codec::kOnebit}});
  Floats both{1, -2};
  push_pull(1, both, both);
  move();
  EXPECT_THAT(heir_.data(), IsEmpty());
  coder_->go_on();
  step();
  EXPECT_FALSE(wire::PushFrame::of(heir_.datum().header).again);
}

}  // namespace
}  // namespace stretto::fake
