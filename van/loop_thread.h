// SPDX-License-Identifier: Apache-2.0
// LoopThread: a node's loop on a thread of its own, and the ways of other threads to it. Under
// every public interface: a worker's, and an RPC endpoint's.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "van/inbox.h"
#include "van/loop.h"

namespace stretto {

/// A Node is an Agent that can be woken from any thread, and abandoned: ended at once. After its
/// loop has ended it must still take requests, from any thread, and only say that it is over.
/// Thread: any, but for start(), join() and stop(), which are the owner's.
/// A Request can be called with the node, and be made of a function that can.
template <typename Node, typename Request = std::function<void(Node&)>>
class LoopThread {
 public:
  LoopThread(Node& node, const Clock& clock)
      : node_(node), clock_(clock), door_(std::make_shared<Door>(*this)) {}
  ~LoopThread() { stop(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  /// Once.
  void start() {
    thread_ = std::jthread([this] { loop(); });
  }
  /// Returns when the node is over, by itself.
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// The node is abandoned if it is not over; returns when the thread has ended.
  void stop() {
    if (thread_.joinable()) {
      stop_.store(true, std::memory_order_release);
      node_.wake();
      join();
    }
    door_->close();
  }
  bool started() const { return thread_.joinable(); }
  /// True on the loop's own thread, where waiting for the loop would be for ever.
  bool is_here() const { return std::this_thread::get_id() == id_.load(std::memory_order_acquire); }

  /// Runs on the loop; after its end, here, or where another's runs just then.
  void post(Request request) {
    if (!pass(request)) run_after_end(request);
  }

  /// How handles that may outlive the loop reach it as long as it goes on. Thread: any.
  class Door {
   public:
    explicit Door(LoopThread& loop) : loop_(&loop) {}
    void post(Request request) {
      MutexLock lock(mutex_);
      if (loop_ != nullptr) (void)loop_->pass(request);  // What came too late is dropped.
    }
    /// The same, but at once on the loop's own thread.
    void run(Request request) {
      if (LoopThread* const here = loop_if_here()) {
        request(here->node_);
      } else {
        post(std::move(request));
      }
    }
    bool is_here() { return loop_if_here() != nullptr; }
    void close() {
      MutexLock lock(mutex_);
      loop_ = nullptr;
    }

   private:
    // It cannot go away under its own thread.
    LoopThread* loop_if_here() {
      MutexLock lock(mutex_);
      return loop_ != nullptr && loop_->is_here() ? loop_ : nullptr;
    }

    Mutex mutex_;
    LoopThread* loop_ GUARDED_BY(mutex_);
  };
  const std::shared_ptr<Door>& door() const { return door_; }

  /// Runs `begin(node, done)` on the loop; the future is done's argument.
  template <typename Outcome, typename Begin>
  std::future<Outcome> ask(Begin begin) {
    auto answer = std::make_shared<std::promise<Outcome>>();
    post([begin = std::move(begin), answer](Node& node) {
      begin(node, [answer](const Outcome& outcome) { answer->set_value(outcome); });
    });
    return answer->get_future();
  }

 private:
  /// True if the loop will run it.
  bool pass(Request& request) {
    const auto posted = inbox_.post(request);
    if (posted == Inbox<Request>::Posted::kFirst) node_.wake();
    return posted != Inbox<Request>::Posted::kClosed;
  }

  void loop() {
    id_.store(std::this_thread::get_id(), std::memory_order_release);
    while (!node_.over() && !stop_.load(std::memory_order_acquire)) {
      const std::vector<Request> requests = inbox_.take();
      for (const Request& request : requests) request(node_);
      // More may have been posted since, without a wake.
      const bool may_wait = requests.empty();
      node_.step(may_wait ? wait_until(node_.next_due(), clock_.now()) : Duration::zero());
    }
    if (!node_.over()) node_.abandon();
    STRETTO_CHECK(node_.over());
    begin_turn(nullptr);  // Before the inbox is closed: the last requests first.
    for (const Request& request : inbox_.close()) request(node_);
    end_turn();
    id_.store({}, std::memory_order_release);  // Another thread may be given the same one.
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
  Inbox<Request> inbox_;
  const std::shared_ptr<Door> door_;
  std::atomic<bool> stop_{false};
  std::atomic<std::thread::id> id_{};
  std::jthread thread_;
};

}  // namespace stretto
