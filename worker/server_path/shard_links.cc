// SPDX-License-Identifier: Apache-2.0
// Connections, answers, successors, and timeouts.
#include "worker/server_path/shard_links.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "common/clock.h"
#include "common/network/address.h"

namespace stretto {
namespace {

constexpr Duration kShardPatience = 10s;
constexpr std::uint32_t kMostCalls = 3;  // To a successor that has not answered.

// True if another shard has its place in this roster already.
bool has_successor(const Member& gone, const Roster& roster) {
  return std::ranges::any_of(roster.members, [&gone](const Member& other) {
    return other.role == Role::kServer && !other.left && !other.standby &&
           other.rank == gone.rank && other.shard == gone.shard;
  });
}

}  // namespace

Status ShardLinks::connect(const Roster& roster, const control::Hello& hello, Time now) {
  STRETTO_CHECK(!called());
  for (const Member& member : roster.members) {
    if (member.role != Role::kServer || member.standby) continue;
    const bool known = std::ranges::any_of(places_, [&member](const Place& place) {
      return place.member.rank == member.rank && place.member.shard == member.shard;
    });
    const bool awaited = roster.servers_return() && !has_successor(member, roster);
    if (member.left && (known || !awaited)) continue;
    if (member.left) {  // Before this worker connected: a successor is expected.
      by_node_[member.node] = places_.size();
      places_.push_back({.member = member, .lost = true, .deadline = now + 2 * kShardPatience});
      continue;
    }
    Result<LinkId> link = van_.links().connect(member.address, hello);
    if (!link.ok()) return std::move(link.status()).with_peer(member.describe());
    by_node_[member.node] = places_.size();
    places_.push_back({.member = member, .link = *link, .deadline = now + kShardPatience});
  }
  called_ = roster.servers == 0 || !places_.empty();
  standbys_.follow(roster, hello, now);
  if (called_) return {};
  return Status(Code::kMalformed, "the scheduler's roster names no server")
      .with_peer("scheduler")
      .with_operation("join");
}

Status ShardLinks::follow(const Roster& roster, const control::Hello& hello, Time now) {
  for (const Member& member : roster.members) {
    if (member.role != Role::kServer) continue;
    if (member.left) part_with(member, now);
  }
  for (const Member& member : roster.members) {
    if (member.role != Role::kServer || member.left || member.standby) continue;
    if (by_node_.contains(member.node)) continue;
    const auto place = std::ranges::find_if(places_, [&member](const Place& one) {
      return one.lost && one.member.rank == member.rank && one.member.shard == member.shard;
    });
    if (place == places_.end()) continue;
    if (Status status = call(*place, member, hello, now); !status.ok()) return status;
  }
  standbys_.follow(roster, hello, now);
  return {};
}

// The shard may have been lost before it answered.
void ShardLinks::part_with(const Member& lost, Time now) {
  const auto known = by_node_.find(lost.node);
  if (known == by_node_.end()) return;
  Place& place = places_[known->second];
  const bool is_next = place.next && place.next->node == lost.node;
  if (!is_next && (place.lost || place.member.node != lost.node)) return;
  const LinkId link = is_next ? std::exchange(place.next_link, 0) : place.link;
  if (is_next) place.next.reset();
  place.lost = true;
  place.deadline = place.welcomed ? Time::max() : now + 2 * kShardPatience;
  van_.links().close(link);  // Unsent frames go again to its successor.
}

Status ShardLinks::call(Place& place, const Member& successor, const control::Hello& hello,
                        Time now) {
  const std::optional<LinkId> there = standbys_.promote(successor.node);
  Result<LinkId> link = there ? *there : van_.links().connect(successor.address, hello);
  if (!link.ok()) return std::move(link.status()).with_peer(successor.describe());
  by_node_[successor.node] = static_cast<std::size_t>(&place - places_.data());
  place.next = successor;
  place.next_link = *link;
  place.calls = 1;
  place.deadline = now + kShardPatience;
  return {};
}

bool ShardLinks::call_again(LinkId link, const control::Hello& hello, Time now) {
  const auto place = std::ranges::find_if(places_, [link](const Place& one) {
    return one.next && one.next_link == link && one.calls < kMostCalls;
  });
  if (place == places_.end() || now >= place->deadline) return false;
  const std::uint32_t calls = place->calls;
  const Time deadline = place->deadline;
  const bool called = call(*place, Member(*place->next), hello, now).ok();
  place->calls = calls + 1;
  place->deadline = deadline;
  return called;
}

std::optional<ShardLinks::Moved> ShardLinks::welcome(LinkId link) {
  for (Place& place : places_) {
    const bool is_next = place.next && place.next_link == link;
    if (!is_next && (place.link != link || place.lost)) continue;
    if (!std::exchange(place.welcomed, true)) ++welcomed_;
    place.deadline = Time::max();
    if (!is_next) {
      van_.links().admit(link, place.member.node);
      return std::nullopt;
    }
    van_.links().admit(link, place.next->node);
    const Moved moved{.from = place.link, .to = link};
    place.member = *std::exchange(place.next, std::nullopt);
    place.link = std::exchange(place.next_link, 0);
    place.lost = false;
    return moved.from == 0 ? std::nullopt : std::optional(moved);
  }
  return std::nullopt;
}

Time ShardLinks::next_due() const {
  Time due = Time::max();
  for (const Place& place : places_) due = std::min(due, place.deadline);
  return std::min(due, standbys_.next_due());
}

Status ShardLinks::silence(Time now, bool excused) {
  for (Place& place : places_) {
    const bool waits = excused && place.deadline != Time::max();
    const Time anew = now + (place.lost ? 2 : 1) * kShardPatience;
    if (waits) place.deadline = std::max(place.deadline, anew);
    if (now < place.deadline) continue;
    const Member& member = place.next ? *place.next : place.member;
    return Status(Code::kServerLost,
                  fmt::format(
                      "{} at {} did not answer within {} s: this host cannot reach it, or it "
                      "may open no more files, which its log says then",
                      member.describe(), host_port_of(member.address), seconds(kShardPatience)))
        .with_peer(member.describe())
        .with_operation("join");
  }
  return {};
}

const Member* ShardLinks::find(LinkId link) const {
  for (const Place& place : places_) {
    if (place.link == link) return &place.member;
    if (place.next && place.next_link == link) return &*place.next;
  }
  return nullptr;
}

LinkId ShardLinks::link_to(NodeId node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? 0 : places_[found->second].link;
}

void ShardLinks::tell_all(const control::Message& message) {
  for (const Place& place : places_) {
    if (!place.lost) van_.send_control(place.link, message);
  }
}

}  // namespace stretto
