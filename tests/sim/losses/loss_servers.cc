// SPDX-License-Identifier: Apache-2.0
// Chooses the victims from the scheduler's view and from earlier losses.
#include "tests/sim/losses/loss_servers.h"

#include <algorithm>
#include <map>

namespace stretto::sim {
namespace {

constexpr Duration kTold = 5ms;  // Until all know that the job runs; an earlier drain ends the
                                 // server.

std::string process_of(const Member& member) {
  return member.address.substr(0, member.address.find(':'));
}

// Drain candidates: with migrations any live primary, even if it is draining already; otherwise
// servers of ranks without an undetected loss.
std::vector<std::string> who_may_go(const View& view, const std::set<std::string>& alive,
                                    bool moves) {
  std::set<Rank> disturbed;
  for (const auto& [node, member] : view.members) {
    const bool is_lost = member.role == Role::kServer && !alive.contains(process_of(member));
    if (is_lost) disturbed.insert(member.rank);
  }
  std::vector<std::string> found;
  for (const auto& [node, member] : view.members) {
    const bool is_first = member.role == Role::kServer && member.shard == 0;
    const bool may = moves ? !member.standby && alive.contains(process_of(member))
                           : !disturbed.contains(member.rank);
    if (is_first && may) found.push_back(process_of(member));
  }
  return found;
}

// Live members of the view, except the last process in sync of each rank; with migrations only
// replacements. A rank with a draining server is spared: the standby may be in sync before the loss
// of the primary is detected.
std::vector<std::string> victims(const View& view, std::uint32_t shards,
                                 const std::set<std::string>& alive,
                                 const std::set<std::string>& going, bool moves) {
  std::map<Rank, std::uint32_t> caught_up;  // In-sync standby shards by rank.
  for (const NodeId node : view.caught_up) ++caught_up[view.members.at(node).rank];
  std::set<Rank> left;
  std::map<Rank, std::vector<std::string>> holders;
  std::map<Rank, std::vector<std::string>> lacking;
  for (const auto& [node, member] : view.members) {
    const std::string name = process_of(member);
    const bool is_first = member.role == Role::kServer && member.shard == 0;
    if (!is_first || !alive.contains(name)) continue;
    if (going.contains(name)) left.insert(member.rank);
    const bool lacks = member.standby && caught_up[member.rank] != shards;
    (lacks ? lacking : holders)[member.rank].push_back(name);
  }
  std::vector<std::string> found;
  for (const auto& [place, names] : lacking) {
    if (moves || !left.contains(place)) found.insert(found.end(), names.begin(), names.end());
  }
  for (const auto& [place, names] : holders) {
    const bool others = !moves && names.size() > 1 && !left.contains(place);
    if (others) found.insert(found.end(), names.begin(), names.end());
  }
  return found;
}

}  // namespace

Time LossServers::next_due() const {
  Time next = next_strike_;
  for (const Start& start : starts_) next = std::min(next, start.at);
  return next;
}

void LossServers::act(Time now, const Scheduler& scheduler, const std::set<std::string>& alive) {
  if (!running_ && scheduler.phase() == "running") {
    running_ = true;
    told_at_ = now + kTold;
    if (!plan_.server_strikes.empty()) next_strike_ = now + plan_.server_strikes[0].after;
  }
  if (plan_.moves && lost_ > 0) look_for_heirs(scheduler.view());
  follow(now, scheduler);
  start_due(now, scheduler.phase() == "running");
  if (next_strike_ <= now) strike(now, scheduler, alive);
}

void LossServers::look_for_heirs(const View& view) {
  for (const auto& [node, member] : view.members) {
    const bool serves = member.role == Role::kServer && !member.standby && !member.left;
    lost_heir_ = lost_heir_ || (serves && lost_names_.contains(process_of(member)));
  }
}

void LossServers::follow(Time now, const Scheduler& scheduler) {
  const auto start = [&](std::uint32_t number, std::size_t turn) {
    const auto& strike = plan_.server_strikes[turn % plan_.server_strikes.size()];
    starts_.push_back({.number = number, .at = now + strike.absence});
  };
  const std::vector<LossReport>& news = scheduler.watch().loss_news();
  for (; news_ < news.size(); ++news_) {
    if (news[news_].server && !news[news_].dropped) start(news[news_].number, news_);
  }
  const std::vector<MigrationOrder>& orders = scheduler.moves().orders();
  for (; orders_ < orders.size(); ++orders_) start(orders[orders_].server, orders_);
}

void LossServers::start_due(Time now, bool runs) {
  while (!starts_.empty()) {
    const auto due = std::ranges::min_element(starts_, {}, &Start::at);
    if (due->at > now) return;
    const std::uint32_t number = due->number;
    starts_.erase(due);
    if (!runs) continue;
    ++started_;
    ways_.start(number);
  }
}

void LossServers::strike(Time now, const Scheduler& scheduler, const std::set<std::string>& alive) {
  const bool is_over = scheduler.phase() != "running";
  const LossPlan::ServerStrike& strike = plan_.server_strikes[struck_];
  const bool is_early = strike.drains && now < told_at_;
  if (!is_over && (is_early || !hit(strike, scheduler.view(), alive))) {  // No victim yet.
    next_strike_ = now + 300us;
    return;
  }
  ++struck_;
  const bool is_last = struck_ == plan_.server_strikes.size() || is_over;
  next_strike_ = is_last ? Time::max() : now + plan_.server_strikes[struck_].after;
  if (is_over || strike.drains) return;
  ++lost_;
  last_loss_ = now;
}

bool LossServers::hit(const LossPlan::ServerStrike& strike, const View& view,
                      const std::set<std::string>& alive) {
  std::vector<std::string> all;
  if (strike.drains) {
    all = who_may_go(view, alive, plan_.moves);
  } else {
    all = victims(view, plan_.shards, alive, going_, plan_.moves);
  }
  if (all.empty()) return plan_.moves;  // With migrations the strike is skipped.
  const std::string& victim = all[random_.below(all.size())];
  if (strike.drains) {
    going_.insert(victim);
    ways_.drain(victim);
  } else {
    lost_names_.insert(victim);
    ways_.lose(victim, strike.is_told);
  }
  return true;
}

}  // namespace stretto::sim
