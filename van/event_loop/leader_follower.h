// SPDX-License-Identifier: Apache-2.0
// LeaderFollower: decides which thread drives a loop: its own thread, or a waiter as the leader. It
// also says which threads sleep as followers, and which are woken on a change.
//
//   no thread drives                     a waiter becomes the leader
//   the own thread drives                a waiter asks for the loop, sleeps, and is offered it
//   another waiter drives                a waiter sleeps until it completes, or is offered the loop
//   a leader completes                   the next waiter is offered the loop; if there is none,
//                                        the own thread drives after an idle grace
//
// The grace makes waits cheap: a thread that waits again within it becomes the leader without a
// wake-up of either thread. IdleGrace limits it. If the offered waiter does not run within
// kOfferPatience, the own thread drives.
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

/// Thread: any, one at a time. Pure: each call is a step under its owner's lock, and returns the
/// next action. A Waiter names a waiting thread; the default value names none.
template <typename Waiter, typename Forecast = WaitPredictor>
class LeaderFollower {
 public:
  auto operator<=>(const LeaderFollower&) const = default;

  /// How long a waiter that was woken to drive may take to run.
  static constexpr Duration kOfferPatience = std::chrono::milliseconds(10);

  enum class State : std::uint8_t { kOver, kBusy, kIdle };  ///< Of a node when its driver leaves.

  /// The threads to wake.
  struct Wakes {
    bool poll = false;  ///< The driver, which may sleep in its poll.
    bool own = false;   ///< The own thread, which is parked or about to be.
    Waiter waiter{};    ///< The waiter that is offered the loop.
  };

  enum class Next : std::uint8_t { kDrive, kPark, kEnd };
  struct OwnThread {
    Next next = Next::kPark;
    Time until = Time::max();  ///< When parking ends.
    Wakes wakes;
  };

  // ---- any thread

  /// A request was put into the inbox.
  Wakes posted(Time now) {
    if (driver_ != Driver::kNobody) return wake_driver();
    if (offered_ != Waiter()) return {};  // That waiter reads the inbox.
    if (std::exchange(owed_, true)) {
      forecast_.missed();
    } else if (rests_idle_ && forecast_.expects_wait()) {
      return call_own(std::min(take_over_at_, now + IdleGrace::kIdle));
    }
    return call_own(now);
  }
  /// The loop will end: its own thread ends it.
  Wakes stop(Time now) {
    stopping_ = true;
    return driver_ == Driver::kNobody ? call_own(now) : wake_driver();
  }
  /// A thread waits that must not drive.
  Wakes nudge(Time now) {
    const bool free = driver_ == Driver::kNobody && offered_ == Waiter();
    return free ? call_own(now) : Wakes();
  }

  // ---- waiters

  /// True if the waiter drives from now on. Else it sleeps until it completes, or until it is woken
  /// and asks again.
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
  /// True if the waiter continues to drive. It takes the inbox, and may sleep in its poll if the
  /// inbox was empty.
  bool drives_on(bool inbox_empty) {
    if (!stopping_) asleep_ = inbox_empty;
    return !stopping_;
  }
  /// A leader completes.
  Wakes leave(State state, bool inbox_empty, Time now) {
    driver_ = Driver::kNobody;
    asleep_ = false;
    if (state == State::kOver) stopping_ = true;
    return pass_on(state, inbox_empty, now);
  }
  /// A follower completes.
  Wakes forget(Waiter waiter, bool inbox_empty, Time now) {
    std::erase(sleepers_, waiter);
    if (offered_ != waiter) return {};
    offered_ = Waiter();
    return driver_ == Driver::kNobody ? pass_on(State::kBusy, inbox_empty, now) : Wakes();
  }

  // ---- the own thread, which drives first

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
  // No thread drives: choose the next driver.
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
  // The own thread takes over at that time, unless another thread drives.
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
  bool asleep_ = false;           // The driver has found no work, and may sleep in its poll.
  bool wanted_ = false;           // A waiter has asked the own thread for the loop.
  bool owed_ = false;             // A request was posted without a driver, and is unread.
  bool rests_idle_ = false;       // The last driver left nothing in flight.
  std::vector<Waiter> sleepers_;  // In order of arrival.
  Waiter offered_{};              // Woken to drive, and has not asked yet.
  std::uint64_t takes_ = 0;
  std::uint64_t seen_ = 0;  // Last value of `takes_` that the own thread saw.
  Time take_over_at_ = Time::max();
  Time own_looks_at_ = Time::min();  // Latest wake-up of the own thread.
  IdleGrace rests_;
  Forecast forecast_;
};

}  // namespace stretto
