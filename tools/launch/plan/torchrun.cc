// SPDX-License-Identifier: Apache-2.0
// torchrun runs on each host. stretto-launch runs once if hosts are named, else on each host: then
// node 0 starts the job, and the launchers of other nodes are its agents.
#include "tools/launch/plan/torchrun.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "common/config/config.h"
#include "tools/launch/plan/values.h"

namespace stretto::launch {
namespace {

constexpr std::uint32_t kMostPorts = 65535;

Status contradiction(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

// Parses HOST or HOST:PORT; port 0: a free port.
Status read_endpoint(const std::string& spelling, const std::string& value, std::string& host,
                     std::uint32_t& port) {
  const bool has_port = value.find(':') != std::string::npos;
  const Result<HostPort> address = parse_host_port(has_port ? value : value + ":0");
  if (!address.ok()) {
    return contradiction(
        fmt::format("{} is '{}', wanted HOST:PORT: where the job's scheduler "
                    "listens, port 0 for a free one",
                    spelling, value));
  }
  host = address->host;
  port = address->port;
  return {};
}

std::uint32_t distinct_hosts(const Plan& plan) {
  std::set<std::string> names;
  for (const HostSlots& host : plan.hosts) {
    names.insert(is_loopback(host.host) ? "localhost" : host.host);
  }
  return static_cast<std::uint32_t>(names.size());
}

}  // namespace

bool TorchrunFlags::has(Flag flag) {
  switch (flag) {
    case Flag::kProcessesPerNode:
    case Flag::kNodes:
    case Flag::kNodeRank:
    case Flag::kStandalone:
    case Flag::kRendezvousEndpoint:
    case Flag::kRendezvousBackend:
    case Flag::kMasterAddress:
    case Flag::kMasterPort:
    case Flag::kModule:
    case Flag::kNoPython:
      return true;
    default:
      return false;
  }
}

Status TorchrunFlags::take(Flag flag, const std::string& spelling, const std::string& value) {
  std::uint32_t port = 0;
  switch (flag) {
    case Flag::kProcessesPerNode:
      per_node_spelling_ = spelling;
      if (value == "gpu" || value == "cpu" || value == "auto") {
        return contradiction(fmt::format(
            "{} is '{}', wanted a whole number: the launcher counts no devices; $(nproc) is the "
            "number of processors, and nvidia-smi -L lists GPUs",
            spelling, value));
      }
      return read_number(spelling, value, kMaxWorkers, per_node_);
    case Flag::kNodes:
      return read_nodes(spelling, value);
    case Flag::kNodeRank:
      return read_number(spelling, value, kMaxWorkers, node_rank_.emplace(), 0);
    case Flag::kStandalone:
      standalone_ = true;
      return {};
    case Flag::kModule:
      module_ = true;
      return {};
    case Flag::kNoPython:
      no_python_ = true;
      return {};
    case Flag::kRendezvousEndpoint:
      return read_endpoint(spelling, value, endpoint_host_, endpoint_port_);
    case Flag::kRendezvousBackend:
      if (value == "c10d" || value == "static") return {};
      return contradiction(fmt::format(
          "{} is '{}', wanted c10d or static: processes meet at the job's scheduler; leave it out",
          spelling, value));
    case Flag::kMasterPort:
      master_port_ = value;
      return read_number(spelling, value, kMostPorts, port);
    default:
      master_address_ = value;
      return value.empty() ? contradiction(fmt::format("{} is empty, wanted a host", spelling))
                           : Status();
  }
}

// N:N means N.
Status TorchrunFlags::read_nodes(const std::string& spelling, const std::string& value) {
  Status status = read_range(spelling, value, kMaxWorkers, least_nodes_, most_nodes_);
  if (least_nodes_ == most_nodes_) least_nodes_ = 0;
  return status;
}

Status TorchrunFlags::check(const Plan& plan, std::uint32_t hosts) const {
  if (per_node_ != 0 && plan.workers_given) {
    return contradiction(
        fmt::format("{} counts the workers of each host, and --workers those of the job; give one "
                    "of them",
                    per_node_spelling_));
  }
  if (least_nodes_ != 0 && plan.workers_given) {
    return contradiction(
        "--nnodes MIN:MAX makes an elastic job of --nproc-per-node workers on each host; give "
        "--workers MIN:MAX alone, or leave --workers out");
  }
  if (standalone_ && (most_nodes_ > 1 || hosts > 1)) {
    return contradiction(
        fmt::format("--standalone is for a job of one host, and there are {}; leave it out",
                    std::max(most_nodes_, hosts)));
  }
  if (module_ && no_python_) {
    return contradiction(
        "--module names a module of Python, and --no-python runs PROGRAM without "
        "Python; leave one out");
  }
  if (is_by_hand(plan)) return check_by_hand(plan);
  if (node_rank_.value_or(0) != 0) {
    return contradiction(
        fmt::format("--node-rank is {}, wanted also --nnodes N and --rdzv-endpoint HOST:PORT of "
                    "node 0, on each host and without -H",
                    *node_rank_));
  }
  const std::uint32_t least = least_nodes_ == 0 ? most_nodes_ : least_nodes_;
  if (most_nodes_ != 0 && hosts != 0 && (hosts < least || hosts > most_nodes_)) {
    return contradiction(
        fmt::format("--nnodes is {}, and {} hosts are named; name as many, or leave it out",
                    least_nodes_ == 0 ? std::to_string(most_nodes_)
                                      : fmt::format("{}:{}", least_nodes_, most_nodes_),
                    hosts));
  }
  return {};
}

bool TorchrunFlags::is_by_hand(const Plan& plan) const {
  return most_nodes_ > 1 && plan.hosts.empty() && !plan.via && endpoint_port_ != 0 &&
         plan.action != Action::kPrint;
}

Status TorchrunFlags::check_by_hand(const Plan& plan) const {
  if (least_nodes_ != 0) {
    return contradiction(
        fmt::format("--nnodes is {}:{}, wanted one number where each host runs this command; an "
                    "elastic job names its hosts by -H HOST,... or --hostfile FILE",
                    least_nodes_, most_nodes_));
  }
  if (node_rank_.value_or(0) >= most_nodes_) {
    return contradiction(fmt::format("--node-rank is {}, wanted less than --nnodes, which is {}",
                                     *node_rank_, most_nodes_));
  }
  if (plan.restarts == 0 || plan.checkpoint.empty()) return {};
  return contradiction(
      "--restarts with --checkpoint begins the job again on all hosts, which it must reach: name "
      "them by -H HOST,... or --hostfile FILE, or leave out --restarts");
}

Status TorchrunFlags::check_addresses(const Plan& plan) const {
  const std::string& host = plan.scheduler_host;
  const bool by_hand = is_by_hand(plan);
  if (!by_hand && !host.empty() && !endpoint_host_.empty() && host != endpoint_host_) {
    return contradiction(
        fmt::format("--scheduler-host is {}, and --rdzv-endpoint names {}: both say where the "
                    "scheduler runs; give one of them",
                    host, endpoint_host_));
  }
  if (!by_hand && plan.port != 0 && endpoint_port_ != 0 && plan.port != endpoint_port_) {
    return contradiction(
        fmt::format("--port is {}, and --rdzv-endpoint has port {}: both say where the scheduler "
                    "listens; give one of them",
                    plan.port, endpoint_port_));
  }
  for (const auto& [name, value] : plan.added_environment) {
    const bool is_address = name == "MASTER_ADDR";
    if (!is_address && name != "MASTER_PORT") continue;
    const std::string& own = is_address ? master_address_ : master_port_;
    if (own.empty() || own == value) continue;
    return contradiction(fmt::format("{} is {}, and --env {} is {}; give one of them",
                                     is_address ? "--master-addr" : "--master-port", own, name,
                                     value));
  }
  return {};
}

Status TorchrunFlags::apply_to(Plan& plan) const {
  const std::uint32_t hosts = distinct_hosts(plan);
  if (Status status = check(plan, hosts); !status.ok()) return status;
  if (Status status = check_addresses(plan); !status.ok()) return status;
  const bool by_hand = is_by_hand(plan);
  plan.nodes = most_nodes_;
  plan.module = module_;
  plan.no_python = no_python_;
  const bool by_slots = plan.workers_given || (hosts != 0 && least_nodes_ == 0);
  const std::uint32_t usual = most_nodes_ == 0 || by_slots ? 0 : 1;  // As in torchrun.
  const std::uint32_t per_node = per_node_ == 0 ? usual : per_node_;
  if (per_node != 0) {
    const std::uint64_t nodes = std::max({most_nodes_, hosts, std::uint32_t{1}});
    if (per_node * nodes > kMaxWorkers) {
      return contradiction(fmt::format("{} workers on each of {} hosts are {}, wanted {} at most",
                                       per_node, nodes, per_node * nodes, kMaxWorkers));
    }
    plan.workers = static_cast<std::uint32_t>(per_node * nodes);
    plan.least_workers = per_node * least_nodes_;
    plan.workers_given = true;
    plan.per_node = per_node;
    plan.hosts = merged(plan.hosts);
    for (HostSlots& host : plan.hosts) host.slots = per_node;
  }
  if (by_hand) {
    plan.via = Via::kNodes;
    plan.node_rank = node_rank_;
    plan.meeting_point = {endpoint_host_, static_cast<std::uint16_t>(endpoint_port_)};
    for (std::uint32_t node = 0; node < most_nodes_; ++node) {
      plan.hosts.push_back({fmt::format("node {}", node), std::max(per_node, std::uint32_t{1})});
    }
  } else {
    if (!endpoint_host_.empty()) plan.scheduler_host = endpoint_host_;
    if (endpoint_port_ != 0) plan.port = endpoint_port_;
  }
  if (!master_address_.empty()) plan.added_environment.emplace_back("MASTER_ADDR", master_address_);
  if (!master_port_.empty()) plan.added_environment.emplace_back("MASTER_PORT", master_port_);
  return {};
}

}  // namespace stretto::launch
