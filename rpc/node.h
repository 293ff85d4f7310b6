// SPDX-License-Identifier: Apache-2.0
// EndpointNode: an endpoint's links and its loop: admits peers and dispatches their messages.
// Caller and Callee keep the calls, Connector the outgoing connections, and Shutdown the phases of
// the end.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/clock.h"
#include "common/threads/loop_owner.h"
#include "rpc/callee.h"
#include "rpc/caller.h"
#include "rpc/connector.h"
#include "rpc/methods.h"
#include "rpc/shutdown.h"
#include "van/engine/van.h"
#include "van/event_loop/loop.h"

namespace stretto::rpc {

/// Thread: loop. Once over() it may be called on any thread, and only returns errors.
class EndpointNode final : public LoopTask, private Van::Handler {
 public:
  struct Settings {
    std::string token;
    std::uint32_t max_peers = 0;
    std::uint32_t max_calls = 0;
    std::uint64_t max_held_bytes = 0;
    Duration dead_after = 5s;  ///< Transport::set_dead_after.
    Duration look_ahead{};     ///< VanOptions::look_ahead.
    Checksums checksums = Checksums::kNone;
  };
  using Connected = Connector::Connected;

  EndpointNode(Settings settings, const Methods& methods, std::unique_ptr<Transport> transport,
               const Clock& clock);

  /// The path of replies to the loop. Before the first step.
  void set_executor(std::shared_ptr<NodeExecutor> way) { callee_.set_executor(std::move(way)); }

  Result<std::string> listen(std::string_view address);
  /// `done` gets the link or the error, once.
  void connect(const std::string& address, Duration timeout, Connected done);
  void disconnect(Peer peer);
  /// Ends all calls. over() is true once the answers have been sent, or five seconds have passed,
  /// and the peers have been notified.
  void close();
  /// Ends everything at once.
  void abandon();

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return shutdown_.phase() == Shutdown::Phase::kOver; }
  /// No caller waits for an answer of ours, and we wait for none.
  bool idle() const { return caller_.in_flight() == 0 && guests_.empty() && van_.queue().idle(); }

  const Van& van() const { return van_; }
  /// Outgoing calls,
  Caller& caller();
  /// and incoming ones.
  Callee& callee();

 private:
  void on_control(LinkId link, const control::Message& message) override;
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override;
  void on_acked(LinkId, wire::PushTag) override {}
  void on_left(LinkId link, std::uint64_t tag) override;
  void on_broken(LinkId link, const Status& why) override;

  void on_hello(LinkId link, const control::Hello& hello);
  void let_in(LinkId link, const std::string& name);
  void turn_out(LinkId link, const Status& why);
  void lose(LinkId link, const Status& why);
  void close_links();

  const Settings settings_;
  const Clock& clock_;
  Van van_;
  Caller caller_;
  Callee callee_;
  std::map<LinkId, std::string> peers_;
  std::set<LinkId> guests_;  // Peers that connected to us.
  Connector connector_;
  Shutdown shutdown_;
  LoopOwner owner_;
};

}  // namespace stretto::rpc
