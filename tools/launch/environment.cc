// SPDX-License-Identifier: Apache-2.0
// From a plan and a member to that member's variables.
#include "tools/launch/environment.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::launch {
namespace {

constexpr std::string_view kAssigned[] = {
    "STRETTO_ROLE",      "STRETTO_RANK",      "STRETTO_WORLD_SIZE", "STRETTO_SERVERS",
    "STRETTO_SHARDS",    "STRETTO_SCHEDULER", "DMLC_ROLE",          "DMLC_PS_ROOT_URI",
    "DMLC_PS_ROOT_PORT", "DMLC_NUM_WORKER",   "DMLC_NUM_SERVER",    "DMLC_WORKER_ID",
    "BYTEPS_LOCAL_RANK", "BYTEPS_LOCAL_SIZE", "BYTEPS_GLOBAL_RANK", "RANK",
    "LOCAL_RANK",        "WORLD_SIZE",        "LOCAL_WORLD_SIZE",
};

std::uint16_t master_port(std::uint16_t scheduler_port) {
  return static_cast<std::uint16_t>(20000 + scheduler_port % 10000);
}

// Names that only programs of workers look for.
void add_worker_variables(const Plan& plan, const Member& member, const Rendezvous& rendezvous,
                          const Variables& inherited, Variables& given) {
  const std::string rank = std::to_string(member.rank);
  const std::string world = std::to_string(plan.workers);
  given["DMLC_WORKER_ID"] = rank;
  given["BYTEPS_LOCAL_RANK"] = "0";
  given["BYTEPS_LOCAL_SIZE"] = "1";
  given["RANK"] = rank;
  given["LOCAL_RANK"] = rank;
  given["WORLD_SIZE"] = world;
  given["LOCAL_WORLD_SIZE"] = world;
  if (!inherited.contains("MASTER_ADDR")) given["MASTER_ADDR"] = rendezvous.scheduler.host;
  if (!inherited.contains("MASTER_PORT")) {
    given["MASTER_PORT"] = std::to_string(master_port(rendezvous.scheduler.port));
  }
}

}  // namespace

bool is_assigned(std::string_view name) {
  return std::find(std::begin(kAssigned), std::end(kAssigned), name) != std::end(kAssigned);
}

Variables variables_for(const Plan& plan, const Member& member, const Rendezvous& rendezvous,
                        const Variables& inherited) {
  const std::string role(name_of(member.role));
  const HostPort& scheduler = rendezvous.scheduler;
  Variables given{
      {"STRETTO_ROLE", role},
      {"STRETTO_RANK", std::to_string(member.rank)},
      {"STRETTO_WORLD_SIZE", std::to_string(plan.workers)},
      {"STRETTO_SERVERS", std::to_string(plan.servers)},
      {"STRETTO_SHARDS", std::to_string(plan.shards)},
      {"STRETTO_SCHEDULER", fmt::format("{}:{}", scheduler.host, scheduler.port)},
      {"STRETTO_JOB_TOKEN", rendezvous.token},
      {"DMLC_ROLE", role},
      {"DMLC_PS_ROOT_URI", scheduler.host},
      {"DMLC_PS_ROOT_PORT", std::to_string(scheduler.port)},
      {"DMLC_NUM_WORKER", std::to_string(plan.workers)},
      {"DMLC_NUM_SERVER", std::to_string(plan.servers)},
      {"PYTHONUNBUFFERED", "1"},
  };
  if (plan.start_timeout) given["STRETTO_RENDEZVOUS_TIMEOUT_S"] = *plan.start_timeout;
  if (member.role == Role::kWorker) {
    add_worker_variables(plan, member, rendezvous, inherited, given);
  }
  for (const auto& [name, value] : plan.added_environment) given[name] = value;
  return given;
}

Variables merged(Variables inherited, const Variables& given) {
  for (const std::string_view name : kAssigned) inherited.erase(std::string(name));
  for (const auto& [name, value] : given) inherited[name] = value;
  return inherited;
}

std::string allocation_note(const Variables& inherited) {
  const auto more_than_one = [&](const char* name) {
    const auto found = inherited.find(name);
    return found != inherited.end() && !found->second.empty() && found->second != "1";
  };
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (!more_than_one(name)) continue;
    return fmt::format(
        "warning: MPI has started {} of these launchers, and each starts a job of its own; start "
        "one "
        "launcher without mpirun",
        inherited.at(name));
  }
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
    if (!more_than_one(name)) continue;
    return fmt::format(
        "warning: the Slurm allocation has {} nodes, and only this one is used; --via slurm is not "
        "built yet",
        inherited.at(name));
  }
  return {};
}

}  // namespace stretto::launch
