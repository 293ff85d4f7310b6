// SPDX-License-Identifier: Apache-2.0
// Who may be lost follows from the scheduler's view, and from who is lost already.
#include "tests/sim/losses/loss_servers.h"

#include <algorithm>
#include <map>

namespace stretto::sim {
namespace {

std::string process_of(const Member& member) {
  return member.address.substr(0, member.address.find(':'));
}

// Those that are in the view and alive, but for the last process that has all of its place.
std::vector<std::string> victims(const View& view, std::uint32_t shards,
                                 const std::set<std::string>& alive) {
  std::map<Rank, std::uint32_t> caught_up;  // Shards of who stands by.
  for (const NodeId node : view.caught_up) ++caught_up[view.members.at(node).rank];
  std::map<Rank, std::vector<std::string>> holders;
  std::vector<std::string> found;
  for (const auto& [node, member] : view.members) {
    const std::string name = process_of(member);
    const bool is_first = member.role == Role::kServer && member.shard == 0;
    if (!is_first || !alive.contains(name)) continue;
    if (member.standby && caught_up[member.rank] != shards) {
      found.push_back(name);
    } else {
      holders[member.rank].push_back(name);
    }
  }
  for (const auto& [place, names] : holders) {
    if (names.size() > 1) found.insert(found.end(), names.begin(), names.end());
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
    if (!plan_.server_strikes.empty()) next_strike_ = now + plan_.server_strikes.front().after;
  }
  const std::vector<LossNews>& news = scheduler.watch().loss_news();
  for (; news_ < news.size(); ++news_) {
    if (!news[news_].server) continue;
    const auto& strike = plan_.server_strikes[news_ % plan_.server_strikes.size()];
    starts_.push_back({.number = news[news_].number, .at = now + strike.absence});
  }
  while (!starts_.empty()) {
    const auto due = std::ranges::min_element(starts_, {}, &Start::at);
    if (due->at > now) break;
    const std::uint32_t number = due->number;
    starts_.erase(due);
    if (scheduler.phase() != "running") continue;
    ++started_;
    ways_.start(number);
  }
  if (next_strike_ <= now) strike(now, scheduler, alive);
}

void LossServers::strike(Time now, const Scheduler& scheduler, const std::set<std::string>& alive) {
  const std::vector<std::string> all = victims(scheduler.view(), plan_.shards, alive);
  const bool is_over = scheduler.phase() != "running";
  if (all.empty() && !is_over) {  // Those who stand by have yet to get all.
    next_strike_ = now + 300us;
    return;
  }
  const LossPlan::ServerStrike& strike = plan_.server_strikes[struck_++];
  const bool is_last = struck_ == plan_.server_strikes.size() || is_over;
  next_strike_ = is_last ? Time::max() : now + plan_.server_strikes[struck_].after;
  if (is_over) return;
  ++lost_;
  last_loss_ = now;
  ways_.lose(all[random_.below(all.size())], strike.is_told);
}

}  // namespace stretto::sim
