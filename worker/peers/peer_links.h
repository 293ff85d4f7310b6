// SPDX-License-Identifier: Apache-2.0
// PeerLinks: this worker's links to other workers, opened when a tensor first needs them. Of two
// workers the one that joined later connects. Between machines there are JobSettings::worker_links
// of each pair, which open and end together. The first one carries control messages; the parts of
// tensors share all of them, each part always the same one.
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
  /// Called for each worker whose links have opened.
  using Opened = std::function<void(NodeId)>;

  /// Connecting workers must present `token`. The Van outlives this.
  PeerLinks(Van& van, std::string token) : van_(van), token_(std::move(token)) {}
  void set_opened(Opened opened) { opened_ = std::move(opened); }

  /// Requests links to these workers of the roster. kUnsupported, with its name, if one of them
  /// accepts no connections; kPeerLost if one has left.
  Status want(const Roster& roster, NodeId self, const std::vector<NodeId>& nodes);
  /// Connects to wanted peers, and answers connecting ones. Peers have some time to answer.
  /// `introduce`: this worker's hello, if it connects.
  void follow(const Roster& roster, NodeId self, const std::function<control::Hello()>& introduce,
              Time now);
  /// Why a peer cannot be reached, if its time to answer is over; else ok.
  /// `excused`: no scheduler runs that could report a loss, so the time starts again.
  Status silence(Time now, bool excused = false);
  Time next_due() const;

  /// A message over a link without another owner. Returns the worker that sent it; null for a
  /// hello, which follow() answers, or which is refused at once.
  const Member* on_control(LinkId link, const control::Message& message);
  /// The worker at this link's end will close it in order.
  void note_leaving(LinkId link);
  /// The link has ended. Returns its worker, unless that was leaving or is unknown.
  const Member* lose(LinkId link);
  /// The number of worker links that have ended.
  std::uint64_t lost() const { return lost_; }

  /// The worker of this link, or null.
  const Member* find(LinkId link) const;
  /// The link to this worker for this part; part 0 also carries control messages. 0 if the links
  /// are not open.
  LinkId link_to(NodeId node, std::uint32_t part = 0) const;
  /// All open links to this worker.
  std::vector<LinkId> links_to(NodeId node) const;
  /// True if no frame waits to be sent to peers: a leave would overtake values without bytes.
  bool have_sent_all() const;
  /// True if every peer that was connected to has answered, and peers with open links have
  /// acknowledged all frames.
  bool have_heard_all() const;
  /// Sends to those of these workers whose links are open.
  void tell(const std::vector<NodeId>& nodes, const control::Message& message);
  void tell(LinkId link, const control::Message& message);
  /// Sends to all workers whose links are open.
  void tell_all(const control::Message& message);

 private:
  struct Peer {
    Member member;
    std::vector<LinkId> links;  ///< All that are expected, or none; 0: not connected yet.
    std::size_t admitted = 0;   ///< The number of admitted ones.
    bool open = false;
    bool leaves = false;
    Time deadline = Time::max();  ///< For its answer.
  };
  struct Caller {
    LinkId link = 0;
    control::Hello hello;
  };

  void call(Peer& peer, const control::Hello& hello, std::uint32_t links, Time now);
  void answer(const Caller& caller, const Roster& roster, NodeId self);
  void admit(Peer& peer, LinkId link);
  void settle(Peer& peer);
  /// Closes all of its links but one that has ended.
  void close(Peer& peer, LinkId ended = 0);
  void part_with_lost(const Roster& roster);
  Peer* at(LinkId link);

  Van& van_;
  const std::string token_;
  Opened opened_;
  std::map<NodeId, Peer> peers_;
  std::map<LinkId, NodeId> links_;
  std::vector<Caller> callers_;
  NodeId self_ = 0;  // It connects to workers before it; 0: to none.
  bool calls_due_ = false;
  std::set<NodeId> wanted_;
  std::size_t unanswered_ = 0;
  std::uint64_t lost_ = 0;
  std::uint32_t followed_ = 0;  // The last roster's epoch.
  Status failed_;               // Of a connection attempt that could not begin.
};

}  // namespace stretto
