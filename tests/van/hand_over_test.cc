// SPDX-License-Identifier: Apache-2.0
// Over all interleavings of small cases nobody drives beside another, nobody sleeps for ever, and
// what comes is seen within the rest; and each wake that HandOver asks for is needed for that.
#include "van/hand_over.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/config.h"
#include "tests/van/hand_over_model.h"

namespace stretto {
namespace {

using Hands = HandOver<int>;

enum class Bug : std::uint8_t {
  kPostWakesNoPoll,
  kPostWakesNoOwn,
  kAskWakesNoPoll,
  kLeaveWakesNoOwn,
  kLeaveOffersNobody,
  kForgetWakesNoOwn,
  kForgetOffersNobody,
  kForgetStaysListed,
  kOwnOffersNobody,
  kOwnRestsForEver,
  kStopWakesNobody,
  kTwoDrive,
  kOwnDrivesBeside,
};

/// HandOver with a mistake.
template <Bug kBug>
class Faulty : public Hands {
 public:
  auto operator<=>(const Faulty&) const = default;

  Wakes posted(Time now) {
    return lacking(Hands::posted(now), Bug::kPostWakesNoPoll, Bug::kPostWakesNoOwn);
  }
  bool ask(int waiter, Wakes& wakes) {
    const bool drives = Hands::ask(waiter, wakes);
    wakes = lacking(wakes, Bug::kAskWakesNoPoll, Bug::kAskWakesNoPoll);
    return drives || kBug == Bug::kTwoDrive;
  }
  Wakes leave(State state, bool inbox_empty, Time now) {
    return lacking(Hands::leave(state, inbox_empty, now), Bug::kLeaveWakesNoOwn,
                   Bug::kLeaveWakesNoOwn, Bug::kLeaveOffersNobody);
  }
  Wakes forget(int waiter, bool inbox_empty, Time now) {
    if (kBug == Bug::kForgetStaysListed) return {};
    return lacking(Hands::forget(waiter, inbox_empty, now), Bug::kForgetWakesNoOwn,
                   Bug::kForgetWakesNoOwn, Bug::kForgetOffersNobody);
  }
  Own own_next(bool inbox_empty, Time now) {
    Own own = Hands::own_next(inbox_empty, now);
    own.wakes =
        lacking(own.wakes, Bug::kOwnOffersNobody, Bug::kOwnOffersNobody, Bug::kOwnOffersNobody);
    if (kBug == Bug::kOwnRestsForEver && own.next == Next::kPark) own.until = Time::max();
    if (kBug == Bug::kOwnDrivesBeside && own.next == Next::kPark) own.next = Next::kDrive;
    return own;
  }
  Wakes stop(Time now) {
    return lacking(Hands::stop(now), Bug::kStopWakesNobody, Bug::kStopWakesNobody);
  }

 private:
  static Wakes lacking(Wakes wakes, Bug no_poll, Bug no_own, Bug no_waiter) {
    if (kBug == no_poll) wakes.poll = false;
    if (kBug == no_own) wakes.own = false;
    if (kBug == no_waiter) wakes.waiter = 0;
    return wakes;
  }
  static Wakes lacking(const Wakes& wakes, Bug no_poll, Bug no_own) {
    return lacking(wakes, no_poll, no_own, no_own);
  }
};

const std::vector<model::Scene> kScenes = {
    {.waiters = 1, .posts = true, .stops = true},
    {.waiters = 1, .posts = true, .impatient = true},
    {.waiters = 1, .rounds = 2, .frame = true},
    {.waiters = 2},
};

// Those that take a hundred times as long, with STRETTO_MODEL_ALL set.
const std::vector<model::Scene> kLongScenes = {
    {.waiters = 2, .posts = true},
    {.waiters = 2, .stops = true},
    {.waiters = 2, .impatient = true, .frame = true},
    {.waiters = 1, .rounds = 3, .frame = true},
    {.waiters = 2, .posts = true, .frame = true},
};

TEST(HandOverModel, HoldsOverAllInterleavings) {
  std::size_t states = 0;
  std::vector<model::Scene> scenes = kScenes;
  if (process_environment()("STRETTO_MODEL_ALL")) {
    scenes.insert(scenes.end(), kLongScenes.begin(), kLongScenes.end());
  }
  for (const model::Scene& scene : scenes) {
    const model::Verdict verdict = model::explore<Hands>(scene);
    EXPECT_EQ(verdict.fault, "");
    states += verdict.states;
  }
  EXPECT_GT(states, 10'000U) << "a model in which little can happen proves little";
  RecordProperty("states", static_cast<int>(states));
}

template <Bug kBug>
std::string first_fault() {
  for (const model::Scene& scene : kScenes) {
    const model::Verdict verdict = model::explore<Faulty<kBug>>(scene);
    if (!verdict.fault.empty()) return verdict.fault;
  }
  return {};
}

TEST(HandOverModel, FindsEachMissingWake) {
  EXPECT_NE(first_fault<Bug::kPostWakesNoPoll>(), "");
  EXPECT_NE(first_fault<Bug::kAskWakesNoPoll>(), "");
  EXPECT_NE(first_fault<Bug::kLeaveWakesNoOwn>(), "");
  EXPECT_NE(first_fault<Bug::kLeaveOffersNobody>(), "");
  EXPECT_NE(first_fault<Bug::kForgetWakesNoOwn>(), "");
  EXPECT_NE(first_fault<Bug::kForgetOffersNobody>(), "");
  EXPECT_NE(first_fault<Bug::kForgetStaysListed>(), "");
  EXPECT_NE(first_fault<Bug::kOwnOffersNobody>(), "");
  EXPECT_NE(first_fault<Bug::kOwnRestsForEver>(), "");
  EXPECT_NE(first_fault<Bug::kStopWakesNobody>(), "");
}

TEST(HandOverModel, FindsTwoDrivers) {
  EXPECT_EQ(first_fault<Bug::kTwoDrive>(), "two threads drive");
  EXPECT_EQ(first_fault<Bug::kOwnDrivesBeside>(), "two threads drive");
}

}  // namespace
}  // namespace stretto
