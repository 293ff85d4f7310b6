// SPDX-License-Identifier: Apache-2.0
// Reconnector: opens a new link for a session whose link has broken. The end that opened the first
// link opens the next, and proves its identity as in a hello: by the job's token, its node id, and
// the name that both ends gave their session. Each end reports its received frames, and
// retransmission starts there (van/session/session.h). If the hello was not answered, the hello is
// retransmitted.
//
// Earlier links of a session are fenced: frames from them are ignored.
#pragma once

#include <map>
#include <optional>

#include "van/control/control.h"
#include "van/engine/sender.h"
#include "van/session/parted_sessions.h"

namespace stretto {

/// Thread: loop.
class Reconnector {
 public:
  Reconnector(const Sender::Parts& parts, Sender& sender, const ReconnectTimeouts& limits)
      : parts_(parts), sender_(sender), parted_(limits) {}

  bool has_patience() const { return parted_.has_patience(); }
  /// Takes effect only if reconnects are enabled.
  void set_limits(const ReconnectTimeouts& limits) { parted_.set_limits(limits); }
  /// Seeds the spread of retry times between nodes.
  void set_node(NodeId node) { parted_.set_spread(node); }
  /// A new name for a session that this end has opened; 0: the session ends with its link.
  std::uint64_t new_name(LinkId link) const;
  /// How long the session waits for a reconnect, also if it waits already.
  void await(LinkId id, LinkState& link, Return what);

  /// A link has broken. False if its session ends with it.
  bool part(LinkId id, LinkState& link, const Status& why);
  /// Notes which sessions' frames have been acknowledged. Called periodically.
  void look_at_answers();
  /// Changes since the last call, by peer: true if the session's link has ended (silence alone does
  /// not count), false if it has reconnected. Calls are optional.
  std::map<NodeId, bool> take_news() { return std::exchange(news_, {}); }
  /// A session received a frame. A reconnect succeeds only if frames of all sizes arrive: a path
  /// that loses large packets still carries small ones.
  void progressed(LinkId id) {
    if (!parted_.empty()) note_progress(id);
  }
  /// A session ends.
  void forget(LinkId id);

  /// A link that was being opened broke.
  void on_broken(LinkId attempt, const Status& why) {
    parted_.failed(attempt, why.code() == Code::kRefused, parts_.clock.now());
  }
  /// A peer claims a session with a new link. kRefused, and no effect, if it may not.
  Status on_resume(LinkId carrier, NodeId node, const control::Resume& claim);
  /// Handles a retransmitted hello; none if it is new. The peer got no answer over the previous
  /// link. kRefused, and no effect, if it may not be repeated.
  std::optional<Status> on_call(LinkId carrier, const control::Hello& hello);
  /// Result of an answer on a link that was being opened.
  struct Ended {
    LinkId session = 0;
    Status why;
  };
  std::optional<Ended> on_answer(LinkId attempt, wire::HeaderView bytes, const Buffer& payload);

  /// Opens the links that are due.
  void connect();
  /// Sessions that have timed out.
  std::vector<PartedSessions::Lost> lost();
  Time next_due() const { return parted_.next_due(); }

 private:
  void call_again(LinkId id, LinkState& link, LinkId carrier);
  void take_from(LinkId carrier, LinkId id, const LinkState& link);
  Status check(const LinkState* link, NodeId node, const control::Resume& claim) const;
  Status take(LinkId session, LinkState& link, LinkId attempt, wire::HeaderView bytes,
              const Buffer& payload);
  void carry_on(LinkId session, LinkState& link, LinkId carrier);
  void note_progress(LinkId id);
  Duration patience_for(const LinkState& link, bool silent) const;

  Sender::Parts parts_;
  Sender& sender_;
  PartedSessions parted_;
  Time next_look_ = {};
  std::map<NodeId, bool> news_;
};

}  // namespace stretto
