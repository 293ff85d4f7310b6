// SPDX-License-Identifier: Apache-2.0
// Signals to those who run there, and what has become of them.
#include "tools/launch/host_notices.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

namespace stretto::launch {
namespace {

constexpr Duration kPatienceAtTheEnd =
    3s;  // For those who have waited in vain to say so, and to end.

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

bool HostNotices::take(std::size_t site, Time now) {
  if (leaves(site)) return true;  // It has been heard.
  const std::string& name = sites_.placement.sites[site].name;
  Departure what = departure_of(site, plan_, sites_, runs(supervisor_));
  if (what.way == Departure::Way::kInVain) {
    ways_.react(say(fmt::format("{} is not emptied: {}; the whole job ends", name, what.why)));
    return false;
  }
  Leaving& host =
      leaving_.emplace(site, Leaving{.what = what, .name = name, .deadline = now + drain_})
          .first->second;
  if (what.way == Departure::Way::kBeginsAgain) {
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
  }
  ways_.react(reaction);
  return true;
}

void HostNotices::step(Time now, std::optional<std::uint64_t> saved) {
  saved_ = saved_ || saved != last_saved_;
  last_saved_ = saved;
  for (auto& [site, host] : leaving_) {
    if (!host.is_over) look(site, host, now);
  }
}

void HostNotices::look(std::size_t site, Leaving& host, Time now) {
  if (host.what.way == Departure::Way::kBeginsAgain) {
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
  if (now < host.deadline) return;
  host.is_over = true;
  Reaction reaction = say(
      fmt::format("sent SIGKILL to {}, which still ran on {}", names_of(left, sites_), host.name));
  for (const std::size_t member : left) {
    reaction.orders.push_back({member, SIGKILL, SignalOrder::Scope::kGroup});
  }
  ways_.react(reaction);
}

// One that is lost is replaced by the scheduler's word.
void HostNotices::replace(Leaving& host) {
  for (const std::size_t member : host.what.members) {
    const Witness& witness = supervisor_.evidence().members[member];
    const bool left = witness.member.role == Role::kWorker && witness.succeeded();
    if (left && replaced_.insert(member).second) ways_.react(replace_left(supervisor_, member));
  }
}

void HostNotices::end(std::size_t site, Leaving& host, std::string_view how) {
  host.is_over = true;
  ways_.give_up(site, {Code::kInterrupted,
                       fmt::format("{} is taken away: its agent was sent SIGTERM, and {} ({})",
                                   host.name, host.what.why, how)});
}

std::optional<Time> HostNotices::deadline() const {
  std::optional<Time> due;
  for (const auto& [site, host] : leaving_) {
    if (!host.is_over && (!due || host.deadline < *due)) due = host.deadline;
  }
  return due;
}

}  // namespace stretto::launch
