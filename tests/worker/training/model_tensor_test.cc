// SPDX-License-Identifier: Apache-2.0
// Updates added to values and to parts, and updates computed at the current values.
#include "worker/training/model_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace stretto {
namespace {

using testing::ElementsAre;
using Floats = std::vector<float>;

// A tensor whose updates are the given gradients.
ModelTensor tensor_of(const Floats& values) {
  return ModelTensor("w", values, Optimizer::make({.rule = Rule::kSum}, values.size()).or_exit());
}

void set_incoming(ModelTensor& tensor, const Floats& values) {
  std::ranges::copy(values, tensor.incoming().begin());
}

PartInfo part(std::size_t first, std::size_t elements, std::uint64_t applied) {
  return {.offset = first * sizeof(float),
          .bytes = elements * sizeof(float),
          .info = {.applied = applied}};
}

TEST(ModelTensor, BeginsWithItsValues) {
  const Floats values{1, 2};
  const ModelTensor tensor = tensor_of(values);
  EXPECT_EQ(tensor.name(), "w");
  EXPECT_EQ(tensor.size(), 2U);
  EXPECT_THAT(tensor.values(), ElementsAre(1, 2));
}

TEST(ModelTensor, TakeReplacesValuesWithIncoming) {
  ModelTensor tensor = tensor_of({1, 2});
  set_incoming(tensor, {3, 4});
  tensor.take();
  EXPECT_THAT(tensor.values(), ElementsAre(3, 4));
}

TEST(ModelTensor, AddsAnUpdateWhereItIsWanted) {
  ModelTensor tensor = tensor_of({1, 2});
  set_incoming(tensor, {5, 6});
  tensor.make_update(Floats{1, 0}, 1);
  EXPECT_THAT(tensor.values(), ElementsAre(1, 2)) << "it is made, and nothing more";
  tensor.add_to_values();
  EXPECT_THAT(tensor.values(), ElementsAre(2, 2));
  EXPECT_THAT(tensor.incoming(), ElementsAre(5, 6));
  tensor.make_update(Floats{0, 2}, 0.5);
  EXPECT_THAT(tensor.update(), ElementsAre(0, 1));
  tensor.add_to_incoming();
  EXPECT_THAT(tensor.incoming(), ElementsAre(5, 7));
}

// The broadcast is round 1, so these updates belong to rounds 2 and 3.
TEST(ModelTensor, AddsToEachPartTheUpdatesThatItLacks) {
  ModelTensor tensor = tensor_of(Floats(6, 0));
  tensor.make_update(Floats(6, 1), 1);
  tensor.make_update(Floats(6, 10), 1);
  const PartInfo parts[] = {part(0, 2, 1), part(2, 2, 2), part(4, 2, 3)};
  tensor.add_missing(parts);
  EXPECT_THAT(tensor.incoming(), ElementsAre(11, 11, 10, 10, 0, 0));
}

TEST(ModelTensor, LateTensorCountsUpdatesFromItsFirst) {
  ModelTensor tensor("w", Floats{4}, Optimizer::make({.rule = Rule::kSum}, 1).or_exit());
  tensor.come_late();
  tensor.make_update(Floats{1}, 1);
  PartInfo part{.offset = 0, .bytes = sizeof(float), .info = {}};
  part.info.applied = 1;
  tensor.add_missing(std::span(&part, 1));
  EXPECT_THAT(tensor.incoming(), ElementsAre(0)) << "the servers have it";
  part.info.applied = 0;
  tensor.add_missing(std::span(&part, 1));
  EXPECT_THAT(tensor.incoming(), ElementsAre(1));
}

TEST(ModelTensor, MakesUpdatesAtItsValuesAndAtTheRateThatIsSet) {
  const RuleOptions sgd{.rule = Rule::kSgd, .rate = 1, .weight_decay = 0.5};
  ModelTensor tensor("w", Floats{4}, Optimizer::make(sgd, 1).or_exit());
  tensor.optimizer().set_rate(2);
  tensor.make_update(Floats{1}, 1);
  EXPECT_THAT(tensor.update(), ElementsAre(-6)) << "2 * (1 + 0.5 * 4)";
}

}  // namespace
}  // namespace stretto
