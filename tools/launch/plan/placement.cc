// SPDX-License-Identifier: Apache-2.0
// From hosts and slots to a site for each member.
#include "tools/launch/plan/placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace stretto::launch {
namespace {

using IsHere = std::function<bool(const std::string&)>;

constexpr std::uint32_t kMaxNodes = 4096;

// With named hosts workers must fit the slots, for every start method.
Status check_slots(const Plan& plan, const std::vector<HostSlots>& hosts, std::string_view where) {
  const std::uint64_t slots = slots_of(hosts);
  if (hosts.empty() || plan.workers <= slots || plan.oversubscribe) return {};
  return {Code::kInvalidArgument,
          fmt::format("{} workers, and {} {} slots; give more slots, start fewer workers, or say "
                      "--oversubscribe",
                      plan.workers, where, slots)};
}

// An elastic job may start with fewer nodes, if their slots are enough.
Status check_allocated(const Plan& plan, const Allocation& allocation) {
  const std::size_t found = allocation.slots.size();
  if (plan.nodes <= found || plan.least_workers != 0) return {};
  return {
      Code::kInvalidArgument,
      fmt::format("--nnodes is {}, and {} has {} nodes; ask for as many, as by salloc -N {}, or "
                  "give --nnodes {}",
                  plan.nodes, allocation.name, found, plan.nodes, found)};
}

// Removes the number at the front of `text` and returns it; 0: there is none.
std::uint32_t take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return error == std::errc() ? number : 0;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// Slurm writes "2(x3),1" for 2, 2, 2, 1. Empty: malformed.
std::vector<std::uint32_t> repeated_numbers(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  do {
    const std::uint32_t number = take_number(text);
    std::uint32_t times = 1;
    if (take(text, "(x")) {
      times = take_number(text);
      if (!take(text, ")")) return {};
    }
    if (number == 0 || times == 0 || numbers.size() + times > kMaxNodes) return {};
    numbers.insert(numbers.end(), times, number);
  } while (take(text, ","));
  if (!text.empty()) numbers.clear();
  return numbers;
}

// Slurm sets separate slot variables for each component of a heterogeneous job.
bool is_heterogeneous(const Variables& inherited) {
  const std::string size = value_of(inherited, "SLURM_HET_SIZE");
  const bool many = !size.empty() && size != "0" && size != "1";
  return many || inherited.contains("SLURM_TASKS_PER_NODE_HET_GROUP_1") ||
         inherited.contains("SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1");
}

// Adds a site for each new host name.
class Placer {
 public:
  Placer(const Plan& plan, Via via, const IsHere& is_here) : plan_(plan), is_here_(is_here) {
    placement_.via = via;
    placement_.workers = plan.workers;
    placement_.sites.push_back({"this host", true});
  }

  // A site for each worker, by slots.
  std::vector<std::size_t> workers_on(const std::vector<HostSlots>& hosts) {
    std::vector<std::size_t> sites;
    for (const HostSlots& host : hosts) {
      sites.insert(sites.end(), host.slots, site_named(host.host));
    }
    const std::size_t slots = sites.size();
    for (std::size_t i = 0; sites.size() < plan_.workers; ++i) sites.push_back(sites[i % slots]);
    sites.resize(plan_.workers);
    return sites;
  }

  // A site for each server, round-robin; its standby is on the next host.
  std::vector<std::size_t> servers_on(const std::vector<HostSlots>& hosts) {
    std::vector<std::size_t> sites;
    for (std::size_t copy = 0; copy < plan_.replicas; ++copy) {
      for (std::size_t i = 0; i < plan_.servers; ++i) {
        sites.push_back(site_named(hosts[(i + copy) % hosts.size()].host));
      }
    }
    return sites;
  }

  std::size_t site_named(const std::string& name) {
    if (is_here_(name)) return 0;
    for (std::size_t i = 1; i < placement_.sites.size(); ++i) {
      if (placement_.sites[i].name == name) return i;
    }
    placement_.sites.push_back({name, false});
    return placement_.sites.size() - 1;
  }

  Placement placement(std::size_t scheduler, const std::vector<std::size_t>& servers,
                      const std::vector<std::size_t>& workers) {
    placement_.site_of.push_back(scheduler);
    placement_.site_of.insert(placement_.site_of.end(), servers.begin(), servers.end());
    placement_.site_of.insert(placement_.site_of.end(), workers.begin(), workers.end());
    return std::move(placement_);
  }

 private:
  const Plan& plan_;
  const IsHere& is_here_;
  Placement placement_;
};

Placement all_here(const Plan& plan, const IsHere& is_here) {
  return Placer(plan, Via::kLocal, is_here)
      .placement(0, std::vector<std::size_t>(plan.server_processes(), 0),
                 std::vector<std::size_t>(plan.workers, 0));
}

// Each rank of mpirun is a member.
Placement by_rank(const Plan& plan) {
  Placement placement{Via::kMpi, {{"this host", true}}, {}, plan.workers};
  for (const JobMember& member : members_of(plan)) {
    placement.site_of.push_back(placement.sites.size());
    placement.sites.push_back(
        {fmt::format("mpirun's rank {} ({})", placement.sites.size() - 1, label_of(member)),
         false});
  }
  return placement;
}

Result<Placement> over_hosts(const Plan& plan, Via via, const std::vector<HostSlots>& hosts,
                             const IsHere& is_here, std::string_view where) {
  if (hosts.empty()) {
    return Status(Code::kInvalidArgument,
                  "--via ssh needs hosts: --hostfile FILE with a line `host slots=N` each, or "
                  "-H host:slots,...");
  }
  if (Status status = check_slots(plan, hosts, where); !status.ok()) return status;
  Placer placer(plan, via, is_here);
  const std::vector<std::size_t> workers = placer.workers_on(hosts);
  const std::vector<std::size_t> servers =
      placer.servers_on(plan.server_hosts.empty() ? merged(hosts) : plan.server_hosts);
  const std::size_t scheduler =
      plan.scheduler_host.empty() ? 0 : placer.site_named(plan.scheduler_host);
  return placer.placement(scheduler, servers, workers);
}

}  // namespace

std::vector<std::size_t> Placement::members_at(std::size_t site) const {
  std::vector<std::size_t> members;
  for (std::size_t member = 0; member < site_of.size(); ++member) {
    if (site_of[member] == site) members.push_back(member);
  }
  return members;
}

std::uint32_t Allocation::all_slots() const {
  return std::accumulate(slots.begin(), slots.end(), std::uint32_t{0});
}

Allocation Allocation::part_for(const Plan& plan) const {
  Allocation part = *this;
  if (plan.nodes != 0 && plan.nodes < slots.size()) part.slots.resize(plan.nodes);
  if (plan.per_node != 0) std::ranges::fill(part.slots, plan.per_node);
  return part;
}

Result<std::optional<Allocation>> slurm_allocation(const Variables& inherited) {
  const std::string id = value_of(inherited, "SLURM_JOB_ID");
  if (id.empty()) return std::optional<Allocation>();
  if (is_heterogeneous(inherited)) {
    return Status(Code::kUnsupported,
                  fmt::format("Slurm job {} is heterogeneous (its components are parted by ':'), "
                              "and --via slurm starts processes in one component; make an "
                              "allocation of one, name hosts by -H with --via ssh, or use this "
                              "host alone by --via local",
                              id));
  }
  for (const char* name : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
    const std::string text = value_of(inherited, name);
    if (text.empty()) continue;
    Allocation allocation{fmt::format("Slurm job {}", id), repeated_numbers(text)};
    if (!allocation.slots.empty()) return std::optional<Allocation>(std::move(allocation));
    return Status(Code::kMalformed,
                  fmt::format("{} is '{}', wanted numbers such as 2(x3),1", name, text));
  }
  return Status(Code::kInvalidArgument,
                fmt::format("SLURM_JOB_ID is '{}', and neither SLURM_TASKS_PER_NODE nor "
                            "SLURM_JOB_CPUS_PER_NODE tells its slots: is it left over from an "
                            "earlier shell? Unset it, or give --via local for this host alone",
                            id));
}

Via via_of(const Plan& plan, const Variables& inherited, const IsHere& is_here) {
  if (plan.via) return *plan.via;
  for (const auto* hosts : {&plan.hosts, &plan.server_hosts}) {
    for (const HostSlots& host : *hosts) {
      if (!is_here(host.host)) return Via::kSsh;
    }
  }
  const bool named = !plan.hosts.empty() || !plan.server_hosts.empty();
  const bool allocated = !value_of(inherited, "SLURM_JOB_ID").empty();
  return allocated && !named ? Via::kSlurm : Via::kLocal;
}

Status require_one_launcher(const Plan& plan, const Variables& inherited) {
  if (plan.via == Via::kLocal || plan.via == Via::kNodes) return {};
  const bool step = !value_of(inherited, "SLURM_STEP_ID").empty();
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const std::string count = value_of(inherited, name);
    const bool slurm = std::string_view(name).starts_with("SLURM");
    if (count.empty() || count == "1" || (slurm && !step)) continue;
    const std::string_view program = slurm ? "srun" : "mpirun";
    return {Code::kInvalidArgument,
            fmt::format("{} has started {} of these launchers, and each would start a job of its "
                        "own; start one, without {}: stretto-launch --via {} starts it by itself "
                        "(--via local: as many jobs are meant)",
                        program, count, program, slurm ? "slurm" : "mpi")};
  }
  return {};
}

std::uint32_t workers_that_fit(const Plan& plan, std::uint64_t slots) {
  const bool enough = slots >= plan.workers || plan.oversubscribe;
  if (plan.least_workers == 0 || enough || slots < plan.least_workers) return plan.workers;
  return static_cast<std::uint32_t>(slots);
}

Result<Placement> place(const Plan& plan, const Variables& inherited, const IsHere& is_here) {
  const Via via = via_of(plan, inherited, is_here);
  switch (via) {
    case Via::kLocal:
      for (const auto* hosts : {&plan.hosts, &plan.server_hosts}) {
        for (const HostSlots& host : *hosts) {
          if (is_here(host.host)) continue;
          return Status(Code::kInvalidArgument,
                        fmt::format("host '{}' is not this one, and --via local starts nothing "
                                    "elsewhere; --via ssh does",
                                    host.host));
        }
      }
      if (Status status = check_slots(plan, plan.hosts, "the hosts have"); !status.ok()) {
        return status;
      }
      return all_here(plan, is_here);
    case Via::kSsh:
      return over_hosts(plan, via, plan.hosts, is_here, "the hosts have");
    case Via::kMpi:
      if (Status status = check_slots(plan, plan.hosts, "the hosts have"); !status.ok()) {
        return status;
      }
      return by_rank(plan);
    case Via::kNodes:
      return over_hosts(
          plan, via, plan.hosts, [](const std::string& host) { return host == "node 0"; },
          "the nodes have");
    case Via::kSlurm:
      break;
  }
  const Result<std::optional<Allocation>> allocation = slurm_allocation(inherited);
  if (!allocation.ok()) return allocation.status();
  if (!allocation->has_value()) {
    return Status(Code::kInvalidArgument,
                  "--via slurm needs an allocation, and SLURM_JOB_ID is not set: run it inside "
                  "salloc or sbatch");
  }
  if (Status status = check_allocated(plan, **allocation); !status.ok()) return status;
  std::vector<HostSlots> nodes;
  for (const std::uint32_t slots : (*allocation)->part_for(plan).slots) {
    nodes.push_back({fmt::format("node {} of {}", nodes.size(), (*allocation)->name), slots});
  }
  const std::string where = fmt::format(
      "{} (SLURM_JOB_ID; --via local starts all on this host) has", (*allocation)->name);
  return over_hosts(plan, via, nodes, [](const std::string&) { return false; }, where);
}

std::vector<LocalRank> local_ranks(const std::vector<JobMember>& members,
                                   const Placement& placement,
                                   const std::vector<std::string>& machines) {
  std::vector<LocalRank> ranks(members.size());
  std::map<std::string, std::uint32_t> workers;
  for (const bool counting : {true, false}) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].role != Role::kWorker) continue;
      std::uint32_t& seen = workers[machines[placement.site_of[i]]];
      if (counting) {
        ranks[i].rank = seen++;
      } else {
        ranks[i].size = seen;
      }
    }
  }
  return ranks;
}

}  // namespace stretto::launch
