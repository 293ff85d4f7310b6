// SPDX-License-Identifier: Apache-2.0
// Connections among workers, their answers, and timeouts.
#include "worker/peers/peer_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/network/address.h"
#include "van/control/handshake.h"

namespace stretto {
namespace {

constexpr Duration kPeerPatience = 10s;
constexpr std::size_t kMaxCallers = 4096;

// Both ends know the number of links from the roster. Processes of one machine gain more from
// shared memory.
std::uint32_t links_wanted(const Roster& roster, NodeId self, const Member& member) {
  const Member* own = roster.find(self);
  const bool together = own != nullptr && own->machine != 0 && own->machine == member.machine;
  return together ? 1 : roster.settings.worker_links;
}

template <typename Peers, typename Is>
bool all_open(const Peers& peers, const Is& is) {
  return std::ranges::all_of(peers, [&](const auto& each) {
    return !each.second.open || std::ranges::all_of(each.second.links, is);
  });
}

}  // namespace

Status PeerLinks::want(const Roster& roster, NodeId self, const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) {
    const Member* member = roster.find(node);
    if (node == self || member == nullptr) continue;
    if (member->left) {
      return Status(Code::kPeerLost, fmt::format("{} has left the job", member->describe()))
          .with_peer(member->describe());
    }
    if (member->address.empty()) {
      return {Code::kUnsupported,
              fmt::format("exchange among workers wants links between all of them, and {} cannot "
                          "be called: it said at its start why it does not listen, or the job has "
                          "more than {} workers; use exchange servers",
                          member->describe(), kMostCalledWorkers)};
    }
  }
  self_ = self;
  for (const NodeId node : nodes) calls_due_ |= node != self && wanted_.insert(node).second;
  return {};
}

void PeerLinks::follow(const Roster& roster, NodeId self,
                       const std::function<control::Hello()>& introduce, Time now) {
  for (const Caller& caller : std::exchange(callers_, {})) answer(caller, roster, self);
  if (std::exchange(followed_, roster.epoch) != roster.epoch) part_with_lost(roster);
  if (!std::exchange(calls_due_, false)) return;
  for (const NodeId node : wanted_) {
    const Member* member = roster.find(node);
    if (member == nullptr || member->node > self_ || member->left) continue;
    Peer& peer = peers_[member->node];
    if (!peer.links.empty() || !failed_.ok()) continue;
    peer.member = *member;
    call(peer, introduce(), links_wanted(roster, self, *member), now);
  }
}

// Answers of lost workers are not awaited any more, and frames for them are dropped with their
// links. An expelled worker that still runs is told by others.
void PeerLinks::part_with_lost(const Roster& roster) {
  if (!roster.settings.elastic()) return;
  for (auto& [node, peer] : peers_) {
    const Member* member = roster.find(node);
    if (member == nullptr || !member->left || peer.links.empty()) continue;
    if (peer.open && !member->lost) continue;  // It ends the links itself.
    peer.leaves = true;
    close(peer);
  }
}

void PeerLinks::call(Peer& peer, const control::Hello& hello, std::uint32_t links, Time now) {
  peer.admitted = 0;
  peer.deadline = now + kPeerPatience;
  ++unanswered_;
  control::Hello said = hello;
  said.shards = links;
  for (said.shard = 0; said.shard < links; ++said.shard) {
    Result<LinkId> link = van_.links().connect(peer.member.address, said);
    if (!link.ok()) {
      failed_ = std::move(link.status()).with_peer(peer.member.describe());
      return close(peer);
    }
    peer.links.push_back(*link);
    links_[*link] = peer.member.node;
  }
}

const Member* PeerLinks::on_control(LinkId link, const control::Message& message) {
  const Member* peer = find(link);
  if (const auto* hello = std::get_if<control::Hello>(&message)) {
    Status status = callers_.size() < kMaxCallers
                        ? check_greeting(*hello, token_)
                        : Status(Code::kResource, "too many callers wait for the job to begin");
    if (status.ok()) callers_.push_back({link, *hello});
    if (!status.ok()) van_.links().refuse(link, status);
  } else if (peer == nullptr) {
    van_.links().refuse(link, {Code::kRefused, "this worker knows nobody at this link"});
  } else if (control::is<control::Welcome>(message)) {
    if (!van_.links().is_open(link)) admit(*at(link), link);
  } else {
    return peer;
  }
  return nullptr;
}

void PeerLinks::answer(const Caller& caller, const Roster& roster, NodeId self) {
  const Member* member = roster.find(caller.hello.node);
  if (member == nullptr && roster.settings.elastic() && caller.hello.node > roster.newest()) {
    callers_.push_back(caller);  // Workers may connect before the roster names them.
    return;
  }
  const auto refuse = [&](std::string_view why) {
    van_.links().refuse(
        caller.link, {Code::kRefused,
                      fmt::format("{} says it is worker {} (identity {}), which {}",
                                  caller.hello.host, caller.hello.rank, caller.hello.node, why)});
  };
  if (member == nullptr || member->role != Role::kWorker || member->left) {
    return refuse("is no worker of this job");
  }
  const std::uint32_t links = links_wanted(roster, self, *member);
  if (caller.hello.shards != links || caller.hello.shard >= links) {
    return refuse(fmt::format("has {} links to this worker, of which there are {}",
                              caller.hello.shards, links));
  }
  Peer& peer = peers_[member->node];
  peer.links.resize(links);
  LinkId& place = peer.links[caller.hello.shard];
  if (place != 0) return refuse("is connected already");
  peer.member = *member;
  place = caller.link;
  links_[caller.link] = member->node;
  van_.send_control(caller.link, control::Welcome{.node = member->node,
                                                  .rank = member->rank,
                                                  .padding = van_.links().path_proof(caller.link)});
  admit(peer, caller.link);
}

void PeerLinks::admit(Peer& peer, LinkId link) {
  van_.links().admit(link, peer.member.node);
  if (++peer.admitted < peer.links.size()) return;
  peer.open = true;
  settle(peer);
  if (opened_) opened_(peer.member.node);
}

void PeerLinks::settle(Peer& peer) {
  if (std::exchange(peer.deadline, Time::max()) != Time::max()) --unanswered_;
}

PeerLinks::Peer* PeerLinks::at(LinkId link) {
  const auto known = links_.find(link);
  return known == links_.end() ? nullptr : &peers_.at(known->second);
}

Status PeerLinks::silence(Time now, bool excused) {
  if (!failed_.ok() || unanswered_ == 0) return failed_;
  for (auto& [node, peer] : peers_) {
    const bool waits = peer.deadline != Time::max();
    if (excused && waits) peer.deadline = std::max(peer.deadline, now + kPeerPatience);
    if (now < peer.deadline) continue;
    const std::string who = peer.member.describe();
    return Status(Code::kPeerLost, fmt::format("{} at {} did not answer; can this host reach it?",
                                               who, host_port_of(peer.member.address)))
        .with_peer(who);
  }
  return {};
}

Time PeerLinks::next_due() const {
  Time due = failed_.ok() && !calls_due_ ? Time::max() : Time();
  if (unanswered_ == 0) return due;
  for (const auto& [node, peer] : peers_) due = std::min(due, peer.deadline);
  return due;
}

void PeerLinks::note_leaving(LinkId link) {
  Peer* peer = at(link);
  if (peer == nullptr) return;
  peer->leaves = true;
  for (const LinkId each : peer->links) {
    van_.links().await(each, Return::kNone);  // It ends the links itself.
  }
}

const Member* PeerLinks::lose(LinkId link) {
  std::erase_if(callers_, [link](const Caller& caller) { return caller.link == link; });
  Peer* peer = at(link);
  if (peer == nullptr) return nullptr;
  if (peer->leaves) {  // It ends its other links itself: their frames are still wanted.
    links_.erase(link);
    std::erase_if(peer->links, [link](LinkId each) { return each == link || each == 0; });
    if (!peer->links.empty()) return nullptr;
  }
  ++lost_;
  close(*peer, link);
  if (std::exchange(peer->leaves, true)) return nullptr;
  return &peer->member;
}

void PeerLinks::close(Peer& peer, LinkId ended) {
  for (const LinkId link : std::exchange(peer.links, {})) {
    links_.erase(link);
    if (link != 0 && link != ended) van_.links().close(link);
  }
  peer.open = false;
  peer.admitted = 0;
  settle(peer);
}

const Member* PeerLinks::find(LinkId link) const {
  const auto known = links_.find(link);
  return known == links_.end() ? nullptr : &peers_.at(known->second).member;
}

LinkId PeerLinks::link_to(NodeId node, std::uint32_t part) const {
  const auto known = peers_.find(node);
  if (known == peers_.end() || !known->second.open) return 0;
  const std::vector<LinkId>& links = known->second.links;
  return links[part % links.size()];
}

std::vector<LinkId> PeerLinks::links_to(NodeId node) const {
  const auto known = peers_.find(node);
  return known == peers_.end() || !known->second.open ? std::vector<LinkId>() : known->second.links;
}

bool PeerLinks::have_sent_all() const {
  return all_open(peers_, [this](LinkId link) { return van_.queue().waiting(link) == 0; });
}

bool PeerLinks::have_heard_all() const {
  return unanswered_ == 0 &&
         all_open(peers_, [this](LinkId link) { return van_.links().has_heard_all(link); });
}

void PeerLinks::tell(LinkId link, const control::Message& message) {
  if (link != 0) van_.send_control(link, message);
}

void PeerLinks::tell(const std::vector<NodeId>& nodes, const control::Message& message) {
  for (const NodeId node : nodes) tell(link_to(node), message);
}

void PeerLinks::tell_all(const control::Message& message) {
  for (const auto& [node, peer] : peers_) {
    if (peer.open) van_.send_control(peer.links.front(), message);
  }
}

}  // namespace stretto
