// SPDX-License-Identifier: Apache-2.0
// Replies about a part: values, ends of rounds, and failures with their causes.
#include "server/sessions/reply_sender.h"

#include <optional>

#include "tests/server/links_fixture.h"
#include "tests/server/part_fixture.h"
#include "van/wire/frame_views.h"

namespace stretto::fake {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReplySenderTest : public LinksTest {
 protected:
  ReplySenderTest() {
    begin();
    part_ = &add_part(slot_, spec_, 2);
  }
  void share(Rank rank, bool wants_value = true) {
    const PushId push{node_of(rank), part_->key, ++rounds_[rank]};
    auto counted = slot_.count(
        *part_, push, {.worker = push.worker, .round = push.round, .bytes = bytes_of({1, 2})});
    ASSERT_TRUE(counted.ok());
    if (counted->update) slot_.release(slot_.append(*part_, *std::move(counted->update)));
    part_->waiting.add({.worker = push.worker,
                        .wants_value = wants_value,
                        .pushed = true,
                        .gate = counted->gate,
                        .since = {}});
  }
  void announce() {
    announcer_.tell_ready(*part_);
    announcer_.check_absentee(*part_);
    step();
  }

  TensorSpec spec_ = spec("x", Dtype::kF32, 2);
  Slot slot_{0, 0};
  Part* part_ = nullptr;
  ReplySender announcer_{van_, links_};
  std::array<std::uint64_t, 2> rounds_{};
};

TEST_F(ReplySenderTest, AnswersWaitersOnceRoundCompletes) {
  share(0);
  announce();
  EXPECT_TRUE(first_.data().empty());
  share(1, false);
  announce();
  const Sent value = first_.datum();
  EXPECT_EQ(value.header.kind, wire::Kind::kValue);
  EXPECT_THAT(floats_of(value.payload.bytes()), ElementsAre(2, 4));
  EXPECT_EQ(wire::ValueFacts::of(value.header).contributors, 2U);
  EXPECT_EQ(second_.datum().header.kind, wire::Kind::kDone);
  EXPECT_TRUE(part_->waiting.empty());
}

TEST_F(ReplySenderTest, FailsWaitersOfRoundMissingDepartedWorker) {
  share(0);
  part_->collector.rounds().leave(node_of(1));
  announce();
  const control::Message told = first_.control();
  EXPECT_EQ(std::get<control::Fault>(told).why.peer(), "worker 1");
  EXPECT_THAT(std::get<control::Fault>(told).why.cause(),
              HasSubstr("tensor 'x', round 1: worker 1 has left"));
  EXPECT_TRUE(second_.controls().empty());
}

TEST_F(ReplySenderTest, MismatchReachesSenderAndWaiters) {
  share(0);
  const wire::PushFrame about{.key = part_->key, .round = 1};
  announcer_.disagree(second_.link(), about, *part_, {Code::kMismatch, "not alike"});
  step();
  EXPECT_THAT(std::get<control::Fault>(first_.control()).why.cause(), HasSubstr("not alike"));
  EXPECT_THAT(std::get<control::Fault>(second_.control()).why.cause(), HasSubstr("not alike"));
  EXPECT_EQ(part_->doomed.code(), Code::kMismatch);
}

TEST_F(ReplySenderTest, AProbeIsAnsweredWithoutAWait) {
  share(0);
  announcer_.answer_probe(second_.link(), node_of(1), {.key = part_->key, .priority = 3}, *part_);
  step();
  const wire::ValueFacts facts = wire::ValueFacts::of(second_.datum().header);
  EXPECT_EQ(facts.version, 0U);
  EXPECT_EQ(facts.spread, 1U);
  EXPECT_EQ(facts.own_applied, 0U);
}

}  // namespace
}  // namespace stretto::fake
