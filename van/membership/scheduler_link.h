// SPDX-License-Identifier: Apache-2.0
// SchedulerLink: a node's link to its scheduler: the calls of who joins, and, where a scheduler
// that is lost may come back, those of who looks for it.
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
  /// All outlive this.
  SchedulerLink(const Config& config, Van& van, const Clock& clock);

  /// By which it is told something; 0: it is not there.
  LinkId id() const { return search_.lasts() ? 0 : id_; }
  /// What comes by this link is its answer.
  bool is(LinkId link) const { return link != 0 && link == id_; }
  /// Tells its job from others; 0 before the welcome.
  std::uint64_t job() const { return job_; }

  // ---- who joins

  Status call(const control::Hello& hello);
  /// So that it may be called again.
  bool may_be_called() const { return id_ == 0 && clock_.now() >= retry_at_; }
  Time next_call() const { return id_ == 0 ? retry_at_ : Time::max(); }
  const Attempts& attempts() const { return attempts_; }
  /// It is called again, from the beginning.
  void hang_up() { close(); }
  /// The link is no more.
  void ended(const Status& why);

  // ---- who looks for a scheduler that is lost

  /// It is awaited from now on, for so long, and called with this hello. What it is told then is
  /// nothing of what waited for it.
  void await(Status why, Duration patience, const control::Hello& hello);
  bool is_awaited() const { return search_.lasts(); }
  /// Makes the calls that are due. Why nobody waits for it any longer, once that is so.
  /// That is also so if who has started this process has ended: nobody starts a scheduler then.
  std::optional<Status> search(bool slept);
  /// Who was called says that it is none of its members. The link's end follows.
  void refused(const Status& why) { search_.refused(why, clock_.now()); }
  /// It has answered. False: that is another, and the search goes on.
  bool welcome(const control::Welcome& welcome);
  /// While it is awaited.
  Time next_due() const { return search_.next_due(); }

 private:
  void close();

  const Config& config_;
  Van& van_;
  const Clock& clock_;
  const ParentProcess starter_;
  LinkId id_ = 0;
  std::uint64_t job_ = 0;
  std::uint32_t life_ = 0;  // Of the scheduler that welcomed this node last.
  Time retry_at_;
  Attempts attempts_;
  SchedulerReconnect search_;
  control::Hello hello_;  // Of the search.
};

}  // namespace stretto
