// SPDX-License-Identifier: Apache-2.0
// LoopInbox: what threads ask of a loop, and which of them drives it. The only place where the
// threads of a worker, or of an RPC endpoint, meet.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/threads/parker.h"
#include "van/event_loop/leader_follower.h"

namespace stretto {

/// A Request is something that the loop is to do. Thread: any. One mutex, under which sleeping
/// waiters are woken and nothing else is run.
template <typename Request>
class LoopInbox {
 public:
  using Hands = LeaderFollower<Parker*>;

  /// `wake_poll` makes a driver's poll return; it may be called at any time, on any thread.
  explicit LoopInbox(std::function<void()> wake_poll) : wake_poll_(std::move(wake_poll)) {}

  /// False, and the caller keeps it, if the loop has ended.
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
  /// The own thread ends the loop.
  void stop() {
    step([&](Time now) REQUIRES(mutex_) { return hands_.stop(now); });
  }
  /// Somebody waits who does not drive.
  void nudge() {
    step([&](Time now) REQUIRES(mutex_) { return hands_.nudge(now); });
  }

  // ---- waiters, each with a parker of its own; LeaderFollower says what these mean

  bool ask(Parker& waiter) {
    bool drives = false;
    step([&](Time now) REQUIRES(mutex_) {
      Wakes wakes;
      drives = hands_.ask(&waiter, now, wakes);
      return wakes;
    });
    return drives;
  }
  /// `requests` was empty, and is what was posted, in order.
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

  /// Returns when it drives, with what was posted: until its next call. False: the loop is to end.
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
  /// Takes nothing more; returns what was still there.
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
