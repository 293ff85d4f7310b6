// SPDX-License-Identifier: Apache-2.0
// TicketState: what a user's Ticket points to. The loop ends it, once; any thread may wait for it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/mutex.h"
#include "stretto/worker.h"

namespace stretto::detail {

/// What a caller wants otherwise of an operation under way.
struct Change {
  enum class Kind : std::uint8_t { kPriority, kDeadline, kPause, kResume, kCancel };
  Kind kind = Kind::kPause;
  std::int32_t priority = 0;
  Time deadline = Time::max();
};

/// Thread: any. One mutex; callbacks run outside it.
class TicketState {
 public:
  /// A ticket for `operations` operations; it ends when all of them have.
  explicit TicketState(std::size_t operations) : pending_(operations) {}

  /// One operation has ended. The first error is the ticket's. Callbacks run here, on this thread.
  void end_one(const Status& status, const ValueInfo& info);

  Status wait();
  Status wait_for(Duration limit);
  bool done();
  void on_done(std::function<void(const Status&)> then);
  ValueInfo info();

  /// How a change reaches the operations. Before the ticket is handed out.
  void set_steering(std::function<void(const Change&)> steering) { steer_ = std::move(steering); }
  void steer(const Change& change) {
    if (steer_ && !done()) steer_(change);
  }

 private:
  std::function<void(const Change&)> steer_;
  Mutex mutex_;
  Condition ended_;
  std::size_t pending_ GUARDED_BY(mutex_);
  bool any_info_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);
  ValueInfo info_ GUARDED_BY(mutex_);
  std::vector<std::function<void(const Status&)>> callbacks_ GUARDED_BY(mutex_);
};

/// A ticket that has ended already.
Ticket ended_ticket(const Status& status);

/// What is known of two values together: the older version, the larger spread and staleness.
ValueInfo combine(const ValueInfo& a, const ValueInfo& b);

}  // namespace stretto::detail
