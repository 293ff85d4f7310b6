// SPDX-License-Identifier: Apache-2.0
// LoopThread: a node's loop: its own thread, the waiting threads that drive it, and the requests of
// all other threads. The base of every public interface: a worker's, and an RPC endpoint's.
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/process/fork_guard.h"
#include "common/threads/completion.h"
#include "common/threads/current_loop.h"
#include "common/threads/interruptible.h"
#include "common/threads/no_cancellation.h"
#include "common/threads/scheduling_class.h"
#include "common/threads/start_thread.h"
#include "common/threads/waitable.h"
#include "common/threads/waiting_threads.h"
#include "van/event_loop/loop.h"
#include "van/event_loop/loop_inbox.h"

namespace stretto {

/// A Node is a LoopTask with a van(). idle() says whether peers may still answer operations in
/// flight; abandon ends the node immediately. After the end of its loop it must still accept
/// requests from any thread, and report only that it is over. A Request can be called with the
/// node, and be made of a function that can. Thread: any; start(), join() and stop(): the owner's.
template <typename Node, typename Request = std::function<void(Node&)>>
class LoopThread {
 public:
  LoopThread(Node& node, const Clock& clock)
      : node_(node), clock_(clock), door_(std::make_shared<Handle>(*this)) {}
  ~LoopThread() { stop(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  /// Call once. kResource if no thread can be created.
  Status start() {
    return start_thread(thread_, [this] { loop(); });
  }
  /// Returns when the node is over.
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// Abandons the node if it is not over; returns when no thread drives it.
  void stop() {
    if (thread_.joinable()) {
      door_->inbox_.stop();
      join();
    }
    (void)door_->inbox_.close();
  }
  bool started() const { return thread_.joinable(); }
  /// True on the driving thread, where waiting for the loop would deadlock.
  bool is_here() const { return door_->is_here(); }
  /// True in a forked child, which must neither use nor destroy this.
  bool is_forked() const { return door_->is_forked(); }

  /// Runs on the loop; after its end on this thread, or on a thread that runs a request just then.
  void post(Request request) {
    if (!door_->inbox_.post(request)) run_after_end(request);
  }

  /// Access to the loop for handles that may outlive it. Thread: any.
  class Handle {
   public:
    explicit Handle(LoopThread& loop)
        : loop_(loop), inbox_([waker = loop.node_.van().waker()] { waker->wake(); }) {}
    /// Requests after the loop's end are dropped.
    void post(Request request) { (void)inbox_.post(request); }
    /// As post(), but immediately on the driving thread.
    void run(Request request) {
      if (is_here()) {
        request(loop_.node_);
      } else {
        post(std::move(request));
      }
    }
    bool is_here() const { return CurrentLoop::here() == this; }
    /// True in a forked child, where no thread drives the loop and a wait would never end.
    bool is_forked() const { return !home_.is_here(); }
    /// Threads in wait_until().
    const std::shared_ptr<WaitingThreads>& callers() const { return callers_; }
    /// Returns when `awaited` completes, or at the deadline. Drives the loop if no other thread
    /// does. Until the loop ends, only the loop may complete `awaited`.
    void wait_until(Awaited& awaited, Time deadline);

   private:
    friend class LoopThread;

    static constexpr Duration kClassHolds = 100ms;

    void drive_or_sleep(Awaited& awaited, Time deadline);
    void drive(Awaited& awaited, Time deadline);
    // A thread that drives another loop would delay that loop. A forked child has the node, but its
    // sockets and shared memory are the parent's.
    bool may_drive() {
      return CurrentLoop::here() == nullptr && !is_forked() && is_scheduled_as_own();
    }
    // A thread with a worse scheduling class would delay all users of the loop.
    bool is_scheduled_as_own();

    LoopThread& loop_;  // Dangles after the loop's end, which waits for the driver.
    LoopInbox<Request> inbox_;
    const std::shared_ptr<WaitingThreads> callers_ = std::make_shared<WaitingThreads>();
    const ForkGuard home_;
    std::atomic<pid_t> own_thread_{0};          // Set when it starts.
    std::atomic<SchedulingClass> own_class_{};  // As of the last check.
    std::atomic<const void*> as_own_{nullptr};  // A thread of an equal class, and when.
    std::atomic<Time> as_own_since_{};
  };
  const std::shared_ptr<Handle>& door() const { return door_; }

  /// Returns on completion, at the deadline, or when an Interruptible of this thread says so.
  void await_end(Awaited& awaited, Time deadline) {
    for (Time now = std::chrono::steady_clock::now();;) {
      door_->wait_until(awaited, std::min(deadline, Interruptible::next_look(now)));
      if (awaited.done()) return;
      now = std::chrono::steady_clock::now();
      if (now >= deadline || !Interruptible::goes_on()) return;
    }
  }
  /// Runs `begin(node, done)` on the loop and waits for done's argument; none if the deadline
  /// passes first.
  template <typename Outcome, typename Begin>
  std::optional<Outcome> ask_until(Time deadline, Begin begin) {
    const auto answer = begin_asking<Outcome>(std::move(begin));
    await_end(*answer, deadline);
    return answer->value();
  }
  /// As ask_until(), without a deadline: the request may use the caller's memory.
  template <typename Outcome, typename Begin>
  Outcome ask(Begin begin) {
    const auto answer = begin_asking<Outcome>(std::move(begin));
    door_->wait_until(*answer, Time::max());
    return *answer->value();
  }

 private:
  // Shorter waits do not drive: a poll may end up to a millisecond late.
  static constexpr Duration kShortWait = 2ms;
  static bool is_long_until(Time deadline) {  // A deadline may be the least Time.
    return std::chrono::steady_clock::now() + kShortWait < deadline;
  }

  template <typename Outcome, typename Begin>
  auto begin_asking(Begin begin) {
    auto answer = std::make_shared<Completion<std::optional<Outcome>>>();
    post([begin = std::move(begin), answer](Node& node) {
      begin(node, [answer](const Outcome& outcome) { answer->end({}, outcome); });
    });
    return answer;
  }

  // An exception here cannot be caught: the driver may be a user's thread.
  void turn(std::vector<Request>& requests, Duration longest) noexcept {
    const bool may_wait = requests.empty();  // More may have been posted since, without a wake.
    for (const Request& request : requests) request(node_);
    requests.clear();
    const Duration wait = may_wait ? wait_until(node_.next_due(), clock_.now()) : Duration::zero();
    node_.step(std::min(wait, longest));
  }

  void loop() {
    door_->own_class_ = SchedulingClass::of(0);
    door_->own_thread_ = ::gettid();
    std::vector<Request> requests;
    if (node_.over()) door_->inbox_.stop();
    while (door_->inbox_.own_drives(requests)) {
      const CurrentLoop here(door_.get());
      turn(requests, kLongestWait);
      if (node_.over()) door_->inbox_.stop();
    }
    const CurrentLoop here(door_.get());
    if (!node_.over()) node_.abandon();
    STRETTO_CHECK(node_.over());
    begin_turn(nullptr);  // Before the inbox closes: run the last requests first.
    for (const Request& request : door_->inbox_.close()) request(node_);
    end_turn();
  }

  // Without a loop, callers take turns: a caller that arrives during another caller's request
  // leaves its own to that caller. A request may post others immediately.
  void run_after_end(const Request& request) {
    const Turn turn = begin_turn(&request);
    if (turn == Turn::kAnothers) return;
    request(node_);
    if (turn == Turn::kOurs) end_turn();
  }
  enum class Turn : std::uint8_t { kOurs, kNested, kAnothers };
  Turn begin_turn(const Request* request) {
    MutexLock lock(turns_);
    if (runner_ == std::this_thread::get_id()) return Turn::kNested;
    if (request != nullptr && runner_ != std::thread::id()) {
      left_.push_back(*request);
      return Turn::kAnothers;
    }
    runner_ = std::this_thread::get_id();
    return Turn::kOurs;
  }
  void end_turn() {
    for (;;) {
      std::vector<Request> requests;
      {
        MutexLock lock(turns_);
        requests = std::exchange(left_, {});
        if (requests.empty()) {
          runner_ = std::thread::id();
          return;
        }
      }
      for (const Request& request : requests) request(node_);
    }
  }

  Node& node_;
  const Clock& clock_;
  Mutex turns_;
  std::thread::id runner_ GUARDED_BY(turns_);
  std::vector<Request> left_ GUARDED_BY(turns_);
  const std::shared_ptr<Handle> door_;
  std::jthread thread_;
};

template <typename Node, typename Request>
void LoopThread<Node, Request>::Handle::wait_until(Awaited& awaited, Time deadline) {
  if (awaited.done()) return;
  const WaitingThreads::Wait wait(*callers_);
  if (may_drive()) drive_or_sleep(awaited, deadline);
  if (awaited.done()) return;
  inbox_.nudge();
  park_until_done(awaited, deadline);
}

template <typename Node, typename Request>
bool LoopThread<Node, Request>::Handle::is_scheduled_as_own() {
  const Time now = std::chrono::steady_clock::now();
  const void* const here = CurrentLoop::this_thread();
  if (as_own_ == here && now - as_own_since_.load() < kClassHolds) return true;
  const pid_t own = own_thread_;
  if (own == 0) return false;  // Not started: its scheduling is unknown.
  const SchedulingClass ours = SchedulingClass::of(0);
  // The process may have changed its scheduling since.
  if (ours < own_class_.load()) own_class_ = SchedulingClass::of(own);
  if (ours < own_class_.load()) return false;
  as_own_since_ = now;
  as_own_ = here;
  return true;
}

template <typename Node, typename Request>
void LoopThread<Node, Request>::Handle::drive_or_sleep(Awaited& awaited, Time deadline) {
  struct Listed {  // Unlists the waiter also if memory runs out.
    ~Listed() { inbox.forget(parker); }
    LoopInbox<Request>& inbox;
    Parker parker;
  } listed{inbox_, {}};
  while (!awaited.done() && is_long_until(deadline)) {
    if (inbox_.ask(listed.parker)) {
      drive(awaited, deadline);
    } else if (awaited.watch(listed.parker)) {
      listed.parker.park_until(deadline);
      awaited.unwatch(listed.parker);
    }
  }
}

template <typename Node, typename Request>
void LoopThread<Node, Request>::Handle::drive(Awaited& awaited, Time deadline) {
  const CurrentLoop here(this);
  const NoCancellation whole;
  std::vector<Request> requests;
  Node& node = loop_.node_;
  while (!awaited.done() && !node.over() && is_long_until(deadline) && inbox_.drives_on(requests)) {
    loop_.turn(requests, deadline - std::chrono::steady_clock::now() - kShortWait / 2);
  }
  using State = typename LoopInbox<Request>::Hands::State;
  inbox_.leave(node.over() ? State::kOver : node.idle() ? State::kIdle : State::kBusy);
}

}  // namespace stretto
