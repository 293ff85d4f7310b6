// SPDX-License-Identifier: Apache-2.0
// Names and what all say of them: one id a name, places given once, and disagreement for everybody.
#include "scheduler/coordination/tensor_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/membership/slot_table.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

class TensorRegistryTest : public testing::Test {
 protected:
  const TensorRegistry::Entry& declare(const TensorSpec& spec, Rank rank) {
    return registry_.declare(spec, rank, place_, 64)->entry;
  }

  SlotMap map_{100, {50, 51}};
  SlotTable slots_{100, {50, 51}};
  TensorRegistry::Place place_ = [this](const Cut& cut) { return slots_.place(map_, cut); };
  TensorRegistry registry_;
};

TEST_F(TensorRegistryTest, TheSameNameIsTheSameTensorInTheSamePlace) {
  const TensorSpec spec = fake::spec("x", Dtype::kF32, 100);
  const TensorRegistry::Entry first = declare(spec, 0);
  const TensorRegistry::Entry second = declare(spec, 1);
  EXPECT_TRUE(second.broken.ok());
  EXPECT_EQ(first.id, second.id);
  EXPECT_NE(first.id, 0U) << "0 is no tensor";
  EXPECT_EQ(first.first_slot, second.first_slot);
  EXPECT_EQ(slots_.load(50) + slots_.load(51), 400U) << "placed once";
  EXPECT_EQ(second.declared, (std::vector<bool>{true, true}));
  EXPECT_EQ(registry_.size(), 1U);
}

TEST_F(TensorRegistryTest, NamesGetTheirOwnIdsAndSlotsInAnyOrder) {
  const auto& a = declare(fake::spec("a", Dtype::kF32, 100), 0);
  const auto& b = declare(fake::spec("b", Dtype::kF32, 100), 1);
  EXPECT_NE(a.id, b.id);
  EXPECT_NE(a.first_slot, b.first_slot);
  EXPECT_EQ(declare(fake::spec("a", Dtype::kF32, 100), 1).id, a.id);
  EXPECT_EQ(registry_.size(), 2U);
}

TEST_F(TensorRegistryTest, ADisagreementNamesBothAndReachesAllDeclarers) {
  declare(fake::spec("x", Dtype::kF32, 100), 0);
  declare(fake::spec("x", Dtype::kF32, 100), 1);
  const auto& entry = declare(fake::spec("x", Dtype::kF64, 100), 2);
  EXPECT_EQ(entry.broken.code(), Code::kMismatch);
  EXPECT_EQ(entry.broken.cause(),
            "tensor 'x': worker 0 declared f32[100] sync sum, worker 2 declared f64[100] sync sum");
  EXPECT_EQ(entry.declared, (std::vector<bool>{true, true, true}));
}

TEST_F(TensorRegistryTest, RedeclarationMismatchNamesWorkerOnce) {
  declare(fake::spec("x", Dtype::kF32, 100), 0);
  declare(fake::spec("x", Dtype::kF32, 100), 1);
  EXPECT_EQ(declare(fake::spec("x", Dtype::kF32, 99), 1).broken.cause(),
            "tensor 'x': worker 1 declared f32[100] sync sum before, and f32[99] sync sum now; "
            "another tensor needs another name");
}

TEST_F(TensorRegistryTest, BrokenTensorKeepsFirstReason) {
  declare(fake::spec("x", Dtype::kF32, 100), 0);
  declare(fake::spec("x", Dtype::kF64, 100), 1);
  const auto& right = declare(fake::spec("x", Dtype::kF32, 100), 2);
  EXPECT_THAT(right.broken.cause(), testing::HasSubstr("worker 1 declared f64"));
  const auto& wrong = declare(fake::spec("x", Dtype::kI8, 100), 3);
  EXPECT_THAT(wrong.broken.cause(), testing::HasSubstr("worker 1 declared f64"));
}

TEST_F(TensorRegistryTest, EveryPartOfADescriptionMustAgree) {
  const TensorSpec agreed = fake::spec("x", Dtype::kF32, 100);
  std::vector<TensorSpec> others(8, agreed);
  others[0].elements = 101;
  others[1].options.mode = Mode::kAsync;
  others[2].options.update.rule = Rule::kMean;
  others[3].options.update = {.rule = Rule::kSgd, .rate = 0.5};
  others[4].options.deterministic = true;
  others[5].options.codec = CodecSpec{.codec = Codec::kFp16};
  others[6].options.bulk = true;
  others[7].options.shape = "10x10";
  for (const TensorSpec& other : others) {
    TensorRegistry registry;
    ASSERT_TRUE(registry.declare(agreed, 0, place_, 64).ok());
    const auto second = registry.declare(other, 1, place_, 64);
    EXPECT_FALSE(second->entry.broken.ok());
    EXPECT_TRUE(second->breaks);
    EXPECT_FALSE(registry.declare(agreed, 2, place_, 64)->breaks) << "it was broken already";
  }
}

TEST_F(TensorRegistryTest, RefusesDeclarationsBeyondMemoryBudget) {
  TensorSpec spec = fake::spec("", Dtype::kF32, 1);
  Status refused;
  std::size_t count = 0;
  for (; refused.ok() && count < kMaxTensors; ++count) {
    spec.name = std::to_string(count) + std::string(kMaxNameBytes - 8, 'x');
    refused = registry_.declare(spec, 0, place_, 64).status();
  }
  EXPECT_EQ(refused.code(), Code::kResource);
  EXPECT_THAT(refused.cause(), testing::HasSubstr("of 256 MiB"));
  EXPECT_LT(count, DescriptionBudget::kBytes / kMaxNameBytes);
  spec.name = "0" + std::string(kMaxNameBytes - 8, 'x');
  EXPECT_TRUE(registry_.declare(spec, 1, place_, 64).ok()) << "what is known is known";
}

}  // namespace
}  // namespace stretto
