// SPDX-License-Identifier: Apache-2.0
// Chooses hosts by the members that run there.
#include "tools/launch/plan/replacement_site.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace stretto::launch {
namespace {

// The usable host with the fewest running members of this role, except the machine `avoided`. A
// host on which only the scheduler was started does not count.
std::optional<std::size_t> emptiest(Role role, const std::string& avoided, const JobSites& sites) {
  std::optional<std::size_t> best;
  std::size_t fewest = 0;
  for (std::size_t site = 0; site < sites.placement.sites.size(); ++site) {
    const bool is_avoided = !avoided.empty() && sites.machines[site] == avoided;
    if (!is_usable(site, sites) || is_avoided) continue;
    std::size_t running = 0;
    bool is_of_job = false;
    for (std::size_t member = 0; member < sites.members.size(); ++member) {
      if (sites.placement.site_of[member] != site) continue;
      const Role found = sites.members[member].role;
      is_of_job = is_of_job || (role == Role::kWorker ? found == role : found != Role::kScheduler);
      running += found == role && sites.runs(member) ? 1 : 0;
    }
    if (!is_of_job || (best && running >= fewest)) continue;
    best = site;
    fewest = running;
  }
  return best;
}

std::string names_of(const JobSites& sites) {
  std::set<std::string> names;
  for (std::size_t site = 0; site < sites.machines.size(); ++site) {
    if (is_usable(site, sites) && !sites.machines[site].empty()) names.insert(sites.machines[site]);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string machine_of(std::size_t member, const JobSites& sites) {
  const std::size_t site = sites.placement.site_of[member];
  return site < sites.machines.size() ? sites.machines[site] : std::string();
}

}  // namespace

bool is_usable(std::size_t site, const JobSites& sites) {
  return site < sites.machines.size() && (site == 0 || sites.works(site));
}

Result<std::size_t> site_to_move_to(const std::string& host, std::size_t from,
                                    const JobSites& sites) {
  const std::size_t now = sites.placement.site_of.at(from);
  if (host.empty()) {
    const auto other = emptiest(Role::kServer, machine_of(from, sites), sites);
    if (other) return *other;
    if (is_usable(now, sites)) return now;
    if (const auto any = emptiest(Role::kServer, {}, sites)) return *any;
    return Status(Code::kInvalidArgument, "no host is left on which it could be started");
  }
  for (std::size_t site = 0; site < sites.machines.size(); ++site) {
    const bool named = sites.machines[site] == host || sites.placement.sites[site].name == host;
    if (named && is_usable(site, sites)) return site;
  }
  return Status(Code::kInvalidArgument,
                fmt::format("there is no host '{}' in the job; it has {}", host, names_of(sites)));
}

std::optional<std::size_t> site_instead_of(std::size_t lost, const JobSites& sites) {
  const std::size_t before = sites.placement.site_of.at(lost);
  if (before != kNowhere && is_usable(before, sites)) return before;
  if (sites.members[lost].role == Role::kServer) {
    std::string avoided;
    for (std::size_t member = 0; member < sites.members.size(); ++member) {
      const JobMember& other = sites.members[member];
      const bool shares = other.role == Role::kServer && member != lost &&
                          other.rank % sites.servers == sites.members[lost].rank % sites.servers;
      if (shares && sites.runs(member)) avoided = machine_of(member, sites);
    }
    const auto other = emptiest(Role::kServer, avoided, sites);
    if (other) return other;
  }
  const auto other = emptiest(sites.members[lost].role, {}, sites);
  if (other) return other;
  const bool hears = before < sites.machines.size() && sites.hears(before);
  return hears ? std::optional(before) : std::nullopt;
}

std::size_t member_like(std::size_t site, std::size_t otherwise, const JobSites& sites) {
  if (sites.placement.site_of.at(otherwise) == site) return otherwise;
  for (std::size_t member = sites.members.size(); member-- > 0;) {
    const bool works = sites.members[member].role == Role::kWorker;
    if (works && sites.placement.site_of[member] == site) return member;
  }
  return otherwise;
}

bool settle(std::size_t member, std::size_t instead_of, std::optional<std::size_t> site,
            const JobSites& sites, Placement& placement, std::vector<LocalRank>& ranks) {
  if (!site) site = site_instead_of(instead_of, sites);
  if (!site) return false;
  placement.site_of[member] = *site;
  ranks[member] = ranks[member_like(*site, instead_of, sites)];
  return true;
}

}  // namespace stretto::launch
