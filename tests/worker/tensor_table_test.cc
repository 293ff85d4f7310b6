// SPDX-License-Identifier: Apache-2.0
// Which tensors are known, and what an operation on one of them goes through.
#include "worker/operations/tensor_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TensorsTest : public testing::Test {
 protected:
  TensorState& add(std::uint32_t id, const TensorOptions& options = {}) {
    const TensorSpec spec = fake::spec("tensor" + std::to_string(id), Dtype::kF32, 6, options);
    tensors_.add(id, spec, Cut(spec, 8), {11, 12, 11});
    return *tensors_.find(id);
  }
  static PartState::LaneName lane_of(const TensorState& tensor, Operation::Kind kind) {
    Operation operation;
    operation.kind = kind;
    return tensor.lane_of(operation);
  }

  Tensors tensors_;
};

TEST_F(TensorsTest, AreFoundByNumberNameAndPart) {
  const TensorState& tensor = add(3);
  EXPECT_EQ(tensors_.find("tensor3"), &tensor);
  EXPECT_EQ(tensors_.find(wire::Key{3, 2}), &tensor);
  EXPECT_EQ(tensors_.find(wire::Key{3, 3}), nullptr) << "it has three parts";
  EXPECT_EQ(tensors_.find("tensor4"), nullptr);
  EXPECT_EQ(tensors_.find(4), nullptr);
  EXPECT_THAT(tensors_.links_of(3), ElementsAre(11, 12, 11));
  EXPECT_THAT(tensor.probed, ElementsAre(0, 1)) << "one part for each link";
}

TEST_F(TensorsTest, AHandleThatWasNotDeclaredHereIsRefused) {
  add(1);
  EXPECT_TRUE(tensors_.check({1, Dtype::kF32, 6}).ok());
  EXPECT_THAT(tensors_.check({1, Dtype::kF64, 6}).cause(), HasSubstr("as f32[6]"));
  EXPECT_THAT(tensors_.check({2, Dtype::kF32, 6}).cause(), HasSubstr("not declared"));
}

TEST_F(TensorsTest, OnlyEagerPullsPassShares) {
  const TensorState& sync = add(1);
  const TensorState& eager = add(2, {.mode = Mode::kEagerAsync});
  EXPECT_EQ(lane_of(sync, Operation::Kind::kPull), PartState::kShares);
  EXPECT_EQ(lane_of(eager, Operation::Kind::kPull), PartState::kPulls);
  EXPECT_EQ(lane_of(eager, Operation::Kind::kPushPull), PartState::kShares);
  EXPECT_EQ(lane_of(eager, Operation::Kind::kProbe), PartState::kProbes);
  EXPECT_EQ(eager.lane_of(wire::ValueFrame{.answers_push = false}), PartState::kPulls);
  EXPECT_EQ(eager.lane_of(wire::ValueFrame{.answers_push = true}), PartState::kShares);
  EXPECT_EQ(sync.lane_of(wire::ValueFrame{.answers_push = false}), PartState::kShares);
}

TEST_F(TensorsTest, AreSettledWhenNoRoundOfOursIsOpen) {
  TensorState& tensor = add(1);
  EXPECT_TRUE(tensors_.settled());
  const auto push = std::make_shared<Operation>();
  tensor.parts[1].enter(PartState::kShares, push);
  EXPECT_FALSE(tensors_.settled());
  EXPECT_EQ(tensors_.rounds_begun(1, 1), 1U);
  EXPECT_EQ(tensors_.rounds_begun(1, 0), 0U);
  EXPECT_EQ(tensors_.rounds_begun(1, 3), 0U) << "no such part";
  EXPECT_EQ(tensors_.rounds_begun(9, 0), 0U) << "no such tensor";
  tensors_.fail_all({Code::kPeerLost, "gone"});
  EXPECT_TRUE(tensors_.settled()) << "of what has failed nobody knows";
  EXPECT_EQ(tensor.parts[1].current(PartState::kShares), nullptr);
}

TEST_F(TensorsTest, TheFirstFailureStays) {
  TensorState& tensor = add(1);
  tensors_.fail_all({Code::kTimeout, "first"});
  tensors_.fail_all({Code::kPeerLost, "second"});
  EXPECT_EQ(tensor.failed.code(), Code::kTimeout);
}

}  // namespace
}  // namespace stretto
