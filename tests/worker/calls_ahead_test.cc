// SPDX-License-Identifier: Apache-2.0
// The parts that a member sends ahead of a receiver, holds back, and requests.
#include "worker/operations/calls_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "tests/sim/random.h"

namespace stretto {
namespace {

using HeldCall = CallsAhead::Held;
using testing::ElementsAre;

constexpr std::size_t kFrame = CallsAhead::kFrameBytes;

std::vector<HeldCall> released(CallsAhead& ahead) {
  std::vector<HeldCall> all;
  while (const std::optional<HeldCall> held = ahead.release()) all.push_back(*held);
  return all;
}

TEST(CallsAhead, AllowanceGoesAndTheRestIsHeld) {
  CallsAhead ahead(4 * kFrame);
  EXPECT_TRUE(ahead.admit({1, 0}, kFrame));
  EXPECT_TRUE(ahead.admit({2, 0}, kFrame));
  EXPECT_FALSE(ahead.admit({2, 1}, 0)) << "a frame counts without a payload, too";
  EXPECT_TRUE(released(ahead).empty());
}

TEST(CallsAhead, BegunCallIsNotLimited) {
  CallsAhead ahead(kFrame);
  ahead.note_begun(2);
  for (std::size_t part = 0; part < 100; ++part) {
    EXPECT_TRUE(ahead.admit({2, part}, 1 << 20));
  }
  EXPECT_FALSE(ahead.admit({3, 0}, 1 << 20));
  EXPECT_TRUE(ahead.admit({1, 0}, 1 << 20));
}

TEST(CallsAhead, HeldPartsGoInTheOrderOfCalls) {
  CallsAhead ahead(2 * kFrame);
  EXPECT_FALSE(ahead.admit({5, 1}, 2 * kFrame));
  EXPECT_FALSE(ahead.admit({4, 0}, 2 * kFrame));
  EXPECT_FALSE(ahead.admit({6, 0}, 0)) << "it fits, and others wait";
  ahead.note_begun(3);
  EXPECT_TRUE(released(ahead).empty());
  ahead.note_begun(4);
  EXPECT_THAT(released(ahead), ElementsAre(HeldCall{4, 0}));
  ahead.note_begun(5);
  EXPECT_THAT(released(ahead), ElementsAre(HeldCall{5, 1}, HeldCall{6, 0}));
}

TEST(CallsAhead, BegunCallsFreeTheAllowance) {
  CallsAhead ahead(4 * kFrame);
  for (std::uint64_t call = 1; call <= 4; ++call) EXPECT_TRUE(ahead.admit({call, 0}, 0));
  EXPECT_FALSE(ahead.admit({5, 0}, 0));
  ahead.note_begun(1);
  EXPECT_THAT(released(ahead), ElementsAre(HeldCall{5, 0}));
  EXPECT_FALSE(ahead.admit({6, 0}, 0));
  ahead.note_begun(1);
  EXPECT_TRUE(released(ahead).empty()) << "that was known";
}

TEST(CallsAhead, QuestionComesAtHalfTheAllowance) {
  CallsAhead ahead(4 * kFrame);
  EXPECT_TRUE(ahead.admit({1, 0}, 0));
  EXPECT_TRUE(ahead.admit({2, 0}, 0));
  EXPECT_EQ(ahead.question(), std::nullopt);
  EXPECT_TRUE(ahead.admit({3, 0}, 0));
  EXPECT_EQ(ahead.question(), 2U) << "by then half of it is in use";
  EXPECT_TRUE(ahead.admit({4, 0}, 0));
  EXPECT_FALSE(ahead.admit({5, 0}, 0));
  EXPECT_EQ(ahead.question(), std::nullopt) << "an answer is due";
  ahead.note_begun(2);
  EXPECT_THAT(released(ahead), ElementsAre(HeldCall{5, 0}));
  EXPECT_EQ(ahead.question(), 4U);
}

TEST(CallsAhead, EarlierHeldCallIsAskedForAtOnce) {
  CallsAhead ahead(4 * kFrame);
  EXPECT_TRUE(ahead.admit({5, 0}, 3 * kFrame));
  EXPECT_EQ(ahead.question(), 5U);
  EXPECT_FALSE(ahead.admit({4, 1}, 0));
  EXPECT_EQ(ahead.question(), 4U) << "the receiver begins 5 with this part of 4 alone";
  EXPECT_EQ(ahead.question(), std::nullopt);
}

TEST(CallsAhead, QuestionNamesAHeldCallIfNoneWent) {
  CallsAhead ahead(kFrame);
  EXPECT_FALSE(ahead.admit({7, 0}, 1));
  EXPECT_EQ(ahead.question(), 7U);
}

TEST(CallsAhead, NothingIsLeftAfterClear) {
  CallsAhead ahead(kFrame);
  EXPECT_FALSE(ahead.admit({7, 0}, 1));
  ahead.clear();
  ahead.note_begun(7);
  EXPECT_TRUE(released(ahead).empty());
  EXPECT_EQ(ahead.question(), std::nullopt);
}

/// A sender that runs ahead, whose parts complete at different times. The receiver begins a call
/// once all parts of the call before have arrived.
class TwoMembers {
 public:
  explicit TwoMembers(std::uint64_t seed)
      : random_(seed), allowance_(kFrame + random_.below(20 * kFrame)), ahead_(allowance_) {}

  void run() {
    int steps = 0;
    for (; !is_over() && steps < 100'000; ++steps) {
      switch (random_.below(4)) {
        case 0:
          if (made_ < kCalls) make_call();
          break;
        case 1:
          if (!later_.empty()) give_later();
          break;
        case 2:
          if (begun_ < kCalls && (begun_ == 0 || missing_[begun_] == 0)) ++begun_;
          break;
        default:
          answer();
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_TRUE(is_over()) << "in call " << begun_ << " of " << kCalls << ", " << missing_[begun_]
                           << " parts are held for ever";
  }

 private:
  static constexpr std::uint64_t kCalls = 60;

  bool is_over() const { return begun_ == kCalls && made_ == kCalls && missing_.at(kCalls) == 0; }
  void make_call() {
    ++made_;
    const std::size_t parts = 1 + random_.below(4);
    missing_[made_] = parts;
    for (std::size_t part = 0; part < parts; ++part) {
      sizes_[{made_, part}] = random_.below(10 * kFrame);
      later_.push_back({made_, part});
      if (random_.chance(0.7)) give(later_.size() - 1);
    }
  }
  void give_later() { give(random_.below(later_.size())); }
  void give(std::size_t at) {
    const HeldCall what = later_[at];
    later_.erase(later_.begin() + static_cast<std::ptrdiff_t>(at));
    if (ahead_.admit(what, sizes_[what])) come(what);
    ask();
  }
  void come(HeldCall what) {
    --missing_[what.call];
    came_.push_back(what);
    std::size_t early = 0;
    for (const HeldCall& each : came_) early += each.call > begun_ ? sizes_[each] + kFrame : 0;
    ASSERT_LE(early, allowance_);
  }
  void ask() {
    if (const auto question = ahead_.question()) questions_.push_back(*question);
  }
  // Answers the first request whose call has begun.
  void answer() {
    const auto found = std::ranges::find_if(
        questions_, [this](std::uint64_t question) { return question <= begun_; });
    if (found == questions_.end()) return;
    questions_.erase(found);
    ahead_.note_begun(begun_);
    while (const auto held = ahead_.release()) come(*held);
    ask();
  }

  sim::Random random_;
  std::size_t allowance_;
  CallsAhead ahead_;
  std::map<HeldCall, std::size_t> sizes_;
  std::map<std::uint64_t, std::size_t> missing_;  // By call: parts that have not arrived.
  std::vector<HeldCall> later_;                   // Parts whose sums are incomplete.
  std::vector<HeldCall> came_;
  std::vector<std::uint64_t> questions_;
  std::uint64_t made_ = 0;   // Calls made by the sender,
  std::uint64_t begun_ = 0;  // and begun by the receiver.
};

TEST(CallsAhead, ReceiverGetsAllAndKeepsLittle) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    TwoMembers(seed).run();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace stretto
