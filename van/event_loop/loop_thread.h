// SPDX-License-Identifier: Apache-2.0
// LoopThread: a node's loop: a thread of its own, the threads that drive it while they wait, and
// the ways of all others to it. Under every public interface: a worker's, and an RPC endpoint's.
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

/// A Node is an Agent with a van(), which says whether anything is in flight that its far ends may
/// bring (idle()), and which can be abandoned: ended at once. After its loop has ended it must
/// still take requests, from any thread, and only say that it is over. Thread: any, but for
/// start(), join() and stop(), which are the owner's. A Request can be called with the node, and be
/// made of a function that can.
template <typename Node, typename Request = std::function<void(Node&)>>
class LoopThread {
 public:
  LoopThread(Node& node, const Clock& clock)
      : node_(node), clock_(clock), door_(std::make_shared<Handle>(*this)) {}
  ~LoopThread() { stop(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  /// Once. kResource if there can be no more threads.
  Status start() {
    return start_thread(thread_, [this] { loop(); });
  }
  /// Returns when the node is over, by itself.
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// The node is abandoned if it is not over; returns when nobody drives it any more.
  void stop() {
    if (thread_.joinable()) {
      door_->inbox_.stop();
      join();
    }
    (void)door_->inbox_.close();
  }
  bool started() const { return thread_.joinable(); }
  /// True where this loop is driven, where waiting for it would be for ever.
  bool is_here() const { return door_->is_here(); }
  /// True in a child made by fork: nothing may be asked of it there, and it must not be destroyed.
  bool is_forked() const { return door_->is_forked(); }

  /// Runs on the loop; after its end, here, or where another's runs just then.
  void post(Request request) {
    if (!door_->inbox_.post(request)) run_after_end(request);
  }

  /// How handles that may outlive the loop reach it as long as it goes on. Thread: any.
  class Handle {
   public:
    explicit Handle(LoopThread& loop)
        : loop_(loop), inbox_([waker = loop.node_.van().waker()] { waker->wake(); }) {}
    /// What comes too late is dropped.
    void post(Request request) { (void)inbox_.post(request); }
    /// The same, but at once where the loop is driven.
    void run(Request request) {
      if (is_here()) {
        request(loop_.node_);
      } else {
        post(std::move(request));
      }
    }
    bool is_here() const { return CurrentLoop::here() == this; }
    /// True in a child made by fork, in which nobody drives the loop, and a wait has no end.
    bool is_forked() const { return !home_.is_here(); }
    /// Who is in wait_until().
    const std::shared_ptr<WaitingThreads>& callers() const { return callers_; }
    /// Returns when it is done or the deadline has come. Drives the loop meanwhile if nobody else
    /// does; only there may it be brought about, as long as the loop goes on.
    void wait_until(Awaited& awaited, Time deadline);

   private:
    friend class LoopThread;

    static constexpr Duration kClassHolds = 100ms;

    void drive_or_sleep(Awaited& awaited, Time deadline);
    void drive(Awaited& awaited, Time deadline);
    // A thread that drives another loop would keep that one waiting for its turn here. A forked
    // child has the node, but its sockets and shared memory are the parent's.
    bool may_drive() {
      return CurrentLoop::here() == nullptr && !is_forked() && is_scheduled_as_own();
    }
    // Who is given a processor later than the own thread would keep all that use the loop waiting.
    bool is_scheduled_as_own();

    LoopThread& loop_;  // Gone after the loop's end. It does not end while somebody drives it.
    LoopInbox<Request> inbox_;
    const std::shared_ptr<WaitingThreads> callers_ = std::make_shared<WaitingThreads>();
    const ForkGuard home_;
    std::atomic<pid_t> own_thread_{0};          // Once it has begun.
    std::atomic<SchedulingClass> own_class_{};  // As it was when somebody had to know.
    std::atomic<const void*> as_own_{nullptr};  // A thread that was as good, and when.
    std::atomic<Time> as_own_since_{};
  };
  const std::shared_ptr<Handle>& door() const { return door_; }

  /// Returns when it is done, the deadline has come, or an Interruptible of this thread says so.
  void await_end(Awaited& awaited, Time deadline) {
    for (Time now = std::chrono::steady_clock::now();;) {
      door_->wait_until(awaited, std::min(deadline, Interruptible::next_look(now)));
      if (awaited.done()) return;
      now = std::chrono::steady_clock::now();
      if (now >= deadline || !Interruptible::goes_on()) return;
    }
  }
  /// Runs `begin(node, done)` on the loop and waits for done's argument; none if the wait ends
  /// before.
  template <typename Outcome, typename Begin>
  std::optional<Outcome> ask_until(Time deadline, Begin begin) {
    const auto answer = begin_asking<Outcome>(std::move(begin));
    await_end(*answer, deadline);
    return answer->value();
  }
  /// The same, to its end: what is asked may use the caller's memory.
  template <typename Outcome, typename Begin>
  Outcome ask(Begin begin) {
    const auto answer = begin_asking<Outcome>(std::move(begin));
    door_->wait_until(*answer, Time::max());
    return *answer->value();
  }

 private:
  // A wait that ends so soon leaves driving to others: a poll ends up to a millisecond late.
  static constexpr Duration kShortWait = 2ms;
  static bool is_long_until(Time deadline) {  // A limit may be as negative as there are.
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

  // What is thrown here has nobody to catch it: who drives may be a user's thread.
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
    begin_turn(nullptr);  // Before the inbox is closed: the last requests first.
    for (const Request& request : door_->inbox_.close()) request(node_);
    end_turn();
  }

  // The node has no loop any more that would make its callers take turns: who comes while another's
  // request runs leaves their own to that one. A request may make others, at once.
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
  if (own == 0) return false;  // It will begin, and nobody knows yet how it is scheduled.
  const SchedulingClass ours = SchedulingClass::of(0);
  // The whole process may have been moved since.
  if (ours < own_class_.load()) own_class_ = SchedulingClass::of(own);
  if (ours < own_class_.load()) return false;
  as_own_since_ = now;
  as_own_ = here;
  return true;
}

template <typename Node, typename Request>
void LoopThread<Node, Request>::Handle::drive_or_sleep(Awaited& awaited, Time deadline) {
  struct Listed {  // Forgotten also if there is no memory to watch with.
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
