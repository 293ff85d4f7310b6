// SPDX-License-Identifier: Apache-2.0
// AgentConnection: the connection to an agent, from its opening to the cause of its end. A remote
// shell (ssh, srun) that carries its AgentLink ends soon after; its last output is the cause.
//
//   open --finish()--> finished
//     |
//     +--link ends--> (remote shell's last output) --> gone
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/clock.h"
#include "tools/launch/remote/agent_link.h"
#include "tools/launch/remote/remote_shell.h"

namespace stretto::launch {

/// Thread: loop.
class AgentConnection {
 public:
  struct Callbacks {
    std::function<void(const AgentFrame& frame)> on_frame;
    /// A line of the remote shell, or of the remote host before the greeting.
    std::function<void(std::string_view line)> on_line;
    /// The connection failed. At most once, and not after close() or finish().
    std::function<void(Status why)> on_gone;
  };

  /// `host`: for messages.
  AgentConnection(Poller& poller, const Clock& clock, const std::string& host, Callbacks callbacks)
      : poller_(poller), clock_(clock), host_(host), callbacks_(std::move(callbacks)) {}

  /// Starts the agent through `carrier`, and talks to it over the carrier's stdin and stdout.
  Status open(const Command& carrier, const SignalState& signals);
  /// Takes the link of an agent that connected over a socket.
  void adopt(std::unique_ptr<AgentLink> link);

  /// Dropped before there is a link, or after its end.
  void send(const AgentFrame& frame);
  /// The agent answers: later errors are no failure to reach its host.
  void greet();
  /// Rejects a malformed agent: its later frames are ignored.
  void refuse(const Status& why);
  /// The agent sent its last frame: only the remote shell has yet to end.
  void finish();
  /// Ends everything immediately.
  void close();

  void on_time(Time now);
  std::optional<Time> deadline() const { return deadline_; }
  bool is_open() const { return link_ && link_->is_open(); }
  bool carrier_runs() const { return carrier_ && carrier_->running(); }
  /// When the link ended; the cause is known later.
  const std::optional<Time>& closed_at() const { return closed_at_; }
  /// After open().
  pid_t carrier_id() const { return carrier_->process_id(); }

 private:
  enum class State : std::uint8_t { kOpen, kFinished, kGone };

  void listen();
  void take_end(const Status& why);
  void take_noise();
  void go();
  Status why_gone() const;

  Poller& poller_;
  const Clock& clock_;
  const std::string& host_;
  const Callbacks callbacks_;
  State state_ = State::kOpen;
  std::unique_ptr<RemoteShell> carrier_;
  std::string carrier_name_;
  std::unique_ptr<AgentLink> link_;
  bool greeted_ = false;
  Status link_error_;
  std::optional<Time> closed_at_;
  std::optional<Time> deadline_;  // For the remote shell to end after its link.
};

}  // namespace stretto::launch
