// SPDX-License-Identifier: Apache-2.0
// Checks whether a host can drain: the job, its other hosts, and the members there.
#include "tools/launch/plan/drain_plan.h"

#include <fmt/core.h>

namespace stretto::launch {
namespace {

DrainPlan in_vain(std::string why) {
  return {.way = DrainPlan::Way::kInVain, .why = std::move(why)};
}

// Running workers on this site, or on other sites that stay.
std::uint32_t workers_that_run(std::size_t site, bool there, const JobSites& sites) {
  std::uint32_t workers = 0;
  for (std::size_t member = 0; member < sites.members.size(); ++member) {
    const bool works = sites.members[member].role == Role::kWorker && sites.runs(member);
    if (!works) continue;
    const std::size_t at = sites.placement.site_of[member];
    workers += there ? at == site : at != site && is_usable(at, sites);
  }
  return workers;
}

// Why the job could not restart on the remaining hosts; empty: it can.
std::string why_not_again(std::size_t site, const Plan& plan, const JobSites& sites) {
  if (plan.checkpoint.empty()) return "it keeps no checkpoints (--checkpoint)";
  if (sites.placement.via != Via::kSsh) return "only over ssh could it leave a host out";
  std::uint64_t slots = 0;
  for (const HostSlots& host : plan.hosts) {
    for (std::size_t other = 0; other < sites.placement.sites.size(); ++other) {
      const bool stays = other != site && is_usable(other, sites);
      slots += stays && sites.placement.sites[other].name == host.host ? host.slots : 0;
    }
  }
  const std::uint32_t least = plan.least_workers != 0 ? plan.least_workers : plan.workers;
  if (slots >= least || (plan.oversubscribe && slots != 0)) return {};
  return fmt::format("the others have {} slots for {} workers", slots, least);
}

// Some member was started on another site that is still usable.
bool has_another(std::size_t site, const JobSites& sites) {
  for (std::size_t member = 0; member < sites.members.size(); ++member) {
    const std::size_t other = sites.placement.site_of[member];
    const bool counts = sites.members[member].role != Role::kScheduler && other != site;
    if (counts && is_usable(other, sites)) return true;
  }
  return false;
}

// Why the job needs the members on this site; empty: it does not.
std::string who_cannot_leave(std::size_t site, const Plan& plan, const JobSites& sites) {
  if (sites.placement.site_of.front() == site) return "its scheduler runs there";
  const std::uint32_t there = workers_that_run(site, true, sites);
  const std::uint32_t elsewhere = workers_that_run(site, false, sites);
  if (there == 0) return {};
  if (plan.least_workers == 0) return "workers of a job of fixed size cannot leave it";
  if (elsewhere >= plan.least_workers) return {};
  return fmt::format("{} workers run elsewhere, and the job may not go on with fewer than {}",
                     elsewhere, plan.least_workers);
}

}  // namespace

DrainPlan departure_of(std::size_t site, const Plan& plan, const JobSites& sites, bool gathered) {
  if (plan.restarts == 0) return in_vain("others are started for them with --restarts K");
  if (sites.placement.via == Via::kMpi) return in_vain("mpirun ends all with one");
  if (!gathered) return in_vain("the job does not run yet, or is about to end");
  if (!has_another(site, sites)) return in_vain("the job has no other host");
  DrainPlan departure{.way = DrainPlan::Way::kLeaves};
  for (const std::size_t member : sites.placement.members_at(site)) {
    if (sites.runs(member)) departure.members.push_back(member);
  }
  departure.why = who_cannot_leave(site, plan, sites);
  if (departure.why.empty()) return departure;
  const std::string no = why_not_again(site, plan, sites);
  if (!no.empty()) return in_vain(fmt::format("{}, and {}", departure.why, no));
  departure.way = DrainPlan::Way::kBeginsAgain;
  return departure;
}

}  // namespace stretto::launch
