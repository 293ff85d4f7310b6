// SPDX-License-Identifier: Apache-2.0
// LocalHost: child processes of this process. The launcher uses it for its own host, an agent for
// all processes that it runs.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include "common/clock.h"
#include "tools/launch/process/host.h"
#include "tools/launch/process/oom_detector.h"
#include "tools/launch/process/orphans.h"
#include "tools/launch/process/poller.h"
#include "tools/launch/process/spawn.h"

namespace stretto::launch {

/// Thread: loop. Descriptors 0 to 2 must be open.
class LocalHost final : public Host {
 public:
  LocalHost(Poller& poller, HostEvents& events, const SignalState& signals, const Clock& clock)
      : poller_(poller), events_(events), signals_(signals), clock_(clock) {}

  void start(std::size_t member, const Command& command, bool tells_ready) override;
  void signal(const SignalOrder& order) override;
  void tell(std::string_view line) override;
  void pause(std::size_t stream, bool paused) override;
  std::size_t orphans() const override { return orphan_count_; }

  /// Handles SIGCHLD: reaps orphans, and kills processes that the terminal has stopped. True if the
  /// number of orphans has changed.
  bool reap_orphans();
  /// Excludes a child process that its caller supervises.
  void except(pid_t process_id) { orphans_.except(process_id); }
  /// Kills all remaining processes and orphans, and waits for at most `patience`; returns the
  /// number that the kernel has not ended.
  std::size_t finish(Duration patience);
  /// After finish(): forwards what is left in the pipes, up to a paused stream. True once all pipes
  /// are empty.
  bool drain();

 private:
  struct Stream {
    Descriptor descriptor;
    bool watched = false;
  };
  struct Process {
    ChildProcess child;
    std::array<Stream, 2> streams{};  // stdout, stderr.
    int stopped_by = 0;               // SIGTTIN or SIGTTOU, the reason of its kill; or 0.
  };

  void bury(std::size_t member);
  void kill_stopped();
  void take_ready();
  void take_end(std::size_t member);
  /// Reads once; false if there was nothing to read.
  bool take_output(std::size_t member, std::size_t stream);
  void balance(std::size_t member, std::size_t stream);

  Poller& poller_;
  HostEvents& events_;
  const SignalState& signals_;
  const Clock& clock_;
  Orphans orphans_;
  OomDetector memory_kills_;
  std::size_t orphan_count_ = 0;
  std::map<std::size_t, std::unique_ptr<Process>> processes_;  // By member.
  std::array<bool, 2> paused_{};
  Descriptor ready_;
  std::string ready_text_;   // A line without its end yet,
  bool said_ready_ = false;  // and whether a line came before.
};

}  // namespace stretto::launch
