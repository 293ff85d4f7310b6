// SPDX-License-Identifier: Apache-2.0
// Builds the environment variables of a member of a plan.
#include "tools/launch/plan/environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "common/clock.h"
#include "common/network/host_port.h"

namespace stretto::launch {
namespace {

constexpr std::string_view kAssigned[] = {
    "STRETTO_ROLE",
    "STRETTO_RANK",
    "STRETTO_WORLD_SIZE",
    "STRETTO_SERVERS",
    "STRETTO_SHARDS",
    "STRETTO_MIN_WORKERS",
    "STRETTO_RESTARTS",
    "STRETTO_SCHEDULER",
    "DMLC_ROLE",
    "DMLC_PS_ROOT_URI",
    "DMLC_PS_ROOT_PORT",
    "DMLC_NUM_WORKER",
    "DMLC_NUM_SERVER",
    "DMLC_WORKER_ID",
    "BYTEPS_LOCAL_RANK",
    "BYTEPS_LOCAL_SIZE",
    "BYTEPS_GLOBAL_RANK",
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "STRETTO_SERVER_RESTARTS",
    "STRETTO_CHECKPOINT_MADE",
    "STRETTO_FAILURES",
    "STRETTO_RAN_S",
    "STRETTO_SCHEDULER_JOURNAL",
    "STRETTO_SCHEDULER_LIFE",
    "STRETTO_SCHEDULER_RESTARTS",
    "STRETTO_STARTED_BY",
};

// Names, or prefixes, of variables that belong to one host, login or step.
constexpr std::string_view kOfOneHost[] = {
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "MAIL",
    "HOSTNAME",
    "HOST",
    "PWD",
    "OLDPWD",
    "TERM",
    "SHLVL",
    "_",
    "DISPLAY",
    "TMPDIR",
    "XAUTHORITY",
    "STRETTO_BIND_HOST",
    "STRETTO_NODE_HOST",
    "DMLC_NODE_HOST",
};
constexpr std::string_view kOfOneHostBegin[] = {
    "SSH_", "XDG_", "DBUS_", "SLURM_", "SRUN_", "OMPI_", "PMIX_", "PMI_", "PRTE_", "BASH_FUNC_",
};

// The port of the address in a variable; 0: none.
std::uint32_t port_told(const Plan& plan, const Variables& inherited, const char* name) {
  const Result<HostPort> address = parse_host_port(told(plan, inherited, name));
  return address.ok() ? address->port : 0;
}

// Whether a process of the job may listen on the port. Servers have the ports after the
// scheduler's; the metrics of servers and workers have the ports after the scheduler's metrics.
bool is_taken(std::uint32_t port, const Plan& plan, std::uint32_t scheduler_port,
              const Variables& inherited) {
  const auto is_among = [port](std::uint32_t first, std::uint32_t more) {
    return first != 0 && port >= first && port <= first + more;
  };
  return is_among(scheduler_port, plan.server_processes() * plan.shards) ||
         is_among(port_told(plan, inherited, "STRETTO_METRICS_ADDRESS"),
                  plan.server_processes() + plan.workers) ||
         is_among(port_told(plan, inherited, "STRETTO_PAGE_ADDRESS"), 0);
}

// A free port from 20000 to 29999.
std::uint16_t master_port(const Plan& plan, std::uint32_t scheduler_port,
                          const Variables& inherited) {
  constexpr std::uint32_t kFirst = 20000;
  constexpr std::uint32_t kCount = 10000;
  constexpr std::uint32_t kStep = 1000;
  std::uint32_t port = kFirst + scheduler_port % kCount;
  for (std::uint32_t tried = 0; tried < kCount / kStep; ++tried) {
    if (!is_taken(port, plan, scheduler_port, inherited)) break;
    port = kFirst + (port + kStep) % kCount;
  }
  return static_cast<std::uint16_t>(port);
}

// Adds the variables that only the programs of workers read.
void add_worker_variables(const Plan& plan, const JobMember& member, const Rendezvous& rendezvous,
                          const Seat& seat, const Variables& inherited, Variables& given) {
  const std::string rank = std::to_string(member.rank);
  const std::string world = std::to_string(plan.workers);
  given["DMLC_WORKER_ID"] = rank;
  given["BYTEPS_LOCAL_RANK"] = "0";
  given["BYTEPS_LOCAL_SIZE"] = "1";
  given["RANK"] = rank;
  given["LOCAL_RANK"] = std::to_string(seat.local_rank);
  given["WORLD_SIZE"] = world;
  given["LOCAL_WORLD_SIZE"] = std::to_string(seat.local_size);
  if (limits_threads(plan, seat, inherited)) given["OMP_NUM_THREADS"] = "1";
  if (!inherited.contains("MASTER_ADDR")) {
    given["MASTER_ADDR"] =
        rendezvous.master_host.empty() ? rendezvous.scheduler.host : rendezvous.master_host;
  }
  if (!inherited.contains("MASTER_PORT")) {
    given["MASTER_PORT"] = std::to_string(master_port(plan, rendezvous.scheduler.port, inherited));
  }
}

}  // namespace

namespace {

void add_scheduler_variables(const SchedulerIncarnation& life, Variables& given) {
  if (life.journal.empty()) return;
  given["STRETTO_SCHEDULER_JOURNAL"] = life.journal;
  given["STRETTO_SCHEDULER_LIFE"] = std::to_string(life.life);
  given["STRETTO_SCHEDULER_RESTARTS"] = std::to_string(life.restarts);
}

}  // namespace

bool is_assigned(std::string_view name) {
  return std::find(std::begin(kAssigned), std::end(kAssigned), name) != std::end(kAssigned);
}

bool limits_threads(const Plan& plan, const Seat& seat, const Variables& inherited) {
  const std::string_view name = "OMP_NUM_THREADS";
  const bool is_set = inherited.contains(std::string(name)) ||
                      std::ranges::any_of(plan.added_environment,
                                          [&](const auto& added) { return added.first == name; });
  return seat.local_size > 1 && !is_set;
}

Variables checkpoint_variables(const Plan& plan) {
  Variables given;
  if (!plan.checkpoint.empty()) given["STRETTO_CHECKPOINT"] = plan.checkpoint;
  if (!plan.resume.empty()) given["STRETTO_RESUME"] = plan.resume;
  if (plan.checkpoint_every) {
    const bool is_chosen = *plan.checkpoint_every == Duration::zero();
    given["STRETTO_CHECKPOINT_EVERY_S"] =
        is_chosen ? "auto" : fmt::format("{}", seconds(*plan.checkpoint_every));
  }
  return given;
}

Variables variables_for(const Plan& plan, const JobMember& member, const Rendezvous& rendezvous,
                        const Seat& seat, const Variables& inherited) {
  const std::string role(name_of(member.role));
  HostPort scheduler = rendezvous.scheduler;
  if (scheduler.port == 0) scheduler.port = static_cast<std::uint16_t>(plan.port);
  Variables given{
      {"STRETTO_ROLE", role},
      {"STRETTO_RANK", std::to_string(member.rank)},
      {"STRETTO_WORLD_SIZE", std::to_string(plan.workers)},
      {"STRETTO_SERVERS", std::to_string(plan.servers)},
      {"STRETTO_SHARDS", std::to_string(plan.shards)},
      {"STRETTO_SCHEDULER", scheduler.text()},
      {"STRETTO_JOB_TOKEN", rendezvous.token},
      {"DMLC_ROLE", role},
      {"DMLC_PS_ROOT_URI", scheduler.host},
      {"DMLC_PS_ROOT_PORT", std::to_string(scheduler.port)},
      {"DMLC_NUM_WORKER", std::to_string(plan.workers)},
      {"DMLC_NUM_SERVER", std::to_string(plan.servers)},
      {"PYTHONUNBUFFERED", "1"},
  };
  if (plan.least_workers != 0) {
    given["STRETTO_MIN_WORKERS"] = std::to_string(plan.least_workers);
    given["STRETTO_RESTARTS"] = std::to_string(plan.restarts);
  }
  if (plan.replicas > 1) given["STRETTO_REPLICAS"] = std::to_string(plan.replicas);
  if (servers_move(plan)) given["STRETTO_SERVER_RESTARTS"] = std::to_string(plan.restarts);
  given.merge(checkpoint_variables(plan));
  if (plan.failures != 0 && member.role == Role::kScheduler) {
    given["STRETTO_FAILURES"] = std::to_string(plan.failures);
    given["STRETTO_RAN_S"] = fmt::format("{:.0f}", seconds(plan.ran));
    if (plan.made != 0) given["STRETTO_CHECKPOINT_MADE"] = std::to_string(plan.made);
  }
  if (member.role == Role::kScheduler) {
    add_scheduler_variables(rendezvous.scheduler_life, given);
  }
  if (plan.start_timeout) given["STRETTO_RENDEZVOUS_TIMEOUT_S"] = *plan.start_timeout;
  if (plan.port != 0 && member.role == Role::kServer) {
    given["STRETTO_SERVER_PORT"] = std::to_string(plan.port + 1);
  }
  if (!seat.bind_host.empty()) given["STRETTO_BIND_HOST"] = seat.bind_host;
  if (member.role == Role::kWorker) {
    add_worker_variables(plan, member, rendezvous, seat, inherited, given);
  }
  for (const auto& [name, value] : plan.added_environment) given[name] = value;
  if (plan.encrypt) given["STRETTO_ENCRYPT"] = "1";
  return given;
}

Variables merged(Variables inherited, const Variables& given) {
  for (const std::string_view name : kAssigned) inherited.erase(std::string(name));
  for (const auto& [name, value] : given) inherited[name] = value;
  return inherited;
}

std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

std::string told(const Plan& plan, const Variables& inherited, const std::string& variable) {
  std::string text = value_of(inherited, variable);
  for (const auto& [name, value] : plan.added_environment) {
    if (name == variable) text = value;
  }
  return text;
}

Status check_checkpoints(const Plan& plan) {
  const bool how = plan.checkpoint_every || (!plan.resume.empty() && !resumes_from_path(plan));
  if (!plan.checkpoint.empty()) return {};
  if (!how) return {};
  return {Code::kInvalidArgument,
          fmt::format("{} is for jobs that keep checkpoints: say where by --checkpoint DIR",
                      plan.checkpoint_every ? "--checkpoint-every" : "--resume")};
}

Duration time_told(const Plan& plan, const Variables& inherited, const std::string& variable,
                   Duration otherwise) {
  const std::string text = told(plan, inherited, variable);
  double parsed = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  const bool read = error == std::errc() && stop == text.data() + text.size();
  if (!read || !(parsed > 0) || parsed > 86400) return otherwise;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(parsed));
}

Variables portable(const Variables& inherited) {
  Variables kept;
  for (const auto& [name, value] : inherited) {
    const auto begins = [&variable = name](std::string_view begin) {
      return variable.starts_with(begin);
    };
    const bool of_one_host =
        std::find(std::begin(kOfOneHost), std::end(kOfOneHost), name) != std::end(kOfOneHost) ||
        std::any_of(std::begin(kOfOneHostBegin), std::end(kOfOneHostBegin), begins);
    if (!of_one_host) kept[name] = value;
  }
  return kept;
}

std::vector<std::string> overridden(const Plan& plan, const Variables& inherited) {
  std::vector<std::string> notes;
  if (inherited.contains("STRETTO_ROLE")) return notes;  // Inside another job: its variables.
  const auto look_at = [&](const char* name, const std::string& ours, std::string_view instead) {
    const std::string theirs = value_of(inherited, name);
    if (theirs.empty() || theirs == ours) return;
    notes.push_back(fmt::format("{} is '{}', and is not used: {}", name, theirs, instead));
  };
  constexpr std::string_view kOwn =
      "the launcher starts a scheduler of its own (where: --scheduler-host, --port); to join one "
      "that runs already, start your program without stretto-launch";
  look_at("STRETTO_SCHEDULER", {}, kOwn);
  look_at("DMLC_PS_ROOT_URI", {}, kOwn);
  for (const char* name : {"STRETTO_WORLD_SIZE", "DMLC_NUM_WORKER"}) {
    look_at(name, std::to_string(plan.workers),
            fmt::format("{} workers are started; --workers says how many", plan.workers));
  }
  look_at("STRETTO_MIN_WORKERS",
          plan.least_workers == 0 ? std::string() : std::to_string(plan.least_workers),
          "--workers MIN:MAX says with how many a job goes on");
  for (const char* name : {"STRETTO_SERVERS", "DMLC_NUM_SERVER"}) {
    look_at(name, std::to_string(plan.servers),
            fmt::format("{} servers are started; --servers says how many", plan.servers));
  }
  look_at("STRETTO_SHARDS", std::to_string(plan.shards),
          fmt::format("servers have {} shards; --shards says how many", plan.shards));
  return notes;
}

std::string allocation_note(const Variables& inherited) {
  const auto nodes = inherited.find("SLURM_JOB_NUM_NODES");
  if (nodes == inherited.end() || nodes->second.empty() || nodes->second == "1") return {};
  return fmt::format(
      "warning: the Slurm allocation has {} nodes, and only this host is used; --via slurm uses "
      "them all",
      nodes->second);
}

}  // namespace stretto::launch
