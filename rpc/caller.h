// SPDX-License-Identifier: Apache-2.0
// Caller: this endpoint's calls in flight over all links, from queueing to the answer.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/clock.h"
#include "rpc/handles.h"
#include "van/engine/van.h"
#include "van/wire/frame_views.h"

namespace stretto::rpc {

/// Thread: loop. Ends each started call exactly once.
class Caller {
 public:
  using CallState = std::shared_ptr<detail::CallState>;

  Caller(Van& van, const Clock& clock, std::uint32_t max_calls)
      : van_(van), clock_(clock), max_calls_(max_calls) {}

  /// `name` appears in errors.
  void add_link(LinkId link, std::string name) { links_[link].name = std::move(name); }
  /// Ends the link's calls with kPeerLost.
  void lose_link(LinkId link, const Status& why);

  /// Starts a call, or ends it at once with an error.
  void start(const CallState& call, LinkId link);
  void steer(const CallState& call, const detail::Change& change);
  /// On an error, end the link: the message answers no call.
  Status on_answer(LinkId link, const wire::Header& header, Buffer payload);
  /// The call has been sent completely.
  void on_left(std::uint64_t tag);

  /// Ends calls whose timeout has expired.
  void tick();
  Time next_due() const { return expiries_.empty() ? Time::max() : expiries_.begin()->first; }
  /// Ends all calls, and each call that is started later.
  void close(const Status& why);
  std::size_t in_flight() const { return calls_.size(); }

 private:
  struct InFlight {
    CallState state;
    LinkId link = 0;
    std::uint64_t number = 0;
    Time expires;
    bool left = false;
  };
  struct Link {
    std::string name;
    std::uint64_t issued = 0;                      // Numbers of calls so far.
    std::map<std::uint64_t, std::uint64_t> calls;  // Number of calls so far.
  };

  void tell(const InFlight& call, bool cancelled);
  void give_up(std::uint64_t tag, const Status& why);
  void end(std::uint64_t tag, const Status& status, Message answer = {});

  Van& van_;
  const Clock& clock_;
  const std::uint32_t max_calls_;
  Status closed_;               // Ok: not closed.
  std::uint64_t last_tag_ = 1;  // Odd.
  std::map<LinkId, Link> links_;
  std::map<std::uint64_t, InFlight> calls_;  // By tag.
  std::set<std::pair<Time, std::uint64_t>> expiries_;
};

}  // namespace stretto::rpc
