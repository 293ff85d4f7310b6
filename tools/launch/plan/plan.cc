// SPDX-License-Identifier: Apache-2.0
// Who takes part in a launch, and what each is called.
#include "tools/launch/plan/plan.h"

#include <fmt/core.h>

namespace stretto::launch {

bool resumes_from_path(const Plan& plan) {
  return !plan.resume.empty() && plan.resume != "auto" && plan.resume != "no";
}

std::vector<JobMember> members_of(const Plan& plan) {
  std::vector<JobMember> members{{Role::kScheduler, 0}};
  for (Rank rank = 0; rank < plan.server_processes(); ++rank)
    members.push_back({Role::kServer, rank});
  for (Rank rank = 0; rank < plan.workers; ++rank) members.push_back({Role::kWorker, rank});
  return members;
}

std::vector<JobMember> spares_of(const Plan& plan) {
  std::vector<JobMember> spares;
  for (Rank rank = 0; servers_move(plan) && rank < plan.servers; ++rank) {
    spares.push_back({Role::kServer, plan.servers + rank});
  }
  if (plan.least_workers == 0) return spares;
  for (Rank i = 0; i < plan.restarts; ++i) spares.push_back({Role::kWorker, plan.workers + i});
  return spares;
}

bool servers_move(const Plan& plan) {
  return plan.restarts != 0 && plan.servers != 0 && plan.replicas == 1;
}

bool servers_return(const Plan& plan) {
  return servers_move(plan) && plan.least_workers == 0 && plan.shards == 1;
}

std::string_view name_of(Via via) {
  switch (via) {
    case Via::kLocal:
      return "local";
    case Via::kSsh:
      return "ssh";
    case Via::kMpi:
      return "mpi";
    case Via::kSlurm:
      return "slurm";
    case Via::kNodes:
      return "nodes";
  }
  return "unknown";
}

std::string label_of(const JobMember& member) {
  if (member.role == Role::kScheduler) return std::string(name_of(member.role));
  return fmt::format("{} {}", name_of(member.role), member.rank);
}

KnownJob known_job(const Plan& plan, const HostPort& scheduler, const std::string& token,
                   std::int64_t started_s) {
  return {.name = plan.name.empty() ? job_name(plan.command) : plan.name,
          .scheduler = scheduler.text(),
          .command = command_line(plan.command),
          .workers = plan.workers,
          .servers = plan.servers,
          .started_s = started_s,
          .process = 0,
          .encrypts = plan.encrypt,
          .token = token};
}

}  // namespace stretto::launch
