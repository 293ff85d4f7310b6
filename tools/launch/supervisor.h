// SPDX-License-Identifier: Apache-2.0
// Supervisor: what to do next when processes end, signals come or time passes. It decides and never
// acts: events and the time go in, orders to signal processes come out, so that every rule is
// tested without a process.
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

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/launch/plan.h"

namespace stretto::launch {

/// How a process ended.
struct Exit {
  bool by_signal = false;
  int number = 0;  ///< Exit status, or the signal.

  bool failed() const { return by_signal || number != 0; }
  /// As a shell says it: 128 + signal for a signal.
  int status() const { return by_signal ? 128 + number : number; }
  /// "exited with status 3", "killed by SIGKILL".
  std::string text() const;
};

/// "SIGTERM".
std::string signal_name(int signal);

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

/// How it all ended.
struct Verdict {
  int exit_status = 0;
  Status error;  ///< Ok, or what the last line says about `who`.
  Member who;
};

/// Thread: loop.
class Supervisor {
 public:
  Supervisor(std::vector<Member> members, const Limits& limits, Time now);

  /// `member` runs now. From then on it must end before the launch is over.
  void on_spawned(std::size_t member);
  /// `member`, which may have been said to run, could not be run: everybody else is stopped at
  /// once.
  Reaction on_refused(std::size_t member, int exit_status, Status why, Time now);
  /// The scheduler listens: the rest may be started.
  void on_ready();
  /// All nodes have come to the scheduler. It may be told after ends that came later.
  void on_gathered();
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
  /// Time has passed; needed at deadline().
  Reaction on_time(Time now) { return advance(now); }

  bool may_start_others() const { return phase_ == Phase::kRunning; }
  bool over() const { return phase_ == Phase::kOver; }
  std::optional<Time> deadline() const { return deadline_; }
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
  enum class Life : std::uint8_t { kUnborn, kAlive, kEnded };

  struct Failure {
    std::size_t member;
    int exit_status;
    Status error;
    int suspicion = 0;  // Least for the likeliest cause.
    Time at = {};
  };
  static constexpr Duration kHindsight = 500ms;

  Reaction advance(Time now);
  void transit(Time now, Reaction& reaction);
  void enter(Phase phase, std::optional<Time> deadline);
  void be_patient(Phase phase, Time now);
  Duration patience() const;
  void stop(int signal, Time now, Reaction& reaction);
  void kill(Time now, Reaction& reaction);
  void fail(Failure failure);
  void record(const Ended& ended, Time now, Reaction& reaction);
  Order notice(std::size_t member, int signal) const;
  bool all_ended() const;
  bool workers_succeeded() const;
  std::string alive_names() const;
  std::string why_impatient() const;

  const std::vector<Member> members_;
  const Limits limits_;
  Phase phase_ = Phase::kStarting;
  std::optional<Time> deadline_;
  Time patient_since_ = {};  // In phases kSettling and kDraining.
  bool gathered_ = false;
  std::vector<Life> lives_;
  std::size_t alive_ = 0;
  std::size_t orphans_ = 0;
  bool await_orphans_ = false;    // They were told to end, and have until the deadline.
  std::size_t workers_left_ = 0;  // That have not ended with status 0.
  std::optional<Failure> first_;  // The failure that the verdict names.
  bool hopeless_ = false;         // The job never came together: no time to settle.
  std::optional<int> interrupt_;  // First signal to the launcher.
  std::optional<Time> interrupted_at_;
  bool impatient_ = false;  // SIGINT came again.
  int stop_signal_ = 0;     // Sent to everybody; 0: not yet.
};

}  // namespace stretto::launch
