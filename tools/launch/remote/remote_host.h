// SPDX-License-Identifier: Apache-2.0
// RemoteHost: a host of the job, run by an agent that takes orders and reports in frames. Unlike a
// LocalHost it may be slow, refuse to start, or be lost.
//
//   coming --hello--> here --finish()--> finishing --its last frame--> finished
//      |                |                    |
//      +----------------+--------------------+--its connection ends--> lost
//                       +--silence--> lost, or silent, if that may end
//
//   silent --a frame--> here; --its connection ends, or finish()--> lost
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "tools/launch/process/host.h"
#include "tools/launch/remote/agent_connection.h"
#include "tools/launch/remote/heartbeat_monitor.h"
#include "tools/launch/remote/output_credit.h"

namespace stretto::launch {

class RemoteHost;

/// Events of a remote host apart from HostEvents.
class RemoteHostEvents : public HostEvents {
 public:
  /// Its agent has connected, and has our version.
  virtual void on_here(RemoteHost& host) = 0;
  /// The host is lost with all its processes. Called once, and again after on_awake. `since`: when
  /// its connection closed, or when it was last heard; the cause comes later. True: its processes
  /// may continue, so the connection of a host that is only silent stays open.
  virtual bool on_lost(RemoteHost& host, Status why, Time since) = 0;
  /// A silent host is heard again. Returns its members that are still in the job; all others are
  /// killed.
  virtual std::vector<std::size_t> on_awake(RemoteHost&) { return {}; }
  /// The agent was sent a signal on its host that asks it to end.
  virtual void on_signalled(RemoteHost& host, int signal) = 0;
  virtual void on_note(const RemoteHost& host, std::string_view line) = 0;
  /// The answer to ask(): a kFound or kReached.
  virtual void on_answer(RemoteHost&, const AgentFrame&) {}
};

/// Thread: loop.
class RemoteHost final : public Host {
 public:
  enum class State : std::uint8_t { kComing, kHere, kFinishing, kFinished, kSilent, kLost };

  /// `directory`: where its processes run.
  RemoteHost(Poller& poller, RemoteHostEvents& events, const Clock& clock, std::string name,
             std::string directory);

  /// Starts the agent through `carrier`, and talks to it over the carrier's stdin and stdout.
  Status open(const Command& carrier, const SignalState& signals);
  /// Takes the link of an agent that connected over a socket.
  void adopt(std::unique_ptr<AgentLink> link, const AgentHello& hello);

  void start(std::size_t member, const Command& command, bool tells_ready) override;
  void signal(const SignalOrder& order) override;
  void tell(std::string_view line) override;
  void pause(std::size_t stream, bool paused) override;
  std::size_t orphans() const override { return orphans_; }

  /// Sends a kLook or kReach.
  void ask(const AgentFrame& question) { connection_.send(question); }
  /// Kills the remaining processes, and requests the rest of their output; gives up on an agent
  /// that has not connected.
  void finish(Duration patience, bool failed = false);
  /// The agent cannot connect any more, for instance because its starter has ended.
  void give_up(Status why);
  /// A working agent sends a frame every second. If `silence` is given, an agent that was silent
  /// that long while this process was awake is lost: it is frozen, or its host is gone.
  void on_time(Time now, std::optional<Duration> silence);
  /// Its agent works, and was heard recently.
  bool is_heard(Time now, Duration lately = 3 * kAliveEvery) const {
    const bool works = state_ == State::kHere && connection_.is_open();
    return works && heartbeats_.silence(now) < lately;
  }
  /// When on_time() must be called at the latest.
  std::optional<Time> deadline(std::optional<Duration> silence) const;

  /// After open().
  pid_t carrier_id() const { return connection_.carrier_id(); }
  const std::string& name() const { return name_; }
  const AgentHello& hello() const { return hello_; }
  State state() const { return state_; }
  /// All frames have arrived, and no remote shell runs.
  bool over() const;
  /// After finishing: processes that the kernel does not end.
  std::size_t left() const { return left_; }

 private:
  void take(const AgentFrame& frame);
  void take_of_member(const AgentFrame& frame);
  void take_hello(const AgentFrame& frame);
  void lose(Status why, Time since, bool is_silent = false);
  void give_credit();

  RemoteHostEvents& events_;
  const Clock& clock_;
  const std::string name_;
  const std::string directory_;
  State state_ = State::kComing;
  AgentConnection connection_;
  HeartbeatMonitor heartbeats_{kAliveEvery};
  OutputCredit credit_{kOutputWindow};
  AgentHello hello_;
  std::set<std::size_t> started_;  // Members that it was asked to run,
  std::set<std::size_t> running_;  // and those without a reported exit.
  bool has_scheduler_ = false;     // It runs the scheduler, which reports the job's formation.
  std::size_t orphans_ = 0;
  std::size_t left_ = 0;
};

}  // namespace stretto::launch
