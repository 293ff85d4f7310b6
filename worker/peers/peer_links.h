// SPDX-License-Identifier: Apache-2.0
// PeerLinks: this worker's links to other workers, made when a tensor first wants them. Of two
// workers the one that came to the job later calls the other one. Between machines there are
// JobSettings::worker_links of each pair, which open and end together: over the first one goes what
// is said, and the parts of tensors share all of them, each part always over the same one.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "van/control/control.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class PeerLinks {
 public:
  /// Hears of each worker to which there is a link now.
  using Opened = std::function<void(NodeId)>;

  /// Callers are to have this token. The Van outlives this.
  PeerLinks(Van& van, std::string token) : van_(van), token_(std::move(token)) {}
  void set_opened(Opened opened) { opened_ = std::move(opened); }

  /// From now on links to these other workers of the roster are wanted. kUnsupported, with who it
  /// is, if one of them cannot be called; kPeerLost if one has left.
  Status want(const Roster& roster, NodeId self, const std::vector<NodeId>& nodes);
  /// Calls peers that are wanted and have not been called, and answers callers. Peers have some
  /// time to answer. `introduce`: this worker's hello, if it calls.
  void follow(const Roster& roster, NodeId self, const std::function<control::Hello()>& introduce,
              Time now);
  /// Why somebody cannot be reached, if the time to answer is over; else ok.
  /// `excused`: nobody is there now who would say that one of them is lost, so that they have their
  /// time anew.
  Status silence(Time now, bool excused = false);
  Time next_due() const;

  /// What comes over a link that is nobody else's. The worker whose word it is; null if it was a
  /// greeting: calls are answered by follow(), or refused at once.
  const Member* on_control(LinkId link, const control::Message& message);
  /// The worker at the end of this link will end it, in order.
  void note_leaving(LinkId link);
  /// The link has ended. The worker at its end, unless it was to leave or is not known.
  const Member* lose(LinkId link);
  /// So many links of workers have ended.
  std::uint64_t lost() const { return lost_; }

  /// The worker at the end of this link, or null.
  const Member* find(LinkId link) const;
  /// The link to this worker that such a part goes over, and of 0 all that is said; 0 if they are
  /// not open.
  LinkId link_to(NodeId node, std::uint32_t part = 0) const;
  /// All that are open.
  std::vector<LinkId> links_to(NodeId node) const;
  /// Nothing waits to be sent to them: what leaves goes ahead of values without bytes.
  bool have_sent_all() const;
  /// Who was called has answered, and those whose links are open have heard all that was said to
  /// them.
  bool have_heard_all() const;
  /// Of these, those whose links are open hear it.
  void tell(const std::vector<NodeId>& nodes, const control::Message& message);
  void tell(LinkId link, const control::Message& message);
  /// All whose links are open do.
  void tell_all(const control::Message& message);

 private:
  struct Peer {
    Member member;
    std::vector<LinkId> links;  ///< As many as there are to be, or none; 0: it has not come yet.
    std::size_t admitted = 0;   ///< So many of them are.
    bool open = false;
    bool leaves = false;
    Time deadline = Time::max();  ///< To answer.
  };
  struct Caller {
    LinkId link = 0;
    control::Hello hello;
  };

  void call(Peer& peer, const control::Hello& hello, std::uint32_t links, Time now);
  void answer(const Caller& caller, const Roster& roster, NodeId self);
  void admit(Peer& peer, LinkId link);
  void settle(Peer& peer);
  /// Closes all of them but one that has ended.
  void close(Peer& peer, LinkId ended = 0);
  void part_with_lost(const Roster& roster);
  Peer* at(LinkId link);

  Van& van_;
  const std::string token_;
  Opened opened_;
  std::map<NodeId, Peer> peers_;
  std::map<LinkId, NodeId> links_;
  std::vector<Caller> callers_;
  NodeId self_ = 0;  // Whose calls go to those before it; 0: nobody is to be called.
  bool calls_due_ = false;
  std::set<NodeId> wanted_;
  std::size_t unanswered_ = 0;
  std::uint64_t lost_ = 0;
  std::uint32_t followed_ = 0;  // The last roster's epoch.
  Status failed_;               // A call that could not be begun.
};

}  // namespace stretto
