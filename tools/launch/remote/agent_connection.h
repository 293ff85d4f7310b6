// SPDX-License-Identifier: Apache-2.0
// AgentConnection: the way to an agent, from its opening to why it ended. Frames go over a link;
// where ssh or srun holds that up, this carrier ends soon after it, and its last words say why.
//
//   open --finish()--> finished
//     |
//     +--link ends--> (carrier's last words) --> gone
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
    /// What the carrier says, and what the far end said before it was an agent.
    std::function<void(std::string_view line)> on_line;
    /// It ended by itself. At most once, and not after close() or finish().
    std::function<void(Status why)> on_gone;
  };

  /// `host`: for messages.
  AgentConnection(Poller& poller, const Clock& clock, const std::string& host, Callbacks callbacks)
      : poller_(poller), clock_(clock), host_(host), callbacks_(std::move(callbacks)) {}

  /// Has `carrier` start the agent, and talks to it over the carrier's stdin and stdout.
  Status open(const Command& carrier, const SignalState& signals);
  /// The agent that has come over a socket.
  void adopt(std::unique_ptr<AgentLink> link);

  /// Nothing is sent before there is a link, or after its end.
  void send(const AgentFrame& frame);
  /// An agent speaks: what goes wrong from now on is no failure to reach its host.
  void greet();
  /// What came is no agent's: nothing more is heard of it.
  void refuse(const Status& why);
  /// The agent has said its last: only the carrier is to end by itself.
  void finish();
  /// Ends all at once.
  void close();

  void on_time(Time now);
  std::optional<Time> deadline() const { return deadline_; }
  bool is_open() const { return link_ && link_->is_open(); }
  bool carrier_runs() const { return carrier_ && carrier_->running(); }
  /// When the link ended; why is known later.
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
  std::optional<Time> deadline_;  // For the carrier to end once its link has.
};

}  // namespace stretto::launch
