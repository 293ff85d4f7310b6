// SPDX-License-Identifier: Apache-2.0
// AmongJob: production's scheduler, shards and workers in simulated time. Its workers exchange
// among themselves, with servers or without. Every call of a group and every round of a tensor must
// match the oracle, or end in time with the right reason.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collective/strategy_chooser.h"
#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/sim/among/among_user.h"
#include "tests/sim/job_steps.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/violation.h"

namespace stretto::sim {

/// Thread: the simulation's.
class AmongJob {
 public:
  /// `seed` decides the calls and the faults; `timing` everything else: delays, the order of steps,
  /// and when programs begin their calls.
  explicit AmongJob(std::uint64_t seed, std::uint64_t timing = 0);

  /// Runs the job to its end, or to the first violation.
  std::optional<Violation> run();
  const AmongPlan& plan() const { return plan_; }
  /// The results of deterministic groups and tensors, by item and rank.
  std::vector<std::map<Rank, std::vector<std::byte>>> fixed_values() const;
  bool has_fixed_values() const;
  std::uint64_t trace_hash() const { return network_.trace_hash(); }
  std::string describe() const;

 private:
  struct Process {
    std::string name;
    Rank rank = 0;
    Config config;
    std::unique_ptr<LoopTask> agent;
    WorkerNode* worker = nullptr;
    std::unique_ptr<AmongUser> user;
    bool alive = true;
    Time sleeps_until = {};
    std::optional<Time> over_at;
  };
  using Traffic = std::vector<AmongTraffic>;  // By place.

  Config config_of(Role role, std::int64_t rank) const;
  Process& add(const std::string& name, const Config& config);
  void add_scheduler();
  void add_shard(std::uint32_t server);
  void add_worker(Rank rank);
  void watch_bytes();
  collective::StrategyChoice some_choice(const std::vector<std::uint32_t>& machines);
  void note_frame(const std::string& from, const std::string& to, const wire::Header& header);

  bool step_one();
  void step(Process& process);
  bool over() const;
  Time next_strike() const;
  void strike();
  void lose(const AmongPlan::Strike& strike);
  static bool are_linked(const Process& one, const Process& other);
  void break_a_link(const AmongPlan::Strike& strike);
  Process* some_worker();

  // Checks at the end (among_checks.cc).
  void check_end();
  void check_item(std::size_t item, Rank rank);
  bool may_fail(std::size_t item, const AmongEvent& event) const;
  bool names_who_left(const AmongEvent& event) const;
  void check_odd();
  void check_left();
  void check_outcomes();
  void check_bytes();
  void check_closing(std::size_t circle);
  bool names_the_lost(const Status& status) const;
  Time all_begun(std::size_t item) const;
  void report(const std::string& invariant, const std::string& text);

  const AmongPlan plan_;
  VirtualClock clock_;
  Random random_;
  SimNetwork network_;
  const Time began_;
  AmongBoard board_{clock_, plan_};
  std::vector<std::unique_ptr<Process>> processes_;
  std::size_t struck_ = 0;
  std::optional<Time> armed_;  // When enough calls had begun for the next strike.
  std::map<std::string, Time> lost_;
  std::optional<Dip> dip_;
  /// Bytes of a call, by circle and number; of all sends together, number 0.
  std::map<std::pair<std::size_t, std::uint64_t>, Traffic> carried_;
  std::map<std::tuple<std::string, std::string, std::uint64_t, wire::Key>,
           std::pair<std::size_t, std::uint64_t>>
      slices_;  // The call of frames that arrive in several slices.
  std::optional<Violation> violation_;
};

}  // namespace stretto::sim
