// SPDX-License-Identifier: Apache-2.0
// Finds addresses by the named interface, or else by the connections of agents.
#include "tools/launch/plan/rendezvous.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "common/config/config.h"

namespace stretto::launch {
namespace {

// The variables by which mpirun finds hosts: of Slurm, PBS, LSF and Grid Engine.
constexpr std::string_view kBatchVariables[] = {"SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS",
                                                "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"};

// The address that servers bind: with IPv6 if the scheduler's address is IPv6.
std::string every_address(const std::string& scheduler) {
  return scheduler.find(':') == std::string::npos ? "0.0.0.0" : "::";
}

bool is_address_of(const AgentHello& hello, const std::string& address) {
  return std::any_of(hello.interfaces.begin(), hello.interfaces.end(), [&](const std::string& one) {
    return one.substr(one.find('=') + 1) == address;
  });
}

std::string names_of(const AgentHello& hello) {
  std::string names;
  for (const std::string& one : hello.interfaces) names += (names.empty() ? "" : ", ") + one;
  return names.empty() ? "none" : names;
}

// True if the only node of a Slurm allocation is the launcher's, or if all launchers of nodes run
// on one host.
bool all_on_one_node(const Placement& placement, const std::vector<AgentHello>& hellos) {
  if (placement.via == Via::kNodes) {
    return std::all_of(hellos.begin() + 1, hellos.end(),
                       [](const AgentHello& hello) { return is_loopback(hello.launcher_address); });
  }
  return placement.via == Via::kSlurm &&
         std::all_of(hellos.begin(), hellos.end(), [&](const AgentHello& hello) {
           return hello.host.empty() || hello.host == hellos[0].host;
         });
}

class Finder {
 public:
  Finder(const Plan& plan, const Placement& placement, const std::vector<AgentHello>& hellos)
      : plan_(plan), placement_(placement), hellos_(hellos) {}

  // The address by which other hosts reach the processes of a site.
  Result<std::string> address_of(std::size_t site) const {
    const AgentHello& hello = hellos_[site];
    if (!plan_.interface.empty()) {
      std::string address = hello.address_of(plan_.interface);
      if (!address.empty()) return address;
      return Status(Code::kInvalidArgument,
                    fmt::format("--interface is '{}', and {} has no address there; it has {}",
                                plan_.interface, placement_.sites[site].name, names_of(hello)));
    }
    if (site == 0) return own_address();
    return hello.own_address.empty() ? hello.host : hello.own_address;
  }

 private:
  // This host's address, as the others see it.
  Result<std::string> own_address() const {
    std::string foreign;
    for (std::size_t site = 1; site < hellos_.size(); ++site) {
      const std::string& seen = hellos_[site].launcher_address;
      if (seen.empty() || is_loopback(seen)) continue;
      if (is_address_of(hellos_[0], seen)) return seen;
      foreign = seen;
    }
    for (const std::string& one : hellos_[0].interfaces) {
      const std::string address = one.substr(one.find('=') + 1);
      if (foreign.empty() && !is_loopback(address)) return address;
    }
    if (foreign.empty()) {
      return Status(Code::kNetwork,
                    "this host has no address but loopback, and the job has other "
                    "hosts");
    }
    return Status(
        Code::kNetwork,
        fmt::format("other hosts see this one as {}, which is none of its addresses ({}): is "
                    "there a gateway, or a jump host? --interface NAME says which address they "
                    "can reach; --scheduler-host HOST puts the scheduler on one of them",
                    foreign, names_of(hellos_[0])));
  }

  const Plan& plan_;
  const Placement& placement_;
  const std::vector<AgentHello>& hellos_;
};

}  // namespace

Result<Meeting> meet(const Plan& plan, const Placement& placement,
                     const std::vector<AgentHello>& hellos) {
  STRETTO_CHECK(hellos.size() <= placement.sites.size());
  Meeting meeting{"127.0.0.1", "127.0.0.1", std::vector<std::string>(placement.sites.size()),
                  std::vector<std::string>(placement.sites.size())};
  for (std::size_t site = 0; site < hellos.size(); ++site) {
    // Two names of ssh are two machines, whatever their host names. Launchers of nodes each count
    // their own workers, as torchrun does.
    const bool by_name = placement.via == Via::kSsh || placement.via == Via::kNodes;
    meeting.machines[site] = by_name ? placement.sites[site].name : hellos[site].host;
  }
  // A named interface means that workers of other hosts may join.
  const bool one_host = placement.only_here() || all_on_one_node(placement, hellos);
  if (one_host && plan.interface.empty()) return meeting;
  const Finder finder(plan, placement, hellos);
  const Result<std::string> scheduler = finder.address_of(placement.site_of.front());
  if (!scheduler.ok()) return scheduler.status();
  const std::size_t first_worker = 1 + plan.server_processes();  // Index in members_of().
  const Result<std::string> master = finder.address_of(placement.site_of[first_worker]);
  if (!master.ok()) return master.status();
  meeting.scheduler_host = *scheduler;
  meeting.master_host = *master;
  if (is_loopback(*scheduler)) return meeting;  // mpirun has put every rank on this host.
  for (std::size_t site = 0; site < placement.sites.size(); ++site) {
    if (placement.members_at(site).empty()) continue;
    meeting.bind_hosts[site] = every_address(*scheduler);
    if (plan.interface.empty()) continue;
    Result<std::string> address = finder.address_of(site);
    if (!address.ok()) return address.status();
    meeting.bind_hosts[site] = *address;
  }
  return meeting;
}

Result<std::string> address_at(std::size_t site, const Plan& plan, const Placement& placement,
                               const std::vector<AgentHello>& hellos) {
  return Finder(plan, placement, hellos).address_of(site);
}

bool mpirun_stays_here(const Plan& plan, const Variables& inherited,
                       const std::function<bool(const std::string&)>& is_here) {
  const bool allocated =
      std::any_of(std::begin(kBatchVariables), std::end(kBatchVariables),
                  [&](std::string_view name) { return inherited.contains(std::string(name)); });
  return !allocated && std::all_of(plan.hosts.begin(), plan.hosts.end(),
                                   [&](const HostSlots& one) { return is_here(one.host); });
}

std::string addresses_to_come_to(const std::string& interface,
                                 const std::vector<std::string>& interfaces, bool one_host,
                                 std::uint16_t port) {
  if (one_host) return fmt::format("127.0.0.1:{}", port);
  std::string addresses;
  for (const std::string& one : interfaces) {
    const std::string name = one.substr(0, one.find('='));
    const std::string address = one.substr(one.find('=') + 1);
    const bool wanted = interface.empty() ? !is_loopback(address) : name == interface;
    if (wanted) addresses += (addresses.empty() ? "" : ",") + HostPort{address, port}.text();
  }
  return addresses;
}

}  // namespace stretto::launch
