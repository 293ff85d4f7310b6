// SPDX-License-Identifier: Apache-2.0
// Supervisor: what to do next when processes end, signals come or time passes. It decides and never
// acts: events and the time go in, orders to signal processes come out, so that every rule is
// tested without a process. What it learns is kept as Evidence; who is to blame, judge() says.
//
//   starting --ready--> running --last worker, all 0--> draining --+
//      |                   | failure                       | late   +-- all ended --> over
//      |                   v                               v       |
//      |                settling --late or a signal--> stopping ---+
//      +---- failure, late or a signal --------------------^ | late, or SIGINT again
//                                                            v
//                                                         killing -- late --> over
//
// Until all nodes have come to the scheduler nobody hears of another's end, and servers wait for a
// job that may never be: settling and draining are shorter then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/gathering.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/launch/evidence.h"
#include "tools/launch/plan.h"
#include "tools/launch/verdict.h"

namespace stretto::launch {

struct Ended {
  std::size_t member;  ///< Index into the members.
  Exit exit;
};

/// A signal for one member: for the process that was started, or for its whole process group.
struct Order {
  enum class Scope : std::uint8_t { kProcess, kGroup };
  std::size_t member;
  int signal;
  Scope scope;

  friend bool operator==(const Order&, const Order&) = default;
};

struct Reaction {
  std::vector<Order> orders;
  std::vector<std::string> notes;  ///< What the user should read, a line each.
};

/// Thread: loop.
class Supervisor {
 public:
  Supervisor(const std::vector<Member>& members, const Limits& limits, Time now);

  /// `member` runs now. From then on it must end before the launch is over.
  void on_spawned(std::size_t member);
  /// `member`, which may have been said to run, could not be run: everybody else is stopped at
  /// once.
  Reaction on_refused(std::size_t member, int exit_status, Status why, Time now);
  /// The scheduler listens: the rest may be started.
  void on_ready();
  /// How far the job has come together, by its scheduler. It may be told after ends that came
  /// later.
  Reaction on_gathering(Gathering gathering, Time now);
  /// The scheduler will never say where it listens, or not even be started.
  Reaction on_never_ready(Status why, Time now);
  /// Processes found ended in one look, in no order. `orphans`: processes that were left behind by
  /// ended members and still run.
  Reaction on_ended(std::span<const Ended> ended, std::size_t orphans, Time now);
  /// A host is gone, and with it these members, at least one, whether they ran or not. `since`:
  /// when it went, which may be earlier than `now`, when it is known why.
  Reaction on_host_lost(std::span<const std::size_t> members, Status why, Time since, Time now);
  /// The launcher itself was sent SIGINT, SIGTERM or SIGHUP.
  Reaction on_signal(int signal, Time now);
  /// All processes of some host were sent this, by somebody else. It may be heard of after the ends
  /// that it brought about.
  Reaction on_notice(int signal, Time now);
  /// `member` has said in its last line what it failed of. It may be told after its end.
  Reaction on_statement(std::size_t member, Statement statement, Time now);
  /// Time has passed; needed at deadline().
  Reaction on_time(Time now) { return advance(now); }

  bool may_start_others() const { return phase_ == Phase::kRunning; }
  bool over() const { return phase_ == Phase::kOver; }
  std::optional<Time> deadline() const;
  /// How long a host may say nothing at all before it is lost. While the job runs, and ends without
  /// it would be missed, that is longer: the way to it may only be slow.
  Duration silence_limit() const;
  /// Once over().
  Verdict verdict() const;

 private:
  enum class Phase : std::uint8_t {
    kStarting,
    kRunning,
    kSettling,
    kDraining,
    kStopping,
    kKilling,
    kOver
  };
  using Life = Witness::Life;

  Reaction advance(Time now);
  void transit(Time now, Reaction& reaction);
  void enter(Phase phase, std::optional<Time> deadline);
  void be_patient(Phase phase, Time now);
  Duration patience() const;
  void stop(int signal, Time now, Reaction& reaction);
  void kill(Time now, Reaction& reaction);
  void lose(std::size_t member, int exit_status, Status why, Time at);
  void record(const Ended& ended, Time now, Reaction& reaction);
  std::optional<Time> absence_due(const Witness& witness) const;
  void miss_absent(Time now);
  std::vector<std::size_t> bury(Time now, Reaction& reaction);
  std::string news();
  Order notice(std::size_t member, int signal) const;
  bool failed() const;
  bool is_alive(std::size_t member) const { return evidence_.members[member].life == Life::kAlive; }
  bool all_ended() const;
  bool workers_succeeded() const { return evidence_.workers_succeeded(); }
  std::string alive_names() const;
  std::string why_impatient() const;

  const Limits limits_;
  Evidence evidence_;
  Phase phase_ = Phase::kStarting;
  std::optional<Time> deadline_;
  std::optional<Time> bury_at_;  // When who is given up is killed.
  Time patient_since_ = {};      // In phases kSettling and kDraining.
  bool gathered_ = false;
  std::optional<Time> awaited_since_;  // Workers have come, and wait for others.
  std::size_t orphans_ = 0;
  bool await_orphans_ = false;  // They were told to end, and have until the deadline.
  bool hopeless_ = false;       // The job never came together: no time to settle.
  std::optional<Time> interrupted_at_;
  bool impatient_ = false;                        // SIGINT came again.
  int stop_signal_ = 0;                           // Sent to everybody; 0: not yet.
  std::vector<std::optional<Member>> announced_;  // Losses that the user has read of.
};

}  // namespace stretto::launch
