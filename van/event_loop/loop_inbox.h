// SPDX-License-Identifier: Apache-2.0
// LoopInbox: requests of threads to a loop, and the choice of its driver. The threads of a worker,
// or of an RPC endpoint, share only this object.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/threads/parker.h"
#include "van/event_loop/leader_follower.h"

namespace stretto {

/// A Request is work for the loop. Thread: any. Sleeping waiters are woken under the one mutex; no
/// other code runs under it.
template <typename Request>
class LoopInbox {
 public:
  using Hands = LeaderFollower<Parker*>;

  /// `wake_poll` makes a driver's poll return; callable at any time, on any thread.
  explicit LoopInbox(std::function<void()> wake_poll) : wake_poll_(std::move(wake_poll)) {}

  /// False, and the caller keeps the request, if the loop has ended.
  bool post(Request& request) {
    const Time now = clock_now();
    Wakes wakes;
    {
      MutexLock lock(mutex_);
      if (closed_) return false;
      requests_.push_back(std::move(request));
      wakes = hands_.posted(now);
    }
    wake(wakes);
    return true;
  }
  /// Asks the own thread to end the loop.
  void stop() {
    step([&](Time now) REQUIRES(mutex_) { return hands_.stop(now); });
  }
  /// A thread waits that does not drive.
  void nudge() {
    step([&](Time now) REQUIRES(mutex_) { return hands_.nudge(now); });
  }

  // ---- waiters, each with its own parker; see LeaderFollower

  bool ask(Parker& waiter) {
    bool drives = false;
    step([&](Time now) REQUIRES(mutex_) {
      Wakes wakes;
      drives = hands_.ask(&waiter, now, wakes);
      return wakes;
    });
    return drives;
  }
  /// Fills the empty `requests` with the posted requests, in order.
  bool drives_on(std::vector<Request>& requests) {
    MutexLock lock(mutex_);
    if (!hands_.drives_on(requests_.empty())) return false;
    requests.swap(requests_);
    return true;
  }
  void leave(typename Hands::State state) {
    step([&](Time now) REQUIRES(mutex_) { return hands_.leave(state, requests_.empty(), now); });
  }
  void forget(Parker& waiter) {
    step([&](Time now) REQUIRES(mutex_) { return hands_.forget(&waiter, requests_.empty(), now); });
  }

  // ---- the own thread

  /// Returns with the posted requests when the own thread drives. False: the loop must end.
  bool own_drives(std::vector<Request>& requests) {
    for (;;) {
      typename Hands::OwnThread own;
      step([&](Time now) REQUIRES(mutex_) {
        own = hands_.own_next(requests_.empty(), now);
        if (own.next == Hands::Next::kDrive) requests.swap(requests_);
        return own.wakes;
      });
      if (own.next != Hands::Next::kPark) return own.next == Hands::Next::kDrive;
      own_.park_until(own.until);
    }
  }
  /// Accepts no further requests; returns the pending ones.
  std::vector<Request> close() {
    MutexLock lock(mutex_);
    closed_ = true;
    return std::exchange(requests_, {});
  }

 private:
  using Wakes = typename Hands::Wakes;

  static Time clock_now() { return std::chrono::steady_clock::now(); }

  template <typename Step>
  void step(const Step& step) {
    const Time now = clock_now();
    Wakes wakes;
    {
      MutexLock lock(mutex_);
      wakes = step(now);
      // Under the lock: afterwards the waiter may have ended, and its parker with it.
      if (wakes.waiter != nullptr) wakes.waiter->unpark();
    }
    wake(wakes);
  }
  void wake(const Wakes& wakes) {
    if (wakes.own) own_.unpark();
    if (wakes.poll) wake_poll_();
  }

  const std::function<void()> wake_poll_;
  Parker own_;
  Mutex mutex_;
  Hands hands_ GUARDED_BY(mutex_);
  std::vector<Request> requests_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace stretto
