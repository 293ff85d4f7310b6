// SPDX-License-Identifier: Apache-2.0
// Connects to standbys before their links are needed.
#include "worker/server_path/standby_links.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {
namespace {

constexpr Duration kPatience = 10s;           // For an answer, at least.
constexpr Duration kStoodStill = 1s;          // To read what has arrived meanwhile.
constexpr std::size_t kMostSaid = 64 * 1024;  // From a standby whose promotion is not known here.

const Member* find(const Roster& roster, NodeId node) {
  const Member* member = roster.find(node);
  return member == nullptr || member->left ? nullptr : member;
}

}  // namespace

void StandbyLinks::follow(const Roster& roster, const control::Hello& hello, Time now) {
  for (auto next = standbys_.begin(); next != standbys_.end();) {
    if (find(roster, next->first) != nullptr) {
      ++next;
      continue;
    }
    if (next->second.link != 0) van_.links().close(next->second.link);
    next = standbys_.erase(next);
  }
  // A standby that was suspended for that long is lost before.
  patience_ = std::max<Duration>(kPatience, 2 * roster.settings.dead_after);
  for (const Member& member : roster.members) {
    const bool stands_by = member.role == Role::kServer && member.standby && !member.left;
    if (stands_by && !standbys_.contains(member.node)) call(member, hello, now);
  }
}

void StandbyLinks::call(const Member& member, const control::Hello& hello, Time now) {
  Standby& standby = standbys_[member.node];
  standby.member = member;
  const Result<LinkId> link = van_.links().connect(member.address, hello);
  if (!link.ok()) return miss(standby, link.status());
  standby.link = *link;
  standby.deadline = now + patience_;
}

std::optional<LinkId> StandbyLinks::promote(NodeId node) {
  const auto found = standbys_.find(node);
  if (found == standbys_.end()) return std::nullopt;
  const Standby standby = std::move(found->second);
  standbys_.erase(found);
  std::erase_if(missed_, [node](const Unreachable& missed) { return missed.member.node == node; });
  if (standby.link == 0) return std::nullopt;  // ShardLinks connects again.
  for (const control::Message& message : standby.said) said_.emplace_back(standby.link, message);
  if (standby.refusal) said_.emplace_back(standby.link, *standby.refusal);
  return standby.link;
}

StandbyLinks::Standby* StandbyLinks::at(LinkId link) {
  const auto found = std::ranges::find_if(
      standbys_, [link](const auto& known) { return known.second.link == link; });
  return link == 0 || found == standbys_.end() ? nullptr : &found->second;
}

bool StandbyLinks::holds(LinkId link, const control::Message& message) {
  Standby* standby = at(link);
  if (standby == nullptr) return false;
  const auto* fault = std::get_if<control::Fault>(&message);
  const auto* welcome = std::get_if<control::Welcome>(&message);
  if (fault != nullptr && fault->tensor == 0) {
    standby->refusal = *fault;  // The link ends next.
    return true;
  }
  if (welcome != nullptr) {
    standby->deadline = Time::max();
    van_.links().admit(link, standby->member.node);
    if (welcome->stands_by) return true;
  }
  if (standby->said.size() >= kMostSaid) {
    van_.links().refuse(link, {Code::kResource, "too much is said by a server that stands by"});
  } else {  // It serves, and this worker need not know that yet.
    standby->said.push_back(message);
  }
  return true;
}

bool StandbyLinks::lose(LinkId link, const Status& why) {
  Standby* standby = at(link);
  if (standby == nullptr) return false;
  miss(*standby, standby->refusal ? standby->refusal->why : why);
  return true;
}

void StandbyLinks::miss(Standby& standby, Status why) {
  standby.link = 0;
  standby.deadline = Time::max();
  standby.said.clear();
  missed_.push_back({standby.member, std::move(why)});
}

std::vector<StandbyLinks::Unreachable> StandbyLinks::take_missed(Time now, bool excused) {
  for (auto& [node, standby] : standbys_) {
    if (now < standby.deadline) continue;
    if (excused || !std::exchange(standby.late, true)) {
      standby.deadline = now + (excused ? patience_ : kStoodStill);
      continue;
    }
    van_.links().close(standby.link);
    miss(standby, {Code::kLinkBroken,
                   fmt::format("it did not answer within {} s", seconds(patience_ + kStoodStill))});
  }
  return std::exchange(missed_, {});
}

bool StandbyLinks::settled() const {
  return std::ranges::all_of(
      standbys_, [](const auto& known) { return known.second.deadline == Time::max(); });
}

void StandbyLinks::tell_all(const control::Message& message) {
  for (const auto& [node, standby] : standbys_) {
    if (standby.link != 0) van_.send_control(standby.link, message);
  }
}

Time StandbyLinks::next_due() const {
  Time due = missed_.empty() ? Time::max() : Time();
  for (const auto& [node, standby] : standbys_) due = std::min(due, standby.deadline);
  return due;
}

}  // namespace stretto
