// SPDX-License-Identifier: Apache-2.0
// Starts one remote shell per host, or one mpirun for all; then treats all hosts alike.
#include "tools/launch/remote/remote_hosts.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "common/config/config.h"
#include "tools/launch/plan/rendezvous.h"
#include "tools/launch/process/system.h"
#include "tools/launch/remote/agent.h"

namespace stretto::launch {

RemoteHosts::RemoteHosts(Poller& poller, RemoteHostEvents& events, const Clock& clock,
                         const Plan& plan, const LaunchContext& ingredients, OutputRelay& relay,
                         OnChild on_child)
    : poller_(poller),
      events_(events),
      clock_(clock),
      plan_(plan),
      ingredients_(ingredients),
      placement_(ingredients.placement),
      relay_(relay),
      on_child_(std::move(on_child)) {}

Status RemoteHosts::gather(const SignalState& signals) {
  STRETTO_CHECK(hosts_.empty());
  for (std::size_t site = 0; site < placement_.sites.size(); ++site) {
    const bool wanted = site > 0 && !placement_.members_at(site).empty();
    hosts_.push_back(wanted ? std::make_unique<RemoteHost>(poller_, events_, clock_,
                                                           placement_.sites[site].name,
                                                           ingredients_.directory)
                            : nullptr);
  }
  if (placement_.via == Via::kMpi) return gather_by_mpirun(signals);
  if (placement_.via == Via::kNodes) return gather_nodes();
  if (placement_.via == Via::kSlurm) {
    relay_.say(
        fmt::format("{} nodes of Slurm's allocation take part", placement_.sites.size() - 1));
  }
  for (std::size_t site = 1; site < hosts_.size(); ++site) {
    if (!hosts_[site]) continue;
    const Result<Command> carrier =
        carrier_of(plan_, placement_, site, ingredients_.programs, ingredients_.inherited);
    if (!carrier.ok()) return carrier.status();
    if (Status status = hosts_[site]->open(*carrier, signals); !status.ok()) return status;
    on_child_(hosts_[site]->carrier_id());
  }
  return {};
}

// The launchers of other nodes connect themselves, with the job's token.
Status RemoteHosts::gather_nodes() {
  const HostPort& at = plan_.meeting_point;
  gate_ = std::make_unique<Gate>(poller_, ingredients_.token);
  if (Status status = gate_->open(is_loopback(at.host) ? at.host : "", at.port); !status.ok()) {
    return {status.code(), fmt::format("--rdzv-endpoint {}: {}", at.text(), status.cause())};
  }
  relay_.say(fmt::format("waits at {} for {} other nodes", at.text(), placement_.sites.size() - 1));
  relay_.write();  // The next iteration begins when a node connects.
  return {};
}

Status RemoteHosts::gather_by_mpirun(const SignalState& signals) {
  Result<Command> mpirun =
      mpirun_of(plan_, placement_, ingredients_.programs, ingredients_.inherited);
  if (!mpirun.ok()) return mpirun.status();
  const Result<std::string> secret = job_token({});
  if (!secret.ok()) return secret.status();
  const bool one_host = mpirun_stays_here(plan_, ingredients_.inherited, is_this_host);
  gate_ = std::make_unique<Gate>(poller_, *secret);
  if (Status status = gate_->open(one_host ? "127.0.0.1" : ""); !status.ok()) return status;
  mpirun->environment[kLaunchSecret] = *secret;
  mpirun->environment[kLaunchAddresses] =
      addresses_to_come_to(plan_.interface, interface_addresses(), one_host, gate_->port());
  starter_ = std::make_unique<RemoteShell>(
      poller_, [this](std::string_view line) { relay_.line("[mpirun] ", line); },
      [this] { take_starter_end(); });
  if (Status status = starter_->start(*mpirun, signals, false); !status.ok()) return status;
  on_child_(starter_->process_id());
  return {};
}

void RemoteHosts::take_arrivals() {
  if (!gate_) return;
  std::vector<Gate::Arrival> arrivals = gate_->take_arrivals();
  for (Gate::Arrival& arrival : arrivals) {
    RemoteHost* host = host_of(arrival.hello);
    if (host != nullptr && host->state() == RemoteHost::State::kComing) {
      host->adopt(std::move(arrival.link), arrival.hello);
    } else {
      relay_.say(fmt::format("warning: an agent came as rank {}, which is not waited for",
                             arrival.hello.rank));
    }
  }
}

// A node without a rank is the first missing host.
RemoteHost* RemoteHosts::host_of(const AgentHello& hello) {
  if (hello.rank < 0 && placement_.via == Via::kNodes) {
    for (const std::unique_ptr<RemoteHost>& host : hosts_) {
      if (host && host->state() == RemoteHost::State::kComing) return host.get();
    }
  }
  const bool exists = hello.rank >= 0 && hello.rank < static_cast<std::int64_t>(hosts_.size()) - 1;
  return exists ? hosts_[static_cast<std::size_t>(hello.rank) + 1].get() : nullptr;
}

// Gives up all hosts: connected ranks would otherwise continue without mpirun.
void RemoteHosts::take_starter_end() {
  if (finishing_) return;
  const std::string words =
      starter_->last_words().empty() ? "" : fmt::format(": {}", starter_->last_words());
  const Status why(Code::kNetwork, fmt::format("mpirun {}{}", starter_->exit()->text(), words));
  for_each([&why](RemoteHost& host) { host.give_up(why); });
}

bool RemoteHosts::all_here() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) {
    return !host || host->state() == RemoteHost::State::kHere;
  });
}

std::vector<AgentHello> RemoteHosts::end_gathering(AgentHello own) {
  STRETTO_CHECK(all_here());
  gate_.reset();
  std::vector<AgentHello> hellos{std::move(own)};
  for (std::size_t site = 1; site < hosts_.size(); ++site) {
    hellos.push_back(hosts_[site] ? hosts_[site]->hello() : AgentHello{});
  }
  return hellos;
}

void RemoteHosts::give_up_late() {
  for (const std::unique_ptr<RemoteHost>& host : hosts_) {
    if (!host || host->state() != RemoteHost::State::kComing) continue;
    host->give_up({Code::kRendezvousTimeout,
                   fmt::format("{} did not answer within {} s", host->name(),
                               std::chrono::duration<double>(plan_.limits.start).count())});
    return;
  }
}

std::size_t RemoteHosts::site_of(const RemoteHost& host) const {
  const auto found = std::find_if(hosts_.begin(), hosts_.end(),
                                  [&host](const auto& one) { return one.get() == &host; });
  STRETTO_CHECK(found != hosts_.end());
  return static_cast<std::size_t>(found - hosts_.begin());
}

void RemoteHosts::on_time(Time now, std::optional<Duration> silence) {
  for_each([now, silence](RemoteHost& host) { host.on_time(now, silence); });
}

Time RemoteHosts::deadline(std::optional<Duration> silence) const {
  Time next = Time::max();
  for_each([&next, silence](const RemoteHost& host) {
    next = std::min(next, host.deadline(silence).value_or(Time::max()));
  });
  return next;
}

void RemoteHosts::pause(std::size_t stream, bool paused) {
  for_each([stream, paused](RemoteHost& host) { host.pause(stream, paused); });
}

std::size_t RemoteHosts::orphans() const {
  std::size_t count = 0;
  for_each([&count](const RemoteHost& host) { count += host.orphans(); });
  return count;
}

void RemoteHosts::finish(bool failed) {
  finishing_ = true;
  const bool tells = failed && placement_.via == Via::kNodes;
  for_each([this, tells](RemoteHost& host) {
    if (starter_ && host.state() != RemoteHost::State::kHere)
      starter_->terminate();  // mpirun would wait for that rank.
    host.finish(plan_.limits.reap, tells);
  });
}

bool RemoteHosts::over() const {
  const bool all = std::all_of(hosts_.begin(), hosts_.end(),
                               [](const auto& host) { return !host || host->over(); });
  return all && !(starter_ && starter_->running());
}

void RemoteHosts::give_up_unfinished() {
  for_each([](RemoteHost& host) {
    if (host.over()) return;
    host.give_up({Code::kTimeout,
                  fmt::format("{} does not say that its processes have ended", host.name())});
  });
}

std::size_t RemoteHosts::left() const {
  std::size_t count = 0;
  for_each([&count](const RemoteHost& host) { count += host.left(); });
  return count;
}

}  // namespace stretto::launch
