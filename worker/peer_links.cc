// SPDX-License-Identifier: Apache-2.0
// Calls among workers, answers, and who does not answer.
#include "worker/peer_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/address.h"
#include "van/greeting.h"

namespace stretto {
namespace {

constexpr Duration kPeerPatience = 10s;
constexpr std::size_t kMaxCallers = 4096;

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

void PeerLinks::follow(const Roster& roster, const control::Hello& hello, Time now) {
  for (const Caller& caller : std::exchange(callers_, {})) answer(caller, roster);
  if (std::exchange(followed_, roster.epoch) != roster.epoch) part_with_lost(roster);
  if (!std::exchange(calls_due_, false)) return;
  for (const NodeId node : wanted_) {
    const Member* member = roster.find(node);
    if (member == nullptr || member->node > self_ || member->left) continue;
    Peer& peer = peers_[member->node];
    if (peer.link != 0 || !failed_.ok()) continue;
    peer.member = *member;
    call(peer, hello, now);
  }
}

// Nobody waits for their answers any more, and what waits to be sent to them goes with their links,
// so that nobody waits for that either. One that still lives hears from others what it is.
void PeerLinks::part_with_lost(const Roster& roster) {
  if (!roster.settings.elastic()) return;
  for (auto& [node, peer] : peers_) {
    const Member* member = roster.find(node);
    if (member == nullptr || !member->left || peer.link == 0) continue;
    if (peer.open && !member->lost) continue;  // It ends the link itself.
    const LinkId link = std::exchange(peer.link, 0);
    links_.erase(link);
    settle(peer);
    peer.leaves = true;
    peer.open = false;
    van_.links().close(link);
  }
}

void PeerLinks::call(Peer& peer, const control::Hello& hello, Time now) {
  Result<LinkId> link = van_.links().connect(peer.member.address, hello);
  if (!link.ok()) {
    failed_ = std::move(link.status()).with_peer(peer.member.describe());
    return;
  }
  peer.link = *link;
  peer.deadline = now + kPeerPatience;
  ++unanswered_;
  links_[*link] = peer.member.node;
}

const Member* PeerLinks::on_control(LinkId link, const control::Message& message) {
  const Member* peer = find(link);
  if (const auto* hello = std::get_if<control::Hello>(&message)) {
    greet(link, *hello);
  } else if (peer == nullptr) {
    van_.links().refuse(link, {Code::kRefused, "this worker knows nobody at this link"});
  } else if (control::is<control::Welcome>(message)) {
    welcome(link);
  } else {
    return peer;
  }
  return nullptr;
}

void PeerLinks::greet(LinkId link, const control::Hello& hello) {
  if (callers_.size() >= kMaxCallers) {
    van_.links().refuse(link, {Code::kResource, "too many callers wait for the job to begin"});
  } else if (Status status = check_greeting(hello, token_); !status.ok()) {
    van_.links().refuse(link, status);
  } else {
    callers_.push_back({link, hello});
  }
}

void PeerLinks::answer(const Caller& caller, const Roster& roster) {
  const Member* member = roster.find(caller.hello.node);
  if (member == nullptr && roster.settings.elastic() && caller.hello.node > roster.newest()) {
    callers_.push_back(caller);  // Newcomers may be here before the roster that names them.
    return;
  }
  const auto refuse = [&](std::string_view why) {
    van_.links().refuse(caller.link,
                        {Code::kRefused, fmt::format("{} says it is node {}, which {}",
                                                     caller.hello.host, caller.hello.node, why)});
  };
  if (member == nullptr || member->role != Role::kWorker || member->left) {
    return refuse("is no worker of this job");
  }
  Peer& peer = peers_[member->node];
  if (peer.link != 0) return refuse("is connected already");
  peer.member = *member;
  peer.link = caller.link;
  links_[caller.link] = member->node;
  van_.links().admit(caller.link, member->node);
  van_.send_control(caller.link, control::Welcome{.node = member->node, .rank = member->rank});
  open(peer);
}

void PeerLinks::welcome(LinkId link) {
  Peer& peer = *at(link);
  if (peer.open) return;
  van_.links().admit(link, peer.member.node);
  open(peer);
}

void PeerLinks::open(Peer& peer) {
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

Status PeerLinks::silence(Time now) const {
  if (!failed_.ok() || unanswered_ == 0) return failed_;
  for (const auto& [node, peer] : peers_) {
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
  van_.links().await(link, Return::kNone);  // It ends the link itself.
}

const Member* PeerLinks::lose(LinkId link) {
  std::erase_if(callers_, [link](const Caller& caller) { return caller.link == link; });
  Peer* peer = at(link);
  if (peer == nullptr) return nullptr;
  links_.erase(link);
  ++lost_;
  peer->link = 0;
  peer->open = false;
  settle(*peer);
  if (std::exchange(peer->leaves, true)) return nullptr;
  return &peer->member;
}

const Member* PeerLinks::find(LinkId link) const {
  const auto known = links_.find(link);
  return known == links_.end() ? nullptr : &peers_.at(known->second).member;
}

LinkId PeerLinks::link_to(NodeId node) const {
  const auto known = peers_.find(node);
  return known == peers_.end() || !known->second.open ? 0 : known->second.link;
}

bool PeerLinks::have_sent_all() const {
  return std::ranges::all_of(peers_, [this](const auto& each) {
    return !each.second.open || van_.queue().waiting(each.second.link) == 0;
  });
}

bool PeerLinks::have_heard_all() const {
  return unanswered_ == 0 && std::ranges::all_of(peers_, [this](const auto& each) {
           return !each.second.open || van_.links().has_heard_all(each.second.link);
         });
}

void PeerLinks::tell(LinkId link, const control::Message& message) {
  if (link != 0) van_.send_control(link, message);
}

void PeerLinks::tell(const std::vector<NodeId>& nodes, const control::Message& message) {
  for (const NodeId node : nodes) tell(link_to(node), message);
}

void PeerLinks::tell_all(const control::Message& message) {
  for (const auto& [node, peer] : peers_) {
    if (peer.open) van_.send_control(peer.link, message);
  }
}

}  // namespace stretto
