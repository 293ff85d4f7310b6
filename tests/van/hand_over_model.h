// SPDX-License-Identifier: Apache-2.0
// A model of LeaderFollower as production runs it: a loop, its own thread, waiters, a thread that
// only posts, arriving frames and the node's end. It explores every order of their steps.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "van/event_loop/leader_follower.h"

namespace stretto::model {

enum class At : std::uint8_t {
  kPost,   ///< Puts a request into the inbox.
  kCheck,  ///< Checks whether its wait has ended.
  kAsk,
  kWatch,  ///< Sleeps unless its wait has ended.
  kPark,
  kTake,  ///< Leads, and checks whether its wait has ended, which only its own iterations cause.
  kTurn,  ///< Runs requests; polls.
  kEnd,   ///< The loop thread, in whose iteration the node has ended.
  kForget,
  kNext,  ///< The loop thread.
  kGone
};

/// A thread as other threads see it. Each wake that it has decided on is a separate step.
struct Thread {
  auto operator<=>(const Thread&) const = default;

  At at = At::kGone;
  bool token = false;  ///< Of its parker.
  bool watches = false;
  bool wakes_own = false;
  bool wakes_poll = false;
  bool impatient = false;    ///< Its deadline may pass at any moment.
  bool shy = false;          ///< Must not drive: it nudges, and sleeps.
  bool starved = false;      ///< Once asleep it never gets a processor again.
  std::uint32_t taken = 0;   ///< Requests that it took from the inbox.
  std::uint32_t rounds = 0;  ///< Remaining waits.
  Time until{};              ///< When its park ends.
};

struct Scene {
  std::uint32_t waiters = 1;
  std::uint32_t rounds = 1;
  bool posts = false;      ///< A thread posts without waiting.
  bool impatient = false;  ///< The last waiter's deadline may pass at any moment.
  bool shy = false;        ///< The last waiter must not drive in its last round.
  bool starved = false;    ///< The last waiter never gets a processor once asleep.
  bool late = false;       ///< Once a waiter may let an offer of the loop expire.
  bool frame = false;      ///< An unrequested frame arrives.
  bool ends = false;       ///< That frame ends the node.
  bool stops = false;      ///< The loop is stopped at any moment.
};

/// Bits name requests and their answers: a bit for each waiter, then the poster's, then an
/// unrequested frame's.
template <typename Hands>
class World {
 public:
  auto operator<=>(const World&) const = default;

  explicit World(const Scene& scene) : waiters_(scene.waiters), stops_(scene.stops) {
    own().at = At::kNext;
    for (std::uint32_t i = 0; i < waiters_; ++i) {
      threads_[1 + i].at = At::kPost;
      threads_[1 + i].rounds = scene.rounds;
    }
    threads_[waiters_].impatient = scene.impatient;
    threads_[waiters_].shy = scene.shy;
    threads_[waiters_].starved = scene.starved;
    offers_to_miss_ = scene.late ? 1 : 0;
    if (scene.posts) threads_[poster()].at = At::kPost;
    if (scene.frame) sent_ = bit(poster() + 1);
    if (scene.ends) sent_ = end_ = bit(poster() + 1);
  }

  /// The violation in this state, or nothing.
  std::string fault() const {
    std::uint32_t driving = own_drives_ ? 1 : 0;
    for (std::uint32_t i = 1; i <= waiters_; ++i) {
      const At at = threads_[i].at;
      driving += at == At::kTake || at == At::kTurn ? 1 : 0;
    }
    if (driving > 1) return "two threads drive";
    const Duration offered = threads_[waiters_].starved ? Hands::kOfferPatience : Duration::zero();
    if (pending_since_ != Time::max() && now_ - pending_since_ > IdleGrace::kIdle + offered) {
      return "what came was seen too late";
    }
    if (rested_) return "what must not wait for a rest does";
    if (drives_after_end_) return "a waiter drives a node that has ended";
    return {};
  }
  /// In a final state: the work left undone, or nothing.
  std::string unfinished() const {
    for (std::uint32_t i = 1; i < threads_.size(); ++i) {
      const bool kept = threads_[i].starved && threads_[i].at == At::kPark;
      if (threads_[i].at != At::kGone && !kept) return "a thread sleeps for ever";
    }
    if (over_ && !stopped_) return "the node's end is seen by nobody";
    if (!stopped_ && (inbox_ != 0 || frames_ != 0)) return "what came is seen by nobody";
    if (own().at != (stopped_ ? At::kGone : At::kTurn)) return "the own thread sleeps for ever";
    return {};
  }

  /// All successor states.
  std::vector<World> next() const {
    std::vector<World> all;
    for (std::uint32_t i = 0; i < threads_.size(); ++i) {
      World then = *this;
      if (then.step(i)) all.push_back(std::move(then));
      if (expires(threads_[i])) {
        all.push_back(*this);
        Thread& expired = all.back().threads_[i];
        expired.watches = false;
        expired.rounds = 0;
        if (expired.at == At::kTake) (void)all.back().leave(expired);
        expired.at = At::kForget;
      }
    }
    for (std::uint32_t i = 0; i < 32; ++i) {
      if ((sent_ & bit(i)) == 0) continue;
      all.push_back(*this);
      all.back().sent_ &= ~bit(i);
      all.back().frames_ |= bit(i);
    }
    if (stops_) {
      all.push_back(*this);
      all.back().stop();
    }
    const bool time_only = all.empty();
    if (own().at == At::kPark && own().until != Time::max() && own().until > now_) {
      World later = *this;
      if (later.pass_time(time_only)) all.push_back(std::move(later));
    }
    return all;
  }

 private:
  using Wakes = typename Hands::Wakes;

  static std::uint32_t bit(std::uint32_t index) { return std::uint32_t{1} << index; }
  static bool expires(const Thread& thread) {
    const bool looks = thread.at == At::kPark || thread.at == At::kCheck || thread.at == At::kTake;
    return thread.impatient && looks && !thread.wakes_own && !thread.wakes_poll;
  }
  Thread& own() { return threads_[0]; }
  const Thread& own() const { return threads_[0]; }
  std::uint32_t poster() const { return waiters_ + 1; }

  // False if the successor is skipped: otherwise a waiter could let offers expire forever.
  bool pass_time(bool nothing_else) {
    const bool patience = own().until - now_ > IdleGrace::kIdle;
    if (patience && !nothing_else) {
      if (offers_to_miss_ == 0) return false;
      --offers_to_miss_;
    }
    if (nothing_else && (inbox_ != 0 || frames_ != 0) && pending_since_ == Time::max()) {
      pending_since_ = now_;
    }
    // A starved waiter may miss its offer: then all threads wait for the offer's end.
    const bool stalled = nothing_else && !threads_[waiters_].starved;
    rested_ = stalled && (over_ || (inbox_ & shy_) != 0);
    now_ = own().until;
    return true;
  }
  void stop() {
    stops_ = false;
    note(threads_.back(), hands_.stop(now_));
  }
  void note(Thread& thread, const Wakes& wakes) {
    thread.wakes_own = wakes.own && !own().token;
    thread.wakes_poll = wakes.poll && !poll_token_;
    if (wakes.waiter != 0) threads_[static_cast<std::size_t>(wakes.waiter)].token = true;
  }
  void end(std::uint32_t index) {
    done_ |= bit(index);
    if (threads_[index].watches) threads_[index].token = true;
  }

  // False if the thread is blocked.
  bool step(std::uint32_t index) {
    Thread& thread = threads_[index];
    if (std::exchange(thread.wakes_own, false)) return own().token = true;
    if (std::exchange(thread.wakes_poll, false)) return poll_token_ = true;
    const auto name = static_cast<int>(index);
    const bool done = (done_ & bit(index)) != 0;
    switch (thread.at) {
      case At::kGone:
        return false;
      case At::kPost:
        return post(thread, index);
      case At::kCheck:
        return go(thread, done ? At::kForget : At::kAsk);
      case At::kAsk:
        return ask(thread, index);
      case At::kWatch:
        thread.watches = !done;
        return go(thread, done ? At::kCheck : At::kPark);
      case At::kPark:
        return wake(thread, index);
      case At::kTake:
        return done ? leave(thread) : take(thread);
      case At::kTurn:
        return turn(thread, index);
      case At::kEnd:
        note(thread, hands_.stop(now_));
        return go(thread, At::kNext);
      case At::kForget:
        note(thread, hands_.forget(name, inbox_ == 0, now_));
        return go(thread, thread.rounds == 0 ? At::kGone : At::kPost);
      case At::kNext:
        return own_next();
    }
    return false;
  }
  static bool go(Thread& thread, At at) {
    thread.at = at;
    return true;
  }

  bool post(Thread& thread, std::uint32_t index) {
    done_ &= ~bit(index);
    thread.at = index == poster() ? At::kGone : At::kCheck;
    if (thread.rounds > 0) --thread.rounds;
    if (stopped_) {
      done_ |= bit(index);
      return true;
    }
    inbox_ |= bit(index);
    if (thread.shy && thread.rounds == 0) shy_ |= bit(index);
    note(thread, hands_.posted(now_));
    return true;
  }
  bool ask(Thread& thread, std::uint32_t index) {
    if ((shy_ & bit(index)) != 0) {
      note(thread, hands_.nudge(now_));
      return go(thread, At::kWatch);
    }
    Wakes wakes;
    const bool drives = hands_.ask(static_cast<int>(index), now_, wakes);
    note(thread, wakes);
    drives_after_end_ = drives && over_;
    return go(thread, drives ? At::kTake : At::kWatch);
  }
  bool wake(Thread& thread, std::uint32_t index) {
    if (thread.starved) return false;
    const bool expired = index == 0 && now_ >= thread.until;
    if (!thread.token && !expired) return false;
    thread.token = false;
    thread.watches = false;
    return go(thread, index == 0 ? At::kNext : At::kCheck);
  }
  bool leave(Thread& thread) {
    const bool idle = (sent_ | frames_ | inbox_) == 0;
    const auto state = over_  ? Hands::State::kOver
                       : idle ? Hands::State::kIdle
                              : Hands::State::kBusy;
    note(thread, hands_.leave(state, inbox_ == 0, now_));
    return go(thread, At::kCheck);
  }
  bool take(Thread& thread) {
    if (over_ || !hands_.drives_on(inbox_ == 0)) return leave(thread);
    thread.taken = std::exchange(inbox_, 0U);
    return go(thread, At::kTurn);
  }
  bool turn(Thread& thread, std::uint32_t index) {
    if (thread.taken == 0 && frames_ == 0 && !poll_token_) return false;  // It sleeps.
    sent_ |= std::exchange(thread.taken, 0U);
    poll_token_ = false;
    const std::uint32_t came = std::exchange(frames_, 0U);
    for (std::uint32_t i = 1; i <= waiters_; ++i) {
      if ((came & bit(i)) != 0) end(i);
    }
    pending_since_ = Time::max();
    const bool ends = (came & end_) != 0;
    over_ |= ends;
    if (index == 0 && ends) return go(thread, At::kEnd);
    return go(thread, index == 0 ? At::kNext : At::kTake);
  }
  bool own_next() {
    const typename Hands::OwnThread next = hands_.own_next(inbox_ == 0, now_);
    note(own(), next.wakes);
    own_drives_ = next.next == Hands::Next::kDrive;
    if (next.next == Hands::Next::kEnd) over_ = true;
    own().until = next.until;
    if (own_drives_) own().taken = std::exchange(inbox_, 0U);
    if (next.next == Hands::Next::kEnd) {
      stopped_ = true;
      for (std::uint32_t i = 1; i <= waiters_; ++i) end(i);
    }
    return go(own(), next.next == Hands::Next::kEnd ? At::kGone
                     : own_drives_                  ? At::kTurn
                                                    : At::kPark);
  }

  std::uint32_t waiters_ = 0;
  Hands hands_;
  std::array<Thread, 6> threads_;  // The loop thread, the waiters, the poster, the stopper.
  std::uint32_t inbox_ = 0;        // Requests in the inbox.
  std::uint32_t sent_ = 0;         // Requests whose answers are in transit.
  std::uint32_t frames_ = 0;       // Answers that have arrived and wait in the transport.
  std::uint32_t done_ = 0;
  std::uint32_t shy_ = 0;  // Requests of waiters that must not drive.
  std::uint32_t end_ = 0;  // The arrivals that end the node.
  bool over_ = false;      // The node has ended.
  bool rested_ = false;
  bool drives_after_end_ = false;
  bool poll_token_ = false;
  bool own_drives_ = false;
  bool stops_ = false;
  bool stopped_ = false;
  std::uint32_t offers_to_miss_ = 0;
  Time now_{};
  Time pending_since_ = Time::max();  // All threads sleep since then, despite pending work.
};

struct Verdict {
  std::string fault;  ///< The first violation; empty: none.
  std::size_t states = 0;
};

/// Explores all reachable states, or up to `most` of them.
template <typename Hands>
Verdict explore(const Scene& scene, std::size_t most = SIZE_MAX) {
  std::set<World<Hands>> seen;
  std::vector<World<Hands>> left = {World<Hands>(scene)};
  while (!left.empty() && seen.size() < most) {
    const World<Hands> world = std::move(left.back());
    left.pop_back();
    if (!seen.insert(world).second) continue;
    if (std::string fault = world.fault(); !fault.empty()) return {fault, seen.size()};
    std::vector<World<Hands>> next = world.next();
    if (next.empty()) {
      if (std::string what = world.unfinished(); !what.empty()) return {what, seen.size()};
    }
    for (World<Hands>& one : next) left.push_back(std::move(one));
  }
  return {{}, seen.size()};
}

}  // namespace stretto::model
