// SPDX-License-Identifier: Apache-2.0
// SchedulerLink: a node's link to its scheduler: connects to join a job and, where a scheduler may
// restart, to find the restarted one.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/process/parent_process.h"
#include "van/engine/van.h"
#include "van/membership/connect_attempts.h"
#include "van/membership/scheduler_reconnect.h"

namespace stretto {

/// Thread: loop.
class SchedulerLink {
 public:
  /// All must outlive this.
  SchedulerLink(const Config& config, Van& van, const Clock& clock);

  /// The link for messages to the scheduler; 0: it is away.
  LinkId id() const { return search_.lasts() ? 0 : id_; }
  /// True for messages from the scheduler.
  bool is(LinkId link) const { return link != 0 && link == id_; }
  /// Unique to the job; 0 before the welcome.
  std::uint64_t job() const { return job_; }

  // ---- joining

  Status call(const control::Hello& hello);
  /// True if the next attempt is due.
  bool may_be_called() const { return id_ == 0 && clock_.now() >= retry_at_; }
  Time next_call() const { return id_ == 0 ? retry_at_ : Time::max(); }
  const Attempts& attempts() const { return attempts_; }
  /// Drops the link; the next call() starts over.
  void hang_up() { close(); }
  /// The link has ended.
  void ended(const Status& why);

  // ---- searching for a restarted scheduler

  /// Waits `patience` for the scheduler, and connects with this hello. Messages queued for the old
  /// link are dropped.
  void await(Status why, Duration patience, const control::Hello& hello);
  bool is_awaited() const { return search_.lasts(); }
  /// Makes due attempts. Returns an error once waiting is useless: after the timeout, or when the
  /// parent process, which would restart the scheduler, has exited.
  std::optional<Status> search(bool slept);
  /// The listener does not know this member. The link's end follows.
  void refused(const Status& why) { search_.refused(why, clock_.now()); }
  /// A scheduler answered. False: it is another one, and the search continues.
  bool welcome(const control::Welcome& welcome);
  /// During a search.
  Time next_due() const { return search_.next_due(); }

 private:
  void close();

  const Config& config_;
  Van& van_;
  const Clock& clock_;
  const ParentProcess starter_;
  LinkId id_ = 0;
  std::uint64_t job_ = 0;
  std::uint32_t life_ = 0;  // The last incarnation that welcomed this node.
  Time retry_at_;
  Attempts attempts_;
  SchedulerReconnect search_;
  control::Hello hello_;  // Of the search.
};

}  // namespace stretto
