// SPDX-License-Identifier: Apache-2.0
// RemoteHost: a host of the job that an agent works for. It is asked in frames, and answers in
// frames; that it may be slow, refuse to begin with, or be lost is what a LocalHost does not have.
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

/// What a far host tells besides.
class RemoteHostEvents : public HostEvents {
 public:
  /// Its agent has come, and is of our version.
  virtual void on_here(RemoteHost& host) = 0;
  /// It is gone, and with it all that it ran. Once, and again after on_awake. `since`: when the way
  /// to it closed, or it was heard last; why is known later. True: what runs there may go on, so
  /// that a host that is only silent is not hung up on.
  virtual bool on_lost(RemoteHost& host, Status why, Time since) = 0;
  /// A silent host is heard again. Its members that the job has; all others are killed.
  virtual std::vector<std::size_t> on_awake(RemoteHost&) { return {}; }
  /// Something there asked the agent to end.
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

  /// Has `carrier` start the agent, and talks to it over the carrier's stdin and stdout.
  Status open(const Command& carrier, const SignalState& signals);
  /// The agent that has come over a socket.
  void adopt(std::unique_ptr<AgentLink> link, const AgentHello& hello);

  void start(std::size_t member, const Command& command, bool tells_ready) override;
  void signal(const SignalOrder& order) override;
  void tell(std::string_view line) override;
  void pause(std::size_t stream, bool paused) override;
  std::size_t orphans() const override { return orphans_; }

  /// Asks a kLook or kReach.
  void ask(const AgentFrame& question) { connection_.send(question); }
  /// Kills what is left there, and has the rest of its output sent; or gives up on an agent that
  /// has not come yet.
  void finish(Duration patience, bool failed = false);
  /// The agent will not come any more, for instance because who starts it has ended.
  void give_up(Status why);
  /// An agent that works says something every second. One that has said nothing for `silence`, if
  /// that is given, while this process was awake is lost: it is frozen, or its host is gone.
  void on_time(Time now, std::optional<Duration> silence);
  /// Its agent works, and has said something lately.
  bool is_heard(Time now, Duration lately = 3 * kAliveEvery) const {
    const bool works = state_ == State::kHere && connection_.is_open();
    return works && heartbeats_.silence(now) < lately;
  }
  /// When to be told of the time at the latest.
  std::optional<Time> deadline(std::optional<Duration> silence) const;

  /// After open().
  pid_t carrier_id() const { return connection_.carrier_id(); }
  const std::string& name() const { return name_; }
  const AgentHello& hello() const { return hello_; }
  State state() const { return state_; }
  /// Nothing will come from it any more, and no carrier runs.
  bool over() const;
  /// Once finished: processes that the kernel there does not end.
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
  std::set<std::size_t> running_;  // and those of which no end has been told.
  bool has_scheduler_ = false;     // Which says how the job comes together.
  std::size_t orphans_ = 0;
  std::size_t left_ = 0;
};

}  // namespace stretto::launch
