// SPDX-License-Identifier: Apache-2.0
// Checks remote hosts through agents, without starting members.
#include "tools/launch/preflight/remote_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "common/network/network.h"
#include "tools/launch/plan/rendezvous.h"
#include "tools/launch/process/poller.h"
#include "tools/launch/process/system.h"
#include "tools/launch/remote/agent.h"
#include "tools/launch/remote/remote_host.h"
#include "tools/launch/remote/tcp.h"

namespace stretto::launch {
namespace {

using Kind = AgentFrame::Kind;

/// Thread: loop.
class Survey final : private RemoteHostEvents {
 public:
  Survey(const Plan& plan, const Placement& placement, const std::string& directory,
         const Programs& programs, const Variables& inherited, const Clock& clock)
      : plan_(plan),
        placement_(placement),
        directory_(directory),
        programs_(programs),
        inherited_(inherited),
        clock_(clock) {}

  std::vector<Finding> run(const SignalState& signals) {
    RemoteHostEvents& events = *this;
    for (std::size_t site = 1; site < placement_.sites.size(); ++site) {
      if (placement_.members_at(site).empty()) continue;
      auto host = std::make_unique<RemoteHost>(poller_, events, clock_, placement_.sites[site].name,
                                               directory_);
      const Result<Command> carrier = carrier_of(plan_, placement_, site, programs_, inherited_);
      const Status status = carrier.ok() ? host->open(*carrier, signals) : carrier.status();
      if (!status.ok()) {
        findings_.push_back({false, status.cause()});
        continue;
      }
      sites_[host.get()] = site;
      hosts_.push_back(std::move(host));
    }
    await_answers(clock_.now() + plan_.limits.start);
    if (std::all_of(findings_.begin(), findings_.end(), [](const auto& one) { return one.fine; })) {
      test_connections();
    }
    for (const auto& host : hosts_) host->finish(plan_.limits.reap);
    finishing_ = true;
    const Time end = clock_.now() + plan_.limits.reap;
    while (!over() && clock_.now() < end) turn(end);
    return std::move(findings_);
  }

 private:
  void on_refused(std::size_t, Status) override {}
  void on_ready(std::string_view) override {}
  void on_output(std::size_t, std::size_t, std::string_view) override {}
  void on_ended(std::size_t, Exit) override {}
  void on_signalled(RemoteHost&, int) override {}
  void on_note(const RemoteHost&, std::string_view) override {}

  void await_answers(Time until) {
    while (!all_answered() && clock_.now() < until) turn(until);
    for (const auto& host : hosts_) {
      if (answered_.contains(host.get())) continue;
      findings_.push_back({false, fmt::format("{} does not answer", host->name())});
    }
  }

  // A job needs connections in both directions between all of its hosts.
  void test_connections() {
    OpenPort own;
    if (!placement_.members_at(0).empty()) {
      Result<OpenPort> opened = open_port_to_all(port_at(0));
      if (!opened.ok()) return findings_.push_back({false, opened.status().cause()});
      own = std::move(*opened);
      ports_[0] = own.port;
    }
    if (ports_.size() < 2 || !find_addresses()) return;
    answered_.clear();
    for (const auto& host : hosts_) {
      host->ask({Kind::kReach, 0, 0, 0, addresses_but(sites_.at(host.get()))});
    }
    if (own.socket.is_open()) {
      note_reached(0, try_to_reach(addresses_but(0), kReachPatience, clock_));
    }
    await_answers(clock_.now() + kReachPatience * static_cast<int>(ports_.size()) +
                  plan_.limits.start);
    if (!findings_.back().fine) return;
    findings_.push_back({true, fmt::format("{} hosts reach each other by TCP", ports_.size())});
  }

  bool find_addresses() {
    std::vector<AgentHello> hellos(placement_.sites.size());
    hellos[0] = hello_from({}, host_name(), interface_addresses());
    for (const auto& [host, site] : sites_) hellos[site] = host->hello();
    for (const auto& [site, port] : ports_) {
      const Result<std::string> address = address_at(site, plan_, placement_, hellos);
      if (!address.ok()) {
        findings_.push_back({false, address.status().cause()});
        return false;
      }
      addresses_[site] = HostPort{*address, port}.text();
    }
    return true;
  }

  std::vector<std::string> addresses_but(std::size_t site) const {
    std::vector<std::string> others;
    for (const auto& [other, address] : addresses_) {
      if (other != site) others.push_back(address);
    }
    return others;
  }

  void note_reached(std::size_t site, const std::vector<std::string>& causes) {
    std::size_t next = 0;
    for (const auto& [other, address] : addresses_) {
      if (other == site || next == causes.size()) continue;
      const std::string& cause = causes[next++];
      if (cause.empty()) continue;
      findings_.push_back(
          {false, fmt::format("{} cannot reach {} at {} by TCP: {}; open the firewall between the "
                              "hosts, or name another network by --interface",
                              name_of(site), name_of(other), address, cause)});
    }
  }

  std::string name_of(std::size_t site) const {
    return site == 0 ? "this host" : placement_.sites[site].name;
  }

  // The port of the scheduler or of the first shard; 0: the kernel chooses.
  std::uint16_t port_at(std::size_t site) const {
    if (plan_.port == 0) return 0;
    return static_cast<std::uint16_t>(plan_.port + (placement_.site_of.front() == site ? 0 : 1));
  }

  void on_here(RemoteHost& host) override {
    const std::vector<JobMember> members = members_of(plan_);
    std::vector<std::string> programs;
    for (const Role role : {Role::kScheduler, Role::kServer, Role::kWorker}) {
      for (const std::size_t member : placement_.members_at(sites_.at(&host))) {
        if (members[member].role != role) continue;
        if (role == Role::kWorker && plan_.command.empty()) break;
        programs.push_back(role == Role::kScheduler ? programs_.scheduler
                           : role == Role::kServer  ? programs_.server
                                                    : plan_.command.front());
        break;
      }
    }
    std::string search_path;
    for (const auto& [name, value] : inherited_) {
      if (name == "PATH") search_path = value;
    }
    for (const auto& [name, value] : plan_.added_environment) {
      if (name == "PATH") search_path = value;
    }
    AgentFrame look{Kind::kLook, 0, 0, port_at(sites_.at(&host)), {directory_, search_path}};
    look.texts.insert(look.texts.end(), programs.begin(), programs.end());
    host.ask(look);
  }

  void on_answer(RemoteHost& host, const AgentFrame& frame) override {
    if (frame.kind == Kind::kFound) return note_found(host, frame);
    if (answered_.insert(&host).second) note_reached(sites_.at(&host), frame.texts);
  }

  void note_found(const RemoteHost& host, const AgentFrame& frame) {
    answered_.insert(&host);
    ports_[sites_.at(&host)] = static_cast<std::uint16_t>(frame.number);
    bool fine = true;
    for (const std::string& problem : frame.texts) {
      if (problem.empty()) continue;
      fine = false;
      findings_.push_back({false, fmt::format("{}: {}", host.name(), problem)});
    }
    if (!fine) return;
    findings_.push_back({true, fmt::format("{} ({}) has stretto-launch {} and all programs",
                                           host.name(), host.hello().host, host.hello().version)});
  }

  bool on_lost(RemoteHost& host, Status why, Time) override {
    if (!finishing_ && answered_.insert(&host).second) findings_.push_back({false, why.cause()});
    return false;
  }

  void turn(Time until) {
    Time next = until;
    for (const auto& host : hosts_) next = std::min(next, host->deadline({}).value_or(next));
    poller_.turn(next - clock_.now());
    for (const auto& host : hosts_) host->on_time(clock_.now(), {});
  }

  bool all_answered() const { return answered_.size() == hosts_.size(); }
  bool over() const {
    return std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return host->over(); });
  }

  const Plan& plan_;
  const Placement& placement_;
  const std::string& directory_;
  const Programs& programs_;
  const Variables& inherited_;
  const Clock& clock_;
  Poller poller_;
  std::vector<std::unique_ptr<RemoteHost>> hosts_;
  std::map<const RemoteHost*, std::size_t> sites_;
  std::map<std::size_t, std::uint16_t> ports_;    // By site: the port of its test listener.
  std::map<std::size_t, std::string> addresses_;  // By site: "host:port" of the listener.
  std::set<const RemoteHost*> answered_;          // Hosts that have answered or failed.
  std::vector<Finding> findings_;
  bool finishing_ = false;
};

}  // namespace

std::vector<Finding> survey(const Plan& plan, const Placement& placement,
                            const std::string& directory, const Programs& programs,
                            const Variables& inherited, const SignalState& signals,
                            const Clock& clock) {
  return Survey(plan, placement, directory, programs, inherited, clock).run(signals);
}

}  // namespace stretto::launch
