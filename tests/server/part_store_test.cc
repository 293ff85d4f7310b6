// SPDX-License-Identifier: Apache-2.0
// Stores: saved and loaded in pieces of any size they go on as the same, and what does not fit is
// refused.
#include "server/storage/part_store.h"

#include <gtest/gtest.h>

#include "tests/server/group.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

constexpr wire::Key kStored{1, 0};
constexpr std::size_t kNumbers = 100;

struct Kind {
  Mode mode;
  Rule rule;
  std::optional<CodecSpec> codec;
};

PartLayout layout_of(const Kind& kind, std::size_t elements = kNumbers) {
  TensorOptions options{.mode = kind.mode, .update = {.rule = kind.rule}};
  options.codec = kind.codec;
  return {fake::spec("x", Dtype::kF32, elements, options), kStored, elements, 2};
}

Store make_store(const PartLayout& layout) {
  std::unique_ptr<ops::UpdateRule> rule;
  if (layout.has_rule) {
    rule = ops::make_update_rule(layout.options.update, layout.dtype, layout.sums, layout.elements)
               .or_exit();
  }
  return {layout, std::move(rule)};
}

void apply(Store& store, float number, bool assign = false) {
  std::vector<float> numbers(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i) numbers[i] = number * static_cast<float>(i % 7);
  store.apply({.key = kStored,
               .version = store.value().version + 1,
               .from = Sources(fake::group_of(2)),
               .assign = assign,
               .bytes = fake::bytes_of(numbers)});
}

std::vector<std::byte> saved(Store& store) {
  std::vector<std::byte> all(store.saved_bytes());
  constexpr std::size_t kPiece = 77;
  for (std::size_t offset = 0; offset < all.size(); offset += kPiece) {
    store.save(offset, std::span(all).subspan(offset, std::min(kPiece, all.size() - offset)));
  }
  return all;
}

TEST(Store, ASnapshotIsOfWhenItWasBegun) {
  for (const Rule rule : {Rule::kSum, Rule::kSgd, Rule::kAdam}) {
    Store store = make_store(layout_of({Mode::kAsync, rule, {}}));
    apply(store, 0.5F);
    const std::vector<std::byte> before = saved(store);
    store.begin_snapshot();
    EXPECT_EQ(store.take_snapshot(), before) << "nothing has changed";
    store.begin_snapshot();
    apply(store, 0.25F);
    apply(store, 0.25F);
    EXPECT_EQ(store.take_snapshot(), before);
    EXPECT_EQ(Store::version_of(before), 1U);
    EXPECT_NE(saved(store), before);
  }
}

TEST(Store, ASnapshotIsNotOfAStateThatIsSetMeanwhile) {
  Store store = make_store(layout_of({Mode::kAsync, Rule::kMomentum, {}}));
  apply(store, 0.5F);
  const std::vector<std::byte> before = saved(store);
  store.begin_snapshot();
  for (const std::span<std::byte> piece : store.memory()) piece[0] = std::byte{0x55};
  EXPECT_EQ(store.take_snapshot(), before);
  store.begin_snapshot();
  ASSERT_TRUE(store.load(0, before).ok());
  EXPECT_NE(store.take_snapshot(), before);
}

TEST(Store, GoesOnAsTheOneThatItWasLoadedFrom) {
  const CodecSpec owing = *codec_from("onebit,ef=vanilla");
  const Kind kinds[] = {{Mode::kSync, Rule::kSum, {}},    {Mode::kSync, Rule::kMean, {}},
                        {Mode::kSync, Rule::kSum, owing}, {Mode::kAsync, Rule::kSum, {}},
                        {Mode::kAsync, Rule::kSgd, {}},   {Mode::kAsync, Rule::kMomentum, {}},
                        {Mode::kEager, Rule::kAdam, {}},  {Mode::kAsync, Rule::kAdagrad, {}}};
  for (const Kind& kind : kinds) {
    const PartLayout layout = layout_of(kind);
    Store first = make_store(layout);
    apply(first, 0.5F);
    apply(first, 0.25F);
    const std::vector<std::byte> all = saved(first);
    Store second = make_store(layout);
    for (std::size_t offset = 0; offset < all.size(); offset += 99) {
      const std::size_t size = std::min<std::size_t>(99, all.size() - offset);
      ASSERT_TRUE(second.load(offset, std::span(all).subspan(offset, size)).ok());
    }
    EXPECT_EQ(saved(second), all);
    apply(first, 0.125F);
    apply(second, 0.125F);
    EXPECT_EQ(saved(second), saved(first));
    EXPECT_NE(saved(second), all);
  }
}

TEST(Store, OneWithoutAValueIsSavedToo) {
  const PartLayout layout = layout_of({Mode::kAsync, Rule::kAdam, {}});
  Store first = make_store(layout);
  Store second = make_store(layout);
  apply(second, 1);
  ASSERT_TRUE(second.load(0, saved(first)).ok());
  EXPECT_EQ(second.value().version, 0U);
  EXPECT_EQ(saved(second), saved(first));
}

TEST(Store, RefusesStateOfOtherLayout) {
  Store store = make_store(layout_of({Mode::kSync, Rule::kSum, {}}));
  apply(store, 1);
  std::vector<std::byte> all = saved(store);
  Store smaller = make_store(layout_of({Mode::kSync, Rule::kSum, {}}, kNumbers / 2));
  EXPECT_EQ(smaller.load(0, all).code(), Code::kMismatch);
  Store same = make_store(layout_of({Mode::kSync, Rule::kSum, {}}));
  EXPECT_EQ(same.load(0, std::span(all).first(8)).code(), Code::kMalformed) << "less than a head";
  all.resize(all.size() + 1);
  EXPECT_EQ(same.load(0, all).code(), Code::kMalformed) << "more than there is";
}

TEST(Store, BroadcastClearsOwedError) {
  Store store = make_store(layout_of({Mode::kSync, Rule::kSum, *codec_from("onebit,ef=vanilla")}));
  apply(store, 0.5F);
  const std::uint64_t owing = store.saved_bytes();
  EXPECT_EQ(store.value().codec, Codec::kOnebit);
  apply(store, 1, true);
  EXPECT_EQ(store.value().codec, Codec::kNone);
  EXPECT_EQ(store.saved_bytes(), Store::kHeadBytes + kNumbers * sizeof(float));
  EXPECT_NE(store.saved_bytes(), owing);
}

}  // namespace
}  // namespace stretto
