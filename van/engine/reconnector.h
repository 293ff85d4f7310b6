// SPDX-License-Identifier: Apache-2.0
// Reconnector: gives a session whose link has broken another one. Whoever made the first link makes
// the next, and proves over it who it is, as in a hello: by the job's token, its identity, which is
// of one life of one process, and the name that the two gave their session. Each end says how many
// frames it has, and the session goes on where the other's knowledge ends (van/session/session.h).
// Where the hello had no answer yet, the hello itself comes again.
//
// A link that a session had before is fenced: nothing that comes over it counts.
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
  /// From now on, where there is patience at all.
  void set_limits(const ReconnectTimeouts& limits) { parted_.set_limits(limits); }
  /// Who we are: nodes try again at moments of their own.
  void set_node(NodeId node) { parted_.set_spread(node); }
  /// The name for a session with whom we have just connected to; 0: it shall end with its link.
  std::uint64_t new_name(LinkId link) const;
  /// What is hoped for from now on, also by a session that waits.
  void await(LinkId id, LinkState& link, Return what);

  /// A link has broken. False if its session ends with it.
  bool part(LinkId id, LinkState& link, const Status& why);
  /// Notes which sessions' frames have been answered: now and then, in the turns that there are.
  void look_at_answers();
  /// Of sessions that go on: whose links have ended, and have not only fallen silent (true), and
  /// whose have been made anew (false). Since the last call; nobody need call it.
  std::map<NodeId, bool> take_news() { return std::exchange(news_, {}); }
  /// Something has come in a session. What counts is that what was sent arrives: over a path that
  /// loses large packets small ones come for ever.
  void progressed(LinkId id) {
    if (!parted_.empty()) note_progress(id);
  }
  /// A session ends.
  void forget(LinkId id);

  /// A link that carries no session broke: one that was being made.
  void on_broken(LinkId attempt, const Status& why) {
    parted_.failed(attempt, why.code() == Code::kRefused, parts_.clock.now());
  }
  /// A far end wants to take a session over with a link of its own. kRefused if it may not: then
  /// nothing has happened.
  Status on_resume(LinkId carrier, NodeId node, const control::Resume& claim);
  /// A hello that has come before, if it has: who said it has had no answer over the link before.
  /// kRefused if it may not come again: then nothing has happened.
  std::optional<Status> on_call(LinkId carrier, const control::Hello& hello);
  /// A frame on a link that carries no session: an answer on one that was being made.
  struct Ended {
    LinkId session = 0;
    Status why;
  };
  std::optional<Ended> on_answer(LinkId attempt, wire::HeaderView bytes, const Buffer& payload);

  /// Makes the links that are due.
  void connect();
  /// Sessions that have waited long enough.
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
