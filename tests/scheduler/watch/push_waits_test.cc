// SPDX-License-Identifier: Apache-2.0
// From what servers say of waiting rounds to whose push is missing.
#include "scheduler/watch/push_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PushWaitsTest : public testing::Test {
 protected:
  static control::LongWait wait(const std::string& tensor, Duration age,
                                std::initializer_list<std::uint32_t> ranks,
                                std::uint32_t workers = 1) {
    return {.tensor = tensor, .round = 7, .age = age, .ranks = ranks, .workers = workers};
  }
  void hear(NodeId shard, const std::vector<control::LongWait>& waits) {
    waits_.heard(shard, {.long_waits = waits}, now_);
  }
  std::string text() const {
    const auto summary = waits_.summary(now_);
    return summary ? summary->text : "";
  }

  PushWaits waits_;
  Time now_{1h};
};

TEST_F(PushWaitsTest, SaysWhoHasNotPushedWhat) {
  hear(5, {wait("layer0", 4s, {1})});
  EXPECT_EQ(text(), "worker 1 has not pushed 'layer0', round 7");
  hear(6, {wait("layer1", 10s, {1}), wait("layer0", 4s, {1})});
  EXPECT_EQ(text(), "worker 1 has not pushed 'layer1', 'layer0', round 7");
  now_ += 2s;
  EXPECT_EQ(waits_.summary(now_)->age, 12s);
  EXPECT_THAT(waits_.summary(now_)->ranks, ElementsAre(1));
}

TEST_F(PushWaitsTest, IsOverWhenTheServersSaySo) {
  hear(5, {wait("a", 10s, {1})});
  hear(6, {wait("b", 10s, {1})});
  hear(5, {});
  EXPECT_EQ(text(), "worker 1 has not pushed 'b', round 7");
  waits_.left(6);
  EXPECT_EQ(text(), "");
}

TEST_F(PushWaitsTest, StepsThatAlwaysWaitLongAreNoStandstill) {
  const auto step = [&](Duration length, std::uint64_t round) {
    for (const Duration age : {1s, 2s}) {
      control::LongWait one = wait("a", age, {1});
      one.round = round;
      hear(5, {one});
      now_ += 1s;
    }
    now_ += length - 2s;  // The last look before the push has come.
    const bool said = !text().empty();
    hear(5, {});
    return said;
  };
  // Nobody can know of the first ones; one long wait, or two, make no habit.
  for (const std::uint64_t round : {1U, 2U, 3U}) EXPECT_TRUE(step(4s, round)) << round;
  for (const std::uint64_t round : {4U, 5U, 6U}) EXPECT_FALSE(step(4s, round)) << round;
  EXPECT_TRUE(step(20s, 7));
  EXPECT_FALSE(step(4s, 8));
  hear(6, {wait("b", 4s, {0})});  // Where nothing has waited yet, 3 s are long.
  EXPECT_EQ(text(), "worker 0 has not pushed 'b', round 7");
}

TEST_F(PushWaitsTest, ShortWaitsAreNoStandstill) {
  hear(5, {wait("a", 2900ms, {1})});
  EXPECT_EQ(text(), "");
  now_ += 100ms;
  EXPECT_NE(text(), "");
}

TEST_F(PushWaitsTest, ManyAreSummedUp) {
  std::vector<control::LongWait> many;
  for (int i = 0; i < 8; ++i) {
    many.push_back(wait("t" + std::to_string(i), 10s, {0, 1, 2, 3, 4, 5, 6, 7}, 100));
  }
  many.front().tensors = 50;
  hear(5, many);
  EXPECT_EQ(text(),
            "workers 0, 1, 2, 3, 4, 5, 6, 7 and 92 more have not pushed 't0', 't1', 't2' "
            "and 47 more, round 7");
}

TEST_F(PushWaitsTest, AWaitForNobodyIsNone) {
  hear(5, {wait("nobody", 5s, {})});
  EXPECT_EQ(text(), "");
}

}  // namespace
}  // namespace stretto
