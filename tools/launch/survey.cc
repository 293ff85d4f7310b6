// SPDX-License-Identifier: Apache-2.0
// Far hosts that are only asked.
#include "tools/launch/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "tools/launch/far_host.h"
#include "tools/launch/poller.h"

namespace stretto::launch {
namespace {

/// Thread: loop.
class Survey final : private FarEvents {
 public:
  Survey(const Plan& plan, const Placement& placement, const Programs& programs,
         const Variables& inherited, const Clock& clock)
      : plan_(plan),
        placement_(placement),
        programs_(programs),
        inherited_(inherited),
        clock_(clock) {}

  std::vector<Finding> run(const std::string& directory, const SignalState& signals) {
    FarEvents& events = *this;
    for (std::size_t site = 1; site < placement_.sites.size(); ++site) {
      if (placement_.members_at(site).empty()) continue;
      auto host = std::make_unique<FarHost>(poller_, events, clock_, placement_.sites[site].name,
                                            directory);
      const Result<Command> carrier = carrier_of(plan_, placement_, site, programs_, inherited_);
      const Status status = carrier.ok() ? host->open(*carrier, signals) : carrier.status();
      if (!status.ok()) {
        findings_.push_back({false, status.cause()});
        continue;
      }
      sites_[host.get()] = site;
      hosts_.push_back(std::move(host));
    }
    const Time until = clock_.now() + plan_.limits.start;
    while (!all_answered() && clock_.now() < until) turn(until);
    for (const auto& host : hosts_) {
      if (!answered_.contains(host.get())) {
        findings_.push_back({false, fmt::format("{} does not answer", host->name())});
      }
      host->finish(plan_.limits.reap);
    }
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
  void on_signalled(FarHost&, int) override {}
  void on_note(const FarHost&, std::string_view) override {}

  void on_here(FarHost& host) override {
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
    host.look(search_path, programs);
  }

  void on_found(FarHost& host, const std::vector<std::string>& problems) override {
    answered_.insert(&host);
    bool fine = true;
    for (const std::string& problem : problems) {
      if (problem.empty()) continue;
      fine = false;
      findings_.push_back({false, fmt::format("{}: {}", host.name(), problem)});
    }
    if (!fine) return;
    findings_.push_back({true, fmt::format("{} ({}) has stretto-launch {} and all programs",
                                           host.name(), host.hello().host, host.hello().version)});
  }

  void on_lost(FarHost& host, Status why, Time) override {
    if (finishing_ || !answered_.insert(&host).second) return;
    findings_.push_back({false, why.cause()});
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
  const Programs& programs_;
  const Variables& inherited_;
  const Clock& clock_;
  Poller poller_;
  std::vector<std::unique_ptr<FarHost>> hosts_;
  std::map<const FarHost*, std::size_t> sites_;
  std::set<const FarHost*> answered_;  // Those that have answered, or never will.
  std::vector<Finding> findings_;
  bool finishing_ = false;
};

}  // namespace

std::vector<Finding> survey(const Plan& plan, const Placement& placement,
                            const std::string& directory, const Programs& programs,
                            const Variables& inherited, const SignalState& signals,
                            const Clock& clock) {
  return Survey(plan, placement, programs, inherited, clock).run(directory, signals);
}

}  // namespace stretto::launch
