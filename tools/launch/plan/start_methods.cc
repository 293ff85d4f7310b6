// SPDX-License-Identifier: Apache-2.0
// The table of flags that a start method refuses; a method honours every other flag.
#include "tools/launch/plan/start_methods.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace stretto::launch {
namespace {

constexpr unsigned bit(StartMethod method) { return 1U << static_cast<unsigned>(method); }

constexpr unsigned kOnLocal = bit(StartMethod::kLocal);
constexpr unsigned kOnMpi = bit(StartMethod::kMpi);
constexpr unsigned kOnSlurm = bit(StartMethod::kSlurm);
constexpr unsigned kOnNodes = bit(StartMethod::kNodes);
constexpr unsigned kOnKubernetes = bit(StartMethod::kKubernetes);
constexpr unsigned kOnAllButKubernetes =
    kOnLocal | bit(StartMethod::kSsh) | kOnMpi | kOnSlurm | kOnNodes;

struct Rule {
  Flag flag;
  unsigned methods;
  std::string_view remedy;
};

constexpr std::string_view kNodes = "Kubernetes chooses the node of each pod; give -n and -s";
constexpr std::string_view kManifest =
    "it goes into manifests alone; give --print k8s, or leave "
    "it out";
constexpr std::string_view kChosenElsewhere =
    "the place of servers and scheduler is not chosen there; leave it out, or use --via ssh";

constexpr std::string_view kByHand =
    "the launcher of node 0 reaches other hosts only once theirs have come; leave it out, or name "
    "hosts by -H";

constexpr Rule kRules[] = {
    {Flag::kVia, kOnKubernetes, "Kubernetes starts the pods; leave it out"},
    {Flag::kHosts, kOnKubernetes, kNodes},
    {Flag::kHostfile, kOnKubernetes, kNodes},
    {Flag::kWorkerHostfile, kOnKubernetes, kNodes},
    {Flag::kServerHostfile, kOnKubernetes, kNodes},
    {Flag::kSchedulerHost, kOnKubernetes, kNodes},
    {Flag::kOversubscribe, kOnKubernetes, kNodes},
    {Flag::kRendezvousEndpoint, kOnKubernetes, kNodes},
    {Flag::kHosts, kOnSlurm, "the allocation has the hosts; name none, or use --via ssh"},
    {Flag::kHostfile, kOnSlurm, "the allocation has the hosts; name none, or use --via ssh"},
    {Flag::kWorkerHostfile, kOnSlurm, "the allocation has the hosts; name none, or use --via ssh"},
    {Flag::kServerHostfile, kOnMpi | kOnSlurm, kChosenElsewhere},
    {Flag::kSchedulerHost, kOnMpi | kOnSlurm, kChosenElsewhere},
    {Flag::kServerHostfile, kOnNodes, kByHand},
    {Flag::kSchedulerHost, kOnNodes, kByHand},
    {Flag::kStarter, kOnNodes, kByHand},
    {Flag::kCheck, kOnNodes, kByHand},
    {Flag::kDryRun, kOnNodes, kByHand},
    {Flag::kRendezvousEndpoint, kOnMpi | kOnSlurm,
     "the place of the scheduler is not chosen there; "
     "leave it out, or give --port"},
    {Flag::kInterface, kOnKubernetes, "each pod has the address of its own; leave it out"},
    {Flag::kStarter, kOnLocal, "nothing runs on another host; name hosts by -H, or leave it out"},
    {Flag::kStarter, kOnKubernetes, "Kubernetes starts the pods; leave it out"},
    {Flag::kLogDirectory, kOnKubernetes, "kubectl logs shows what pods print; leave it out"},
    {Flag::kSettle, kOnKubernetes, "Kubernetes supervises the pods; leave it out"},
    {Flag::kDrain, kOnKubernetes, "Kubernetes supervises the pods; leave it out"},
    {Flag::kNamespace, kOnAllButKubernetes, kManifest},
    {Flag::kImage, kOnAllButKubernetes, kManifest},
    {Flag::kProcessors, kOnAllButKubernetes, kManifest},
    {Flag::kMemory, kOnAllButKubernetes, kManifest},
};

Status refused(std::string_view flag, StartMethod method, std::string_view remedy) {
  return {Code::kInvalidArgument,
          fmt::format("{} has no effect with {}: {}", flag, name_of(method), remedy)};
}

// The flag for the scheduler's host, as the caller typed it.
std::string flag_of_scheduler_host(const Plan& plan) {
  for (const GivenFlag& given : plan.given) {
    if (given.flag == Flag::kRendezvousEndpoint) {
      return fmt::format("{} {}", given.spelling, given.value);
    }
  }
  return "--scheduler-host " + plan.scheduler_host;
}

// The folders of a pod are not those of this host.
Status check_paths_in_pods(const Plan& plan) {
  for (const GivenFlag& given : plan.given) {
    const bool path = given.flag == Flag::kCheckpoint || given.flag == Flag::kDirectory ||
                      given.flag == Flag::kProgramDirectory || given.flag == Flag::kTrace ||
                      (given.flag == Flag::kResume && resumes_from_path(plan));
    if (!path || std::filesystem::path(given.value).is_absolute()) continue;
    return {Code::kInvalidArgument,
            fmt::format("{} is '{}', wanted with --print k8s a path that begins with /, as each "
                        "pod sees it",
                        given.spelling, given.value)};
  }
  return {};
}

Status check_restarts_of_pods(const Plan& plan) {
  if (plan.restarts == 0 || plan.least_workers != 0) return {};
  return {Code::kInvalidArgument,
          "--restarts with --print is for jobs that go on without a worker that is lost: give "
          "--workers MIN:MAX"};
}

}  // namespace

StartMethod method_of(Via via) {
  switch (via) {
    case Via::kLocal:
      return StartMethod::kLocal;
    case Via::kSsh:
      return StartMethod::kSsh;
    case Via::kMpi:
      return StartMethod::kMpi;
    case Via::kNodes:
      return StartMethod::kNodes;
    case Via::kSlurm:
      break;
  }
  return StartMethod::kSlurm;
}

std::string_view name_of(StartMethod method) {
  switch (method) {
    case StartMethod::kLocal:
      return "--via local";
    case StartMethod::kSsh:
      return "--via ssh";
    case StartMethod::kMpi:
      return "--via mpi";
    case StartMethod::kSlurm:
      return "--via slurm";
    case StartMethod::kNodes:
      return "--nnodes and --rdzv-endpoint";
    case StartMethod::kKubernetes:
      break;
  }
  return "--print k8s";
}

std::string_view refusal_of(Flag flag, StartMethod method) {
  const auto* rule = std::ranges::find_if(kRules, [&](const Rule& one) {
    return one.flag == flag && (one.methods & bit(method)) != 0;
  });
  return rule == std::end(kRules) ? std::string_view() : rule->remedy;
}

Status check_flags(const Plan& plan, StartMethod method,
                   const std::function<bool(const std::string&)>& is_here) {
  // A list of hosts may name only this host; then no starter is needed.
  const bool names_hosts = !plan.hosts.empty() || !plan.server_hosts.empty();
  for (const GivenFlag& given : plan.given) {
    const std::string_view remedy = refusal_of(given.flag, method);
    if (given.flag == Flag::kStarter && method == StartMethod::kLocal && names_hosts) continue;
    if (!remedy.empty()) return refused(given.spelling, method, remedy);
  }
  if (method == StartMethod::kLocal && !plan.scheduler_host.empty() &&
      !is_here(plan.scheduler_host)) {
    return refused(flag_of_scheduler_host(plan), method,
                   "all processes run on this host; leave it out, or name hosts by -H");
  }
  if (method == StartMethod::kLocal && plan.nodes > 1) {
    return refused(fmt::format("--nnodes {}", plan.nodes), method,
                   "one launcher starts the processes of all hosts: run it once and name the hosts "
                   "by -H HOST,... or --hostfile FILE; or run it on each host with --rdzv-endpoint "
                   "HOST:PORT of node 0 and --node-rank");
  }
  for (const HostSlots& host : plan.hosts) {
    if (method != StartMethod::kMpi || host.host.find(':') == std::string::npos) continue;
    return {Code::kInvalidArgument,
            fmt::format("host '{}' is an address of IPv6, which a list of hosts for mpirun cannot "
                        "hold; give a name of that host, or --via ssh",
                        host.host)};
  }
  for (const GivenFlag& given : plan.given) {
    const bool per_node = given.flag == Flag::kProcessesPerNode;
    if (names_hosts || (!per_node && given.flag != Flag::kNodes)) continue;
    if (method == StartMethod::kMpi) {
      return refused(given.spelling, method,
                     "mpirun chooses the node of each rank; name the hosts by -H or --hostfile, or "
                     "give -n for the whole job");
    }
    if (method != StartMethod::kSlurm || plan.nodes != 0) continue;
    return refused(given.spelling, method, "give --nnodes N beside it, or -n for the whole job");
  }
  if (method != StartMethod::kKubernetes) return {};
  if (Status status = check_restarts_of_pods(plan); !status.ok()) return status;
  return check_paths_in_pods(plan);
}

}  // namespace stretto::launch
