// SPDX-License-Identifier: Apache-2.0
// TicketState: the state of a user's Ticket. The loop ends it, once; any thread may wait for it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/mutex.h"
#include "common/operation_change.h"
#include "common/threads/completion.h"
#include "stretto/worker.h"

namespace stretto::detail {

/// Thread: any. One mutex; callbacks run outside it.
class TicketState {
 public:
  /// A ticket for `operations` operations; it ends when all of them have. If it is `traced`, it
  /// records when a thread first waited for it.
  explicit TicketState(std::size_t operations, bool traced = false)
      : traced_(traced), pending_(operations) {}
  virtual ~TicketState() = default;
  TicketState(const TicketState&) = delete;
  TicketState& operator=(const TicketState&) = delete;

  /// One operation has ended. The first error is the ticket's. Callbacks run here, on this thread.
  void end_one(const Status& status, const ValueInfo& info, std::vector<PartInfo> parts = {});

  Status wait();
  Status wait_for(Duration limit);
  /// When a thread first began to wait, in nanoseconds; 0: none has, or it is not traced.
  std::int64_t waited_since() const { return waited_since_.load(std::memory_order_relaxed); }
  bool done() { return completion_.done(); }
  void on_done(std::function<void(const Status&)> then) { completion_.on_done(std::move(then)); }
  /// Of the operations that have ended so far.
  ValueInfo info();
  std::vector<PartInfo> parts();

  /// Ticket::waits_for().
  virtual std::string waits_for() { return {}; }

  void steer(const Change& change) {
    if (!done()) pass_on(change);
  }

 private:
  /// Passes a change on to the operations.
  virtual void pass_on(const Change&) {}

  /// True on the thread that drives the loop which would end it.
  virtual bool is_on_loop() { return false; }
  /// True in a forked child, where it never ends.
  virtual bool is_forked() { return false; }
  /// Waits, and may drive that loop meanwhile.
  virtual void wait_until(Awaited& awaited, Time deadline) { park_until_done(awaited, deadline); }

  Status refuse_waiting();
  void note_waiting();

  const bool traced_;
  std::atomic<std::int64_t> waited_since_{0};
  Completion<std::monostate> completion_;
  Mutex mutex_;
  std::size_t pending_ GUARDED_BY(mutex_);
  bool any_info_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);
  ValueInfo info_ GUARDED_BY(mutex_);
  std::vector<PartInfo> parts_ GUARDED_BY(mutex_);
};

/// A ticket that has ended already.
Ticket ended_ticket(const Status& status);

/// What is known of two values together: the older version, the larger spread and staleness.
ValueInfo combine(const ValueInfo& a, const ValueInfo& b);

}  // namespace stretto::detail
