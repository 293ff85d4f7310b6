// SPDX-License-Identifier: Apache-2.0
// Signals to members of draining hosts, and replacements for them.
#include "tools/launch/supervision/host_drains.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "tools/launch/supervision/member_news.h"

namespace stretto::launch {
namespace {

constexpr Duration kPatienceAtTheEnd =
    3s;  // For members that could not leave to report that, and to end.

std::string names_of(const std::vector<std::size_t>& members, const JobSites& sites) {
  std::string names;
  for (const std::size_t member : members) {
    names += (names.empty() ? "" : ", ") + label_of(sites.members[member]);
  }
  return names.empty() ? "nothing of the job" : names;
}

Reaction say(std::string note) {
  Reaction reaction;
  reaction.notes.push_back(std::move(note));
  return reaction;
}

}  // namespace

bool HostDrains::take(std::size_t site, Time now) {
  if (leaves(site)) return true;  // The notice was handled before.
  const std::string& name = sites_.placement.sites[site].name;
  const JobEvidence& evidence = supervisor_.evidence();
  const bool settles = evidence.failed() && !evidence.interrupt && !plan_.checkpoint.empty();
  if (plan_.restarts > 0 && settles && sites_.placement.via == Via::kSsh) {
    // Its members end with the others, and a restarted job avoids this host.
    leaving_.emplace(site, Leaving{.what = {}, .name = name, .deadline = now, .is_over = true});
    return true;
  }
  DrainPlan what = departure_of(site, plan_, sites_, runs(supervisor_));
  if (what.way == DrainPlan::Way::kInVain) {
    ways_.react(say(fmt::format("{} is not emptied: {}; the whole job ends", name, what.why)));
    return false;
  }
  Leaving& host =
      leaving_.emplace(site, Leaving{.what = what, .name = name, .deadline = now + drain_})
          .first->second;
  if (what.way == DrainPlan::Way::kBeginsAgain) {
    saved_ = false;
    ways_.react(say(fmt::format("{} leaves the job: {}; a checkpoint is awaited for {} s", name,
                                what.why, seconds(drain_))));
    ways_.save();
    return true;
  }
  host.deadline += kPatienceAtTheEnd;
  Reaction reaction = say(fmt::format("{} leaves the job; asked to go within {} s: {}", name,
                                      seconds(drain_), names_of(what.members, sites_)));
  for (const std::size_t member : what.members) {
    reaction.orders.push_back({member, SIGTERM, SignalOrder::Scope::kProcess});
    note_asked(supervisor_, member);
  }
  ways_.react(reaction);
  return true;
}

std::vector<std::string> HostDrains::names() const {
  std::vector<std::string> names;
  for (const auto& [site, host] : leaving_) names.push_back(host.name);
  return names;
}

bool HostDrains::awaits_checkpoint() const {
  return !saved_ && std::ranges::any_of(leaving_, [](const auto& one) {
    return !one.second.is_over && one.second.what.way == DrainPlan::Way::kBeginsAgain;
  });
}

void HostDrains::step(Time now, std::optional<std::uint64_t> saved) {
  saved_ = saved_ || saved != last_saved_;
  last_saved_ = saved;
  if (!runs(supervisor_)) return;  // All members were asked to end, with a time limit of its own.
  for (auto& [site, host] : leaving_) {
    if (!host.is_over) look(site, host, now);
  }
}

void HostDrains::look(std::size_t site, Leaving& host, Time now) {
  if (host.what.way == DrainPlan::Way::kBeginsAgain) {
    if (!saved_ && now < host.deadline) return;
    return end(site, host, saved_ ? "after a checkpoint" : "no checkpoint was made in that time");
  }
  replace(host);
  const std::vector<std::size_t> here = sites_.placement.members_at(site);
  std::vector<std::size_t> left;
  std::ranges::copy_if(here, std::back_inserter(left), sites_.runs);
  if (left.empty()) {
    host.is_over = true;
    ways_.react(say(fmt::format("nothing of the job runs on {} any more", host.name)));
    return ways_.release(site);
  }
  if (now < host.deadline || std::exchange(host.has_killed, true)) return;
  Reaction reaction = say(
      fmt::format("sent SIGKILL to {}, which still ran on {}", names_of(left, sites_), host.name));
  for (const std::size_t member : left) {
    reaction.orders.push_back({member, SIGKILL, SignalOrder::Scope::kGroup});
  }
  ways_.react(reaction);
}

// A lost member is replaced on the scheduler's decision.
void HostDrains::replace(Leaving& host) {
  for (const std::size_t member : host.what.members) {
    const MemberRecord& witness = supervisor_.evidence().members[member];
    const bool ended_after_it_left =
        witness.left && witness.life == MemberRecord::Life::kEnded;  // However it ended.
    const bool left = witness.member.role == Role::kWorker &&
                      (witness.succeeded() || ended_after_it_left) && !has_finished();
    if (left && replaced_.insert(member).second) ways_.react(replace_left(supervisor_, member));
  }
}

// A worker has succeeded that was not asked to leave: the program is done, or nearly.
bool HostDrains::has_finished() const {
  const std::vector<MemberRecord>& members = supervisor_.evidence().members;
  for (std::size_t member = 0; member < members.size(); ++member) {
    const bool done = members[member].member.role == Role::kWorker && members[member].succeeded();
    const bool asked = std::ranges::any_of(leaving_, [member](const auto& one) {
      return std::ranges::find(one.second.what.members, member) != one.second.what.members.end();
    });
    if (done && !asked) return true;
  }
  return false;
}

void HostDrains::end(std::size_t site, Leaving& host, std::string_view how) {
  host.is_over = true;
  ways_.give_up(site, {Code::kInterrupted,
                       fmt::format("{} is taken away: its agent was sent SIGTERM, and {} ({})",
                                   host.name, host.what.why, how)});
}

std::optional<Time> HostDrains::deadline() const {
  std::optional<Time> due;
  if (!runs(supervisor_)) return due;
  for (const auto& [site, host] : leaving_) {
    if (!host.is_over && !host.has_killed && (!due || host.deadline < *due)) due = host.deadline;
  }
  return due;
}

}  // namespace stretto::launch
