// SPDX-License-Identifier: Apache-2.0
// What an update rule remembers, told and set in pieces: all of it, in any cut, and nothing beside.
#include "server/storage/optimizer_state.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/update.h"

namespace stretto {
namespace {

constexpr std::size_t kElements = 50'000;  // Two arrays of them and a head: more pieces than one.

TensorSpec spec_of(Rule rule) {
  TensorSpec spec{.name = "w", .dtype = Dtype::kF32, .elements = kElements, .options = {}};
  spec.options.mode = Mode::kAsync;
  spec.options.update.rule = rule;
  return spec;
}

Store make_store(Rule rule) {
  const PartLayout layout(spec_of(rule), {1, 0}, kElements, 1);
  return {layout, ops::make_update_rule(layout.options.update, layout.dtype, kElements).or_exit()};
}

void push(Store& store, float value) {
  Buffer gradient = Buffer::allocate(kElements * sizeof(float));
  std::vector<float> numbers(kElements);
  for (std::size_t i = 0; i < kElements; ++i) numbers[i] = value * static_cast<float>(i % 7);
  std::memcpy(gradient.writable().data(), numbers.data(), gradient.size());
  store.apply({.key = {1, 0},
               .version = store.value().version + 1,
               .from = Sources(10),
               .bytes = std::move(gradient)});
}

std::string all_of(Store& store) {
  std::string all;
  while (true) {
    control::StateRequest request;
    request.offset = all.size();
    const control::StatePiece piece = answer_to(request, store);
    EXPECT_TRUE(piece.why.ok()) << piece.why.text();
    EXPECT_LE(piece.piece.size(), control::StatePiece::kMaxBytes);
    all += piece.piece;
    if (all.size() == piece.total || piece.piece.empty()) return all;
  }
}

TEST(RuleState, AStoreThatIsGivenAnothersGoesOnAsThatOne) {
  for (const Rule rule : {Rule::kMomentum, Rule::kAdam, Rule::kAdagrad}) {
    Store first = make_store(rule);
    for (int update = 0; update < 3; ++update) push(first, 0.5F);
    const std::string kept = all_of(first);
    Store second = make_store(rule);
    constexpr std::size_t kCut = 12'345;  // Across every span's end.
    for (std::size_t offset = 0; offset < kept.size(); offset += kCut) {
      control::StateRequest request;
      request.offset = offset;
      request.set = kept.substr(offset, kCut);
      request.total = kept.size();
      EXPECT_TRUE(answer_to(request, second).why.ok());
    }
    EXPECT_EQ(all_of(second), kept);
    push(first, 0.25F);
    push(second, 0.25F);
    EXPECT_EQ(all_of(second), all_of(first));
    EXPECT_NE(all_of(second), kept);
  }
}

TEST(RuleState, RulesWithoutMemoryHaveNone) {
  Store store = make_store(Rule::kSgd);
  EXPECT_EQ(all_of(store), "");
}

TEST(RuleState, RefusesMismatchedState) {
  Store store = make_store(Rule::kMomentum);
  push(store, 0.5F);
  const std::string kept = all_of(store);
  const auto code_of = [&](std::uint64_t offset, const std::string& set, std::uint64_t total) {
    control::StateRequest request;
    request.number = 7;
    request.offset = offset;
    request.set = set;
    request.total = total;
    const control::StatePiece piece = answer_to(request, store);
    EXPECT_EQ(piece.number, 7U);
    return piece.why.code();
  };
  EXPECT_EQ(code_of(kept.size() + 1, "", 0), Code::kMalformed);
  EXPECT_EQ(code_of(~std::uint64_t{0}, "x", kept.size()), Code::kMalformed);
  EXPECT_EQ(code_of(kept.size() - 1, "xy", kept.size()), Code::kMalformed);
  EXPECT_EQ(code_of(0, "x", kept.size() + 4), Code::kMismatch);
  EXPECT_EQ(all_of(store), kept);
  const control::StatePiece none = refusal_of({}, Status(Code::kResource, "no memory"));
  EXPECT_EQ(none.why.code(), Code::kResource);
  EXPECT_EQ(none.why.cause(), "no memory");
}

}  // namespace
}  // namespace stretto
