// SPDX-License-Identifier: Apache-2.0
// RemoteHosts: all other hosts of the job: starts their agents by ssh, srun or mpirun, waits until
// all have connected, and at the end until all have finished.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "tools/launch/plan/launch_context.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/process/output_relay.h"
#include "tools/launch/remote/agent_listener.h"
#include "tools/launch/remote/remote_host.h"

namespace stretto::launch {

/// Thread: loop.
class RemoteHosts {
 public:
  /// `on_child`: receives a child process that is no member of the job.
  using OnChild = std::function<void(pid_t)>;

  RemoteHosts(Poller& poller, RemoteHostEvents& events, const Clock& clock, const Plan& plan,
              const LaunchContext& ingredients, OutputRelay& relay, OnChild on_child);

  /// Starts agents on all hosts, before any process of the job: an unreachable host is then an
  /// error message, and not a job that waits.
  Status gather(const SignalState& signals);
  /// Admits agents that have connected. Call it in each iteration.
  void take_arrivals();
  bool all_here() const;
  /// Ends the wait for agents: their hellos, by site; `own` is this host's.
  std::vector<AgentHello> end_gathering(AgentHello own);
  /// The time limit has passed: gives up on the first missing agent.
  void give_up_late();

  RemoteHost& at(std::size_t site) { return *hosts_[site]; }
  /// Processes can start there. A host that was silent for some seconds may be gone.
  bool works(std::size_t site) const {
    return hosts_[site] != nullptr && hosts_[site]->is_heard(clock_.now());
  }
  /// Orders reach the host, possibly late.
  bool hears(std::size_t site) const {
    return hosts_[site] != nullptr && hosts_[site]->is_heard(clock_.now(), Duration::max());
  }
  std::size_t site_of(const RemoteHost& host) const;
  void on_time(Time now, std::optional<Duration> silence);
  Time deadline(std::optional<Duration> silence) const;
  void pause(std::size_t stream, bool paused);
  std::size_t orphans() const;
  /// True if orphans() has changed since the last call.
  bool take_orphans_change() { return std::exchange(known_orphans_, orphans()) != orphans(); }

  /// Ends all remaining processes. `failed`: the job failed, and launchers of nodes
  /// also exit with status 1.
  void finish(bool failed);
  /// After finish(): all frames have arrived.
  bool over() const;
  /// Marks hosts that have not finished in time as lost.
  void give_up_unfinished();
  /// Processes that the kernels do not end.
  std::size_t left() const;

 private:
  Status gather_by_mpirun(const SignalState& signals);
  Status gather_nodes();
  RemoteHost* host_of(const AgentHello& hello);
  void take_starter_end();
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const std::unique_ptr<RemoteHost>& host : hosts_) {
      if (host) visit(*host);
    }
  }

  Poller& poller_;
  RemoteHostEvents& events_;
  const Clock& clock_;
  const Plan& plan_;
  const LaunchContext& ingredients_;
  const Placement& placement_;
  OutputRelay& relay_;
  const OnChild on_child_;
  std::vector<std::unique_ptr<RemoteHost>>
      hosts_;                             // By site; none for this host or without members.
  std::unique_ptr<Gate> gate_;            // Open while ranks of mpirun may connect.
  std::unique_ptr<RemoteShell> starter_;  // mpirun.
  std::size_t known_orphans_ = 0;
  bool finishing_ = false;
};

}  // namespace stretto::launch
