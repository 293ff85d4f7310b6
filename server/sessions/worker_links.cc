// SPDX-License-Identifier: Apache-2.0
// The handshake with a worker: hello, then welcome or a rejection with the reason.
#include "server/sessions/worker_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "van/control/handshake.h"

namespace stretto {
namespace {

constexpr std::size_t kMaxCallers = 4096;

bool is_newcomer(const Member& member) {
  return member.role == Role::kWorker && (member.joining || member.from_step > 0);
}

Status is_lost(const Member* member) {
  const std::string who = member == nullptr ? "this worker" : member->describe();
  return Status(Code::kPeerLost, fmt::format("{} is lost to the job", who)).with_peer(who);
}

}  // namespace

ContributorGroup WorkerLinks::workers_of(const Roster& roster) const {
  std::vector<Contributor> workers;
  for (const Member& member : roster.members) {
    if (member.role != Role::kWorker || (roster.settings.elastic() && member.left)) continue;
    if (is_newcomer(member) && !taken_in_.contains(member.node)) continue;
    workers.push_back({member.node, member.number()});
  }
  return make_group(std::move(workers));
}

// The report may precede the roster with the decision: a worker joins only once it has a link to
// every shard, and so is known here.
bool WorkerLinks::take_in(LinkId teller, const control::TakeIn& said, const Roster& roster) {
  const Worker* worker = find(teller);
  if (worker == nullptr) return false;
  const bool says_itself =
      roster.settings.servers_replaced() && std::ranges::count(said.nodes, worker->node) != 0;
  if (!says_itself && !group_->contains(worker->node)) return false;
  bool is_news = false;
  for (const NodeId node : said.nodes) {
    const Member* member = roster.find(node);
    if (member == nullptr || !is_newcomer(*member) || member->left) continue;
    is_news = taken_in_.insert(node).second || is_news;
    const bool is_here = link_of(node) != 0;
    if (told_in_.try_emplace(node, said).second && is_here) van_.send_control(link_of(node), said);
  }
  if (is_news) group_ = workers_of(roster);
  return is_news;
}

void WorkerLinks::take_over(const std::set<NodeId>& makers, const Roster& roster) {
  taken_in_.insert(makers.begin(), makers.end());
  group_ = workers_of(roster);
}

void WorkerLinks::greet(LinkId link, const control::Hello& hello) {
  if (callers_.size() >= kMaxCallers) {
    van_.links().refuse(link, {Code::kResource, "too many callers wait for the job to begin"});
  } else if (Status status = check_greeting(hello, config_.token); !status.ok()) {
    van_.links().refuse(link, status);
  } else {
    callers_.push_back({link, hello});  // Answered once there is a roster.
  }
}

WorkerLinks::Departures WorkerLinks::follow(const Roster& roster, bool serves) {
  if (group_ == nullptr) group_ = workers_of(roster);
  if (serves && !heard_.empty()) let_in_heard(roster);
  for (const Caller& caller : std::exchange(callers_, {})) answer(caller, roster, serves);
  if (roster.epoch == followed_epoch_) return {};
  followed_epoch_ = roster.epoch;
  Departures gone;
  for (const Member& member : roster.members) {
    if (member.role != Role::kWorker || !member.left || !told_left_.insert(member.node).second) {
      continue;
    }
    left_.insert(member.node);
    if (member.lost) {
      gone.lost.insert(member.node);
      part_with(member);
    } else {
      gone.left.push_back(member.node);
    }
  }
  if (roster.settings.elastic() && !gone.empty()) group_ = workers_of(roster);
  return gone;
}

// An expelled worker that still runs is notified that the job continues without it.
void WorkerLinks::part_with(const Member& lost) {
  const auto heard = heard_.find(lost.node);
  const LinkId link = heard == heard_.end() ? link_of(lost.node) : heard->second;
  if (link == 0) return;
  lose(link);
  van_.links().refuse(link, is_lost(&lost));
}

void WorkerLinks::answer(const Caller& caller, const Roster& roster, bool serves) {
  const Member* member = roster.find(caller.hello.node);
  if (member == nullptr && roster.settings.elastic() && caller.hello.node > roster.newest()) {
    callers_.push_back(caller);  // It may come before the roster that names it.
    return;
  }
  if (member == nullptr || member->role != Role::kWorker || member->left) {
    van_.links().refuse(
        caller.link,
        {Code::kRefused, fmt::format("{} says it is worker {} (identity {}), which is no worker "
                                     "of this job",
                                     caller.hello.host, caller.hello.rank, caller.hello.node)});
    return;
  }
  if (!serves) return hear(*member, caller.link);
  // Its link ended before the welcome had arrived.
  if (roster.settings.servers_replaced() && links_.contains(member->node)) {
    const LinkId before = links_.at(member->node);
    lose(before);
    van_.links().close(before);
  }
  if (links_.contains(member->node)) {
    van_.links().refuse(caller.link,
                        {Code::kRefused, fmt::format("{} says it is {}, which is connected already",
                                                     caller.hello.host, member->describe())});
    return;
  }
  let_in(*member, caller.link);
}

void WorkerLinks::let_in(const Member& member, LinkId link) {
  links_[member.node] = link;
  workers_[link] = {member.node, member.number()};
  van_.links().admit(link, member.node);
  van_.send_control(link, control::Welcome{.node = member.node,
                                           .rank = member.rank,
                                           .padding = van_.links().path_proof(link)});
  // A previous primary has admitted it, or it connects after its admission.
  const auto told = told_in_.find(member.node);
  if (told != told_in_.end()) van_.send_control(link, told->second);
}

// An earlier link has ended, which the worker has noticed first.
void WorkerLinks::hear(const Member& member, LinkId link) {
  const auto [heard, is_first] = heard_.try_emplace(member.node, link);
  if (!is_first) van_.links().close(std::exchange(heard->second, link));
  van_.links().admit(link, member.node);
  van_.send_control(link, control::Welcome{.node = member.node,
                                           .rank = member.rank,
                                           .stands_by = true,
                                           .padding = van_.links().path_proof(link)});
}

// Called on promotion.
void WorkerLinks::let_in_heard(const Roster& roster) {
  for (const auto& [node, link] : std::exchange(heard_, {})) {
    const Member* member = roster.find(node);
    if (member == nullptr || member->lost) {
      van_.links().refuse(link, is_lost(member));
    } else if (!member->left) {  // A leaving worker closes the link itself.
      let_in(*member, link);
    }
  }
}

bool WorkerLinks::reached_by_all(const Roster& roster) const {
  return std::ranges::all_of(roster.members, [this](const Member& member) {
    if (member.role != Role::kWorker || member.left || member.joining) return true;
    const auto is_it = [&member](const Caller& one) { return one.hello.node == member.node; };
    return heard_.contains(member.node) || links_.contains(member.node) ||
           std::ranges::any_of(callers_, is_it);
  });
}

void WorkerLinks::leave(LinkId link) {
  if (const Worker* worker = find(link)) left_.insert(worker->node);
  std::erase_if(heard_, [link](const auto& heard) { return heard.second == link; });
  van_.links().await(link, Return::kNone);  // The worker closes it.
}

std::optional<WorkerLinks::Worker> WorkerLinks::lose(LinkId link) {
  std::erase_if(callers_, [link](const Caller& caller) { return caller.link == link; });
  std::erase_if(heard_, [link](const auto& heard) { return heard.second == link; });
  const auto known = workers_.find(link);
  if (known == workers_.end()) return {};
  const Worker worker = known->second;
  workers_.erase(known);
  links_.erase(worker.node);
  return worker;
}

const WorkerLinks::Worker* WorkerLinks::find(LinkId link) const {
  const auto known = workers_.find(link);
  return known == workers_.end() ? nullptr : &known->second;
}

}  // namespace stretto
