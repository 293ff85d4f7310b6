// SPDX-License-Identifier: Apache-2.0
// Which workers contribute, which are admitted, and what is published.
#include "scheduler/membership/view_changes.h"

#include <algorithm>

namespace stretto {

void keep_those_there(std::set<NodeId>& nodes, const View& view) {
  std::erase_if(nodes, [&view](NodeId node) { return !is_there(view.find(node)); });
}

std::uint64_t in_without(const View& view, const Member& worker) {
  return static_cast<std::uint64_t>(std::ranges::count_if(view.members, [&](const auto& item) {
    const Member& other = item.second;
    return other.role == Role::kWorker && is_in(&other) && other.node != worker.node;
  }));
}

bool Spares::may_lose(const Member& member) const {
  if (member.role == Role::kServer) return places.may_lose(member, next);
  const bool enough = in_without(next, member) + finished >= least_workers(config);
  return elastic && (enough || member.joining);
}

const Member* lost_by(const FaultReports::Fault& fault, const FaultReports& others,
                      const Spares& spares) {
  const NodeId likelier = fault.likelier();
  const bool reported_by_it = likelier == fault.report.reporter;
  const Member& one = *spares.next.find(likelier);
  const Member& other =
      *spares.next.find(reported_by_it ? fault.report.subject : fault.report.reporter);
  if (likelier == fault.silent && spares.places.may_return(one)) return &one;
  const bool may_lose_one = spares.may_lose(one);
  if (may_lose_one != spares.may_lose(other)) return may_lose_one ? &one : &other;
  if (!may_lose_one) {  // The job ends: too few workers of an elastic job are left.
    for (const Member* member : {&one, &other}) {
      if (spares.elastic && member->role == Role::kWorker) return member;
    }
    return nullptr;
  }
  if (one.standby == other.standby) return &one;
  const Member& standby = one.standby ? one : other;
  const Member& needed = one.standby ? other : one;
  if (needed.joining) return &needed;  // No member needs it yet.
  const auto has_place = [&spares](NodeId node) {
    const Member* member = spares.next.find(node);
    return is_there(member) && !member->standby;
  };
  const bool may_be_cause = needed.role == Role::kServer ||
                            std::ranges::any_of(others.far_ends_of(needed.node), has_place);
  return may_be_cause && (fault.silent != 0 || fault.common != 0) ? &one : &standby;
}

void end_contribution(View& next, NodeId node, std::uint64_t round) {
  View::Contributors& now = next.contributors;
  if (now.nodes.erase(node) == 0) return;
  for (const auto& [id, member] : next.members) {
    if (!now.nodes.empty()) break;
    if (member.role == Role::kWorker && !member.joining && id != node) now.nodes.insert(id);
  }
  if (now.nodes.empty() && next.find(node) != nullptr) now.nodes.insert(node);
  now.from_round = std::max(now.from_round, round);
}

std::vector<NodeId> joining_in(const View& next) {
  std::map<Rank, NodeId> joining;
  for (const auto& [node, member] : next.members) {
    if (member.joining) joining[member.rank] = node;
  }
  std::vector<NodeId> nodes;
  for (const auto& [rank, node] : joining) nodes.push_back(node);
  return nodes;
}

bool let_in(StepAdmission& entrance, View& next, std::set<NodeId>& changed) {
  const std::optional<StepAdmission::Decision> made =
      entrance.decide(next.contributors.nodes, joining_in(next));
  if (!made) return false;
  next.question = made->question;
  next.step = std::max(next.step, made->step);
  for (const NodeId node : made->newcomers) {
    Member& member = next.members.at(node);
    member.joining = false;
    member.from_step = next.step;
    next.contributors.nodes.insert(node);
    changed.insert(node);
  }
  return true;
}

Publish news_of(const View& before, const View& after, const std::set<NodeId>& changed,
                const std::map<NodeId, std::string>& lost) {
  Publish order{.since = before.epoch};
  for (const NodeId node : changed) {
    const auto loss = lost.find(node);
    const bool is_lost = loss != lost.end();
    if (const Member* member = after.find(node); member != nullptr) {
      if (before.epoch != 0 && before.find(node) == nullptr) order.fresh.push_back(node);
      order.changed.push_back(*member);
    } else if (const Member* was = before.find(node); was != nullptr) {  // Else it came and went.
      order.changed.push_back(*was);
      order.changed.back().left = true;
      if (is_lost) order.changed.back().lost = true;
    } else {
      continue;
    }
    if (is_lost) order.lost.push_back({.node = node, .cause = loss->second});
  }
  return order;
}

}  // namespace stretto
