// SPDX-License-Identifier: Apache-2.0
// In all interleavings of small cases there is at most one driver, no thread sleeps forever, and
// arrivals are seen within the idle grace. Each wake that LeaderFollower requests is needed for
// that. In virtual time: how often the loop thread wakes, and how long no thread drives.
#include "van/event_loop/leader_follower.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "tests/common/effort.h"
#include "tests/van/hand_over_model.h"

namespace stretto {
namespace {

using Hands = LeaderFollower<int>;

/// Expects each requester to wait itself, so that a request wakes no other thread.
struct Hope {
  auto operator<=>(const Hope&) const = default;
  static bool expects_wait() { return true; }
  void met() {}
  void missed() {}
};
using HopefulHands = LeaderFollower<int, Hope>;

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
  kNudgeWakesNobody,
  kEndIsNoEnd,
  kOffersForEver,
  kTwoDrive,
  kOwnDrivesBeside,
};

/// LeaderFollower with a planted bug.
template <Bug kBug, typename Base = Hands>
class Faulty : public Base {
 public:
  using typename Base::Next;
  using typename Base::OwnThread;
  using typename Base::State;
  using typename Base::Wakes;

  auto operator<=>(const Faulty&) const = default;

  Wakes posted(Time now) {
    return lacking(Base::posted(now), Bug::kPostWakesNoPoll, Bug::kPostWakesNoOwn);
  }
  bool ask(int waiter, Time now, Wakes& wakes) {
    const bool drives = Base::ask(waiter, now, wakes);
    wakes = lacking(wakes, Bug::kAskWakesNoPoll, Bug::kAskWakesNoPoll);
    return drives || kBug == Bug::kTwoDrive;
  }
  Wakes leave(State state, bool inbox_empty, Time now) {
    if (kBug == Bug::kEndIsNoEnd && state == State::kOver) state = State::kBusy;
    const Wakes wakes = lacking(Base::leave(state, inbox_empty, now), Bug::kLeaveWakesNoOwn,
                                Bug::kLeaveWakesNoOwn, Bug::kLeaveOffersNobody);
    return wakes.waiter != 0 ? lacking(wakes, Bug::kOffersForEver, Bug::kOffersForEver) : wakes;
  }
  Wakes forget(int waiter, bool inbox_empty, Time now) {
    if (kBug == Bug::kForgetStaysListed) return {};
    return lacking(Base::forget(waiter, inbox_empty, now), Bug::kForgetWakesNoOwn,
                   Bug::kForgetWakesNoOwn, Bug::kForgetOffersNobody);
  }
  OwnThread own_next(bool inbox_empty, Time now) {
    OwnThread own = Base::own_next(inbox_empty, now);
    own.wakes =
        lacking(own.wakes, Bug::kOwnOffersNobody, Bug::kOwnOffersNobody, Bug::kOwnOffersNobody);
    if (kBug == Bug::kOwnRestsForEver && own.next == Next::kPark) own.until = Time::max();
    if (kBug == Bug::kOwnDrivesBeside && own.next == Next::kPark) own.next = Next::kDrive;
    return own;
  }
  Wakes nudge(Time now) {
    return lacking(Base::nudge(now), Bug::kNudgeWakesNobody, Bug::kNudgeWakesNobody);
  }
  Wakes stop(Time now) {
    return lacking(Base::stop(now), Bug::kStopWakesNobody, Bug::kStopWakesNobody);
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
    {.waiters = 2},
    {.waiters = 1},
    {.waiters = 1, .posts = true, .stops = true},
    {.waiters = 1, .posts = true, .impatient = true},
    {.waiters = 1, .rounds = 2, .frame = true},
    {.waiters = 1, .ends = true},
    {.waiters = 1, .late = true},
    {.waiters = 2, .starved = true},
};

// With HopefulHands.
const model::Scene kShyScene = {.waiters = 1, .rounds = 2, .posts = true, .shy = true};

// Scenes that take a hundred times as long, with STRETTO_MODEL_ALL set.
const std::vector<model::Scene> kLongScenes = {
    {.waiters = 2, .posts = true},
    {.waiters = 2, .stops = true},
    {.waiters = 2, .ends = true},
    {.waiters = 1, .posts = true, .ends = true},
    {.waiters = 2, .late = true},
    {.waiters = 2, .posts = true, .starved = true},
    {.waiters = 2, .impatient = true, .frame = true},
    {.waiters = 1, .rounds = 3, .frame = true},
    {.waiters = 2, .posts = true, .frame = true},
};

// The number of states explored of a scene: all, except under a sanitizer.
constexpr std::size_t kMostStates = kLess == 1 ? SIZE_MAX : 16'000;

TEST(HandOverModel, HoldsOverAllInterleavings) {
  std::size_t states = 0;
  std::vector<model::Scene> scenes = kScenes;
  if (process_environment()("STRETTO_MODEL_ALL")) {
    scenes.insert(scenes.end(), kLongScenes.begin(), kLongScenes.end());
  }
  for (const model::Scene& scene : scenes) {
    const model::Verdict verdict = model::explore<Hands>(scene, kMostStates);
    EXPECT_EQ(verdict.fault, "");
    states += verdict.states;
  }
  EXPECT_EQ(model::explore<HopefulHands>(kShyScene, kMostStates).fault, "");
  EXPECT_GT(states, 10'000U) << "a model in which little can happen proves little";
  RecordProperty("states", static_cast<int>(states));
}

// A few states of each scene first: most bugs show there, but each in its own scenes.
template <Bug kBug>
std::string first_fault() {
  for (const std::size_t most : {std::size_t{1'000}, SIZE_MAX}) {
    for (const model::Scene& scene : kScenes) {
      const model::Verdict verdict = model::explore<Faulty<kBug>>(scene, most);
      if (!verdict.fault.empty()) return verdict.fault;
    }
    const model::Verdict shy = model::explore<Faulty<kBug, HopefulHands>>(kShyScene, most);
    if (!shy.fault.empty()) return shy.fault;
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
  EXPECT_NE(first_fault<Bug::kNudgeWakesNobody>(), "");
  EXPECT_NE(first_fault<Bug::kEndIsNoEnd>(), "");
  EXPECT_NE(first_fault<Bug::kOffersForEver>(), "");
}

TEST(HandOverModel, FindsTwoDrivers) {
  EXPECT_EQ(first_fault<Bug::kTwoDrive>(), "two threads drive");
  EXPECT_EQ(first_fault<Bug::kOwnDrivesBeside>(), "two threads drive");
}

// ---- in virtual time

/// The cost of a thread that alternates waits and computation while other work is in flight.
struct Alternation {
  double unserved = 0;          ///< Fraction of time without a driver.
  std::uint32_t own_wakes = 0;  ///< In total.
};

Alternation alternate(Duration waits, Duration computes) {
  constexpr int kTimes = 1000;
  constexpr int kWaiter = 1;
  Hands hands;
  Time now{std::chrono::seconds(7)};
  const Time begin = now;
  Duration unserved{};
  Alternation found;
  const auto to_own = [&] {
    Hands::OwnThread own = hands.own_next(true, now);
    EXPECT_EQ(own.wakes.waiter, 0) << "nobody sleeps here";
    return own;
  };
  Hands::OwnThread own = to_own();
  for (int i = 0; i < kTimes; ++i) {
    Hands::Wakes wakes;
    if (!hands.ask(kWaiter, now, wakes)) {
      EXPECT_EQ(own.next, Hands::Next::kDrive);
      own = hands.own_next(true, now);
      EXPECT_EQ(own.wakes.waiter, kWaiter);
      EXPECT_TRUE(hands.ask(kWaiter, now, wakes));
    }
    for (const Time end = now + waits; own.until < end;) {  // The loop thread's checks while a
                                                            // waiter drives.
      now = std::max(now, own.until);
      own = to_own();
    }
    now = begin + (i + 1) * waits + i * computes;
    const bool wakes_own = hands.leave(Hands::State::kBusy, true, now).own;
    found.own_wakes += wakes_own ? 1 : 0;
    const Time end = now + computes;
    const Time left = now;
    if (wakes_own) own = to_own();
    while (own.next == Hands::Next::kPark && own.until < end) {
      now = own.until;
      own = to_own();
    }
    unserved += own.next == Hands::Next::kDrive ? now - left : computes;
    now = end;
  }
  found.unserved = seconds(unserved) / seconds(now - begin);
  return found;
}

TEST(LeaderFollower, ComputingWaiterLetsOwnThreadDrive) {
  EXPECT_LT(alternate(50us, 90us).unserved, 0.2);
  EXPECT_LT(alternate(20us, 20us).unserved, 0.2);
  EXPECT_LT(alternate(200us, 90us).unserved, 0.2);
  EXPECT_LT(alternate(1ms, 99us).unserved, 0.1);
}

TEST(LeaderFollower, ConsecutiveWaitsDoNotWakeOwnThread) {
  EXPECT_LE(alternate(50us, 5us).own_wakes, 1U) << "to see that waits follow one another";
  EXPECT_LE(alternate(20us, 4us).own_wakes, 1U);
}

TEST(LeaderFollower, WithdrawsOfferThatNoWaiterTakes) {
  Hands hands;
  Time now{std::chrono::seconds(7)};
  Hands::Wakes wakes;
  EXPECT_EQ(hands.own_next(true, now).next, Hands::Next::kDrive);
  EXPECT_FALSE(hands.ask(1, now, wakes));
  Hands::OwnThread own = hands.own_next(true, now);
  EXPECT_EQ(own.wakes.waiter, 1);
  EXPECT_EQ(own.until, now + Hands::kOfferPatience);
  now = own.until;
  EXPECT_EQ(hands.own_next(true, now).next, Hands::Next::kDrive);
  EXPECT_FALSE(hands.ask(1, now, wakes)) << "it comes too late, and is offered the loop again";
  EXPECT_TRUE(wakes.poll);
  EXPECT_EQ(hands.own_next(true, now).wakes.waiter, 1);
  EXPECT_TRUE(hands.ask(1, now, wakes));
}

}  // namespace
}  // namespace stretto
