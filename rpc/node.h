// SPDX-License-Identifier: Apache-2.0
// Node: an endpoint's links and its one loop. What is called is its Caller's and its Callee's
// business; who is let in, and how long one tries to get in elsewhere, is its own.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/clock.h"
#include "rpc/callee.h"
#include "rpc/caller.h"
#include "rpc/methods.h"
#include "van/loop.h"
#include "van/van.h"

namespace stretto::rpc {

/// Thread: loop. After it is over any thread may call it, and is only told so.
class Node final : public Agent, private Van::Handler {
 public:
  struct Settings {
    std::string token;
    std::uint32_t max_peers = 0;
    std::uint32_t max_calls = 0;
    std::uint64_t max_held_bytes = 0;
    Duration dead_after = 5s;  ///< Transport::set_dead_after.
  };
  using Connected = std::function<void(const Result<Peer>&)>;

  Node(Settings settings, const Methods& methods, std::unique_ptr<Transport> transport,
       const Clock& clock);

  /// How replies come back. Before the first step.
  void set_way(std::shared_ptr<Way> way) { callee_.set_way(std::move(way)); }

  Result<std::string> listen(std::string_view address);
  /// `done` hears once of the link or of why there is none.
  void connect(const std::string& address, Duration timeout, Connected done);
  void disconnect(Peer peer);
  void start(const Caller::CallState& call, Peer peer);
  void steer(const Caller::CallState& call, const detail::Change& change);
  void answer(LinkId link, std::uint64_t number, const Result<Message>& outcome);
  /// Ends all calls; it is over when the answers have left, or five seconds have passed,
  /// and the far ends have heard of it.
  void close();
  /// Ends everything at once.
  void abandon();

  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return over_; }
  void wake() { van_.wake(); }

  const Van& van() const { return van_; }
  const Caller& caller() const { return caller_; }

 private:
  struct Attempt {
    std::string address;
    Duration timeout;
    Time deadline;
    Time retry_at;
    Connected done;
    LinkId link = 0;  // 0: between two attempts.
    Status last_break;
  };
  using Attempts = std::list<Attempt>;

  void on_control(LinkId link, const wire::Control& message) override;
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override;
  void on_acked(LinkId, wire::Key) override {}
  void on_left(LinkId link, std::uint64_t tag) override;
  void on_broken(LinkId link, const Status& why) override;

  void on_hello(LinkId link, const wire::Hello& hello);
  void let_in(LinkId link, const std::string& name);
  void turn_out(LinkId link, const Status& why);
  void lose(LinkId link, const Status& why);
  void try_to_connect(Attempts::iterator attempt);
  void end_attempt(Attempts::iterator attempt, const Result<Peer>& outcome);
  Attempts::iterator find_attempt(LinkId link);
  void try_again();
  void finish();
  Status closed() const;

  const Settings settings_;
  const Clock& clock_;
  Van van_;
  Caller caller_;
  Callee callee_;
  std::map<LinkId, std::string> peers_;
  std::set<LinkId> guests_;  // Those that connected to us.
  Attempts attempts_;
  bool closing_ = false;
  Time drained_by_ = Time::max();
  bool finished_ = false;  // All links are closed; their far ends may have yet to hear of it.
  Time told_by_ = Time::max();
  bool over_ = false;
};

}  // namespace stretto::rpc
