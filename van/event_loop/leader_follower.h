// SPDX-License-Identifier: Apache-2.0
// LeaderFollower: who drives a loop: its own thread, or one that waits for what the loop does; who
// sleeps meanwhile, and who is woken when that changes.
//
//   a waiter finds nobody driving        it drives
//   it finds the own thread driving      it asks for the loop, sleeps, and is offered it
//   it finds another waiter driving      it sleeps until its own end, or until it is offered it
//   a driving waiter's end has come      the next waiter is offered the loop; if there is none,
//                                        nobody drives for a rest, then the own thread does
//
// The rest is what makes waiting cheap: who waits again within it finds the loop free, and neither
// of the two threads has woken the other. Rests says how long it may be. Who is offered the loop
// and does not come is waited for as long as kOfferPatience; then the own thread drives.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/types.h"
#include "van/event_loop/idle_grace.h"
#include "van/event_loop/wait_predictor.h"

namespace stretto {

/// Thread: any, one at a time. Pure: each call is a step under its owner's lock, and says what is
/// to be done next. A Waiter names a thread that waits; a default one is none.
template <typename Waiter, typename Forecast = WaitPredictor>
class LeaderFollower {
 public:
  auto operator<=>(const LeaderFollower&) const = default;

  /// For how long a waiter that was woken to drive may be kept from running.
  static constexpr Duration kOfferPatience = std::chrono::milliseconds(10);

  enum class State : std::uint8_t { kOver, kBusy, kIdle };  ///< A node's, as its driver leaves it.

  /// Who is to be woken.
  struct Wakes {
    bool poll = false;  ///< The driver, which may sleep in its poll.
    bool own = false;   ///< The own thread, which is parked or about to be.
    Waiter waiter{};    ///< Who is offered the loop.
  };

  enum class Next : std::uint8_t { kDrive, kPark, kEnd };
  struct OwnThread {
    Next next = Next::kPark;
    Time until = Time::max();  ///< For how long it parks.
    Wakes wakes;
  };

  // ---- any thread

  /// A request has been put into the inbox.
  Wakes posted(Time now) {
    if (driver_ != Driver::kNobody) return wake_driver();
    if (offered_ != Waiter()) return {};  // It looks into the inbox.
    if (std::exchange(owed_, true)) {
      forecast_.missed();
    } else if (rests_idle_ && forecast_.expects_wait()) {
      return call_own(std::min(take_over_at_, now + IdleGrace::kIdle));
    }
    return call_own(now);
  }
  /// The loop is to end: its own thread ends it.
  Wakes stop(Time now) {
    stopping_ = true;
    return driver_ == Driver::kNobody ? call_own(now) : wake_driver();
  }
  /// Somebody waits who must not drive.
  Wakes nudge(Time now) {
    const bool free = driver_ == Driver::kNobody && offered_ == Waiter();
    return free ? call_own(now) : Wakes();
  }

  // ---- waiters

  /// True if the waiter drives from now on. Else it sleeps until its end, or until it is woken:
  /// then it asks again.
  bool ask(Waiter waiter, Time now, Wakes& wakes) {
    if (!stopping_ && driver_ == Driver::kNobody) {
      std::erase(sleepers_, waiter);
      if (std::exchange(owed_, false)) forecast_.met();
      take(Driver::kWaiter, now);
      return true;
    }
    if (stopping_ || std::ranges::find(sleepers_, waiter) != sleepers_.end()) return false;
    sleepers_.push_back(waiter);
    if (driver_ == Driver::kOwn && !std::exchange(wanted_, true)) wakes = wake_driver();
    return false;
  }
  /// True if the waiter goes on driving. It takes what is in the inbox, and may sleep in its poll
  /// if that is empty.
  bool drives_on(bool inbox_empty) {
    if (!stopping_) asleep_ = inbox_empty;
    return !stopping_;
  }
  /// A driving waiter ends.
  Wakes leave(State state, bool inbox_empty, Time now) {
    driver_ = Driver::kNobody;
    asleep_ = false;
    if (state == State::kOver) stopping_ = true;
    return pass_on(state, inbox_empty, now);
  }
  /// A waiter that has not driven ends.
  Wakes forget(Waiter waiter, bool inbox_empty, Time now) {
    std::erase(sleepers_, waiter);
    if (offered_ != waiter) return {};
    offered_ = Waiter();
    return driver_ == Driver::kNobody ? pass_on(State::kBusy, inbox_empty, now) : Wakes();
  }

  // ---- the own thread, which drives at first

  OwnThread own_next(bool inbox_empty, Time now) {
    own_looks_at_ = now;
    if (driver_ == Driver::kWaiter)
      return park(std::exchange(seen_, takes_) == takes_ ? Time::max() : now + longest_rest());
    if (driver_ == Driver::kNobody && !stopping_) {
      if (now < take_over_at_) return park(take_over_at_);
      if (offered_ != Waiter()) std::erase(sleepers_, offered_);  // It asks again when it runs.
      if (std::exchange(owed_, false)) forecast_.missed();
    }
    if (stopping_) {
      take(Driver::kOwn, now);
      return {.next = Next::kEnd, .until = {}, .wakes = {}};
    }
    if (std::exchange(wanted_, false) && !sleepers_.empty()) {
      driver_ = Driver::kNobody;
      asleep_ = false;
      const Wakes wakes = pass_on(State::kBusy, inbox_empty, now);
      OwnThread own = park(take_over_at_);
      own.wakes = wakes;
      return own;
    }
    take(Driver::kOwn, now);
    asleep_ = inbox_empty;
    return {.next = Next::kDrive, .until = {}, .wakes = {}};
  }

 private:
  enum class Driver : std::uint8_t { kNobody, kOwn, kWaiter };

  void take(Driver who, Time now) {
    rests_.end(now);
    driver_ = who;
    offered_ = Waiter();
    ++takes_;
  }
  // Nobody drives: who does next.
  Wakes pass_on(State state, bool inbox_empty, Time now) {
    if (stopping_) return call_own(now);
    if (!sleepers_.empty()) {
      offered_ = sleepers_.front();
      Wakes wakes = call_own(now + kOfferPatience);
      wakes.waiter = offered_;
      return wakes;
    }
    rests_idle_ = state == State::kIdle;
    if (!inbox_empty) return call_own(now);
    return call_own(now + rests_.begin(rests_idle_, now));
  }
  Wakes wake_driver() {
    return {.poll = std::exchange(asleep_, false), .own = false, .waiter = {}};
  }
  Duration longest_rest() const { return rests_idle_ ? IdleGrace::kIdle : IdleGrace::kBusy; }
  // The own thread takes over then, unless somebody drives.
  Wakes call_own(Time at) {
    take_over_at_ = at;
    const bool sleeps_longer = own_looks_at_ > at;
    if (sleeps_longer) own_looks_at_ = at;
    return {.poll = false, .own = sleeps_longer, .waiter = {}};
  }
  OwnThread park(Time until) {
    own_looks_at_ = until;
    return {.next = Next::kPark, .until = until, .wakes = {}};
  }

  Driver driver_ = Driver::kOwn;
  bool stopping_ = false;
  bool asleep_ = false;           // The driver has found nothing, and may sleep in its poll.
  bool wanted_ = false;           // A waiter has asked the own thread for the loop.
  bool owed_ = false;             // A request was posted while nobody drove, and nobody has looked.
  bool rests_idle_ = false;       // The last driver left nothing in flight.
  std::vector<Waiter> sleepers_;  // In the order in which they came.
  Waiter offered_{};              // Has been woken to drive, and has not asked yet.
  std::uint64_t takes_ = 0;
  std::uint64_t seen_ = 0;  // By the own thread, of those.
  Time take_over_at_ = Time::max();
  Time own_looks_at_ = Time::min();  // When the own thread looks again at the latest.
  IdleGrace rests_;
  Forecast forecast_;
};

}  // namespace stretto
