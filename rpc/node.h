// SPDX-License-Identifier: Apache-2.0
// EndpointNode: an endpoint's links and its one loop: who is let in, and what becomes of what they
// send. What is called is its Caller's and its Callee's business, how one gets in elsewhere its
// Connector's, and how long the end may take its Shutdown's.
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

/// Thread: loop. After it is over any thread may call it, and is only told so.
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

  /// How replies come back. Before the first step.
  void set_executor(std::shared_ptr<NodeExecutor> way) { callee_.set_executor(std::move(way)); }

  Result<std::string> listen(std::string_view address);
  /// `done` hears once of the link or of why there is none.
  void connect(const std::string& address, Duration timeout, Connected done);
  void disconnect(Peer peer);
  /// Ends all calls; it is over when the answers have left, or five seconds have passed,
  /// and the far ends have heard of it.
  void close();
  /// Ends everything at once.
  void abandon();

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return shutdown_.phase() == Shutdown::Phase::kOver; }
  /// Nobody waits for us, nor we for anybody.
  bool idle() const { return caller_.in_flight() == 0 && guests_.empty() && van_.queue().idle(); }

  const Van& van() const { return van_; }
  /// Our calls,
  Caller& caller();
  /// and those of others.
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
  std::set<LinkId> guests_;  // Those that connected to us.
  Connector connector_;
  Shutdown shutdown_;
  LoopOwner owner_;
};

}  // namespace stretto::rpc
