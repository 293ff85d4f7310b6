// SPDX-License-Identifier: Apache-2.0
// Training in every mode, in jobs from seeds; a failure prints what replays it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/log.h"
#include "scheduler/scheduler.h"
#include "server/shard.h"
#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/training/sim_trainer.h"

namespace stretto::sim {
namespace {

/// A job without faults, whose workers train.
class TrainingJob {
 public:
  explicit TrainingJob(std::uint64_t seed)
      : random_(seed * 0x9E3779B97F4A7C15ULL + 3), network_(clock_, seed, network_options()) {
    constexpr std::uint32_t kWorlds[] = {1, 2, 4};
    plan_.workers = kWorlds[random_.below(3)];
    plan_.mode = static_cast<Mode>(1 + random_.below(5));
    if (plan_.mode == Mode::kBounded) plan_.bound = static_cast<std::uint32_t>(random_.below(4));
    plan_.setup = {.workers = plan_.workers,
                   .warm_up = random_.below(3),
                   .overlay = random_.chance(0.7),
                   .looks_ahead = !has_rounds(plan_.mode) && random_.chance(0.3)};
    for (std::uint64_t i = 0; i < 1 + random_.below(3); ++i) {
      plan_.sizes.push_back(1 + random_.below(60));
    }
    plan_.steps = 1 + random_.below(8);
    plan_.more_steps = random_.below(6);
    plan_.slow = static_cast<Rank>(random_.below(2 * plan_.workers));
    add_nodes();
  }

  std::optional<Violation> run() {
    for (int i = 0; i < 400'000 && !violation_; ++i) {
      const bool over = std::ranges::all_of(nodes_, [](const auto& node) {
        return node.trainer == nullptr || node.trainer->finished();
      });
      if (over) return {};
      step();
    }
    for (const Node& node : nodes_) {
      if (node.trainer == nullptr || node.trainer->finished()) continue;
      report("no hang", node.trainer->describe());
    }
    return violation_;
  }
  Mode mode() const { return plan_.mode; }

 private:
  struct Node {
    std::string name;
    std::unique_ptr<Config> config;
    std::unique_ptr<LoopTask> agent;
    std::unique_ptr<SimTrainer> trainer;
  };

  NetworkOptions network_options() {
    return {.least_latency = 1us,
            .most_latency = random_.between(2us, 2ms),
            .local = random_.chance(0.5),
            .lend = random_.chance(0.5)};
  }
  void report(const std::string& invariant, const std::string& text) {
    if (!violation_) violation_ = Violation{invariant, text};
  }
  Node& add(const std::string& name, Role role, std::int64_t rank) {
    Node& node = nodes_.emplace_back();
    node.name = name;
    node.config = std::make_unique<Config>();
    node.config->role = role;
    node.config->rank = rank;
    node.config->workers = plan_.workers;
    node.config->servers = 1;
    node.config->token = "secret";
    node.config->scheduler = "scheduler:9000";
    node.config->job.part_bytes = 64;
    return node;
  }
  void add_nodes() {
    nodes_.reserve(2 + plan_.workers);
    Node& first = add("scheduler", Role::kScheduler, -1);
    auto scheduler =
        std::make_unique<Scheduler>(*first.config, network_.endpoint(first.name), clock_);
    EXPECT_TRUE(scheduler->listen("scheduler:9000").ok());
    first.agent = std::move(scheduler);
    Node& second = add("server", Role::kServer, 0);
    auto shard = std::make_unique<Shard>(*second.config, 0, network_.endpoint("server"), clock_);
    EXPECT_TRUE(shard->start("server:0", "").ok());
    second.agent = std::move(shard);
    for (Rank rank = 0; rank < plan_.workers; ++rank) {
      Node& node = add(fmt::format("worker {}", rank), Role::kWorker, rank);
      auto worker =
          std::make_unique<WorkerNode>(*node.config, network_.endpoint(node.name), clock_);
      node.trainer = std::make_unique<SimTrainer>(
          plan_, rank, *worker, random_,
          [this](const std::string& invariant, const std::string& text) {
            report(invariant, text);
          });
      node.agent = std::move(worker);
    }
  }
  void step() {
    std::vector<Node*> ready;
    Time next = Time::max();
    for (Node& node : nodes_) {
      const Time due = std::min(network_.next_arrival(node.name), node.agent->next_due());
      next = std::min(next, due);
      if (network_.has_arrived(node.name) || due <= clock_.now()) ready.push_back(&node);
    }
    if (ready.empty()) return clock_.advance_to(std::max(next, clock_.now() + 1ns));
    Node& node = *ready[random_.below(ready.size())];
    if (node.agent->over()) return clock_.advance_to(clock_.now() + 1us);
    node.agent->step(Duration::zero());
    if (node.trainer != nullptr) node.trainer->act();
  }

  Random random_;
  VirtualClock clock_;
  SimNetwork network_;
  TrainingPlan plan_;
  std::vector<Node> nodes_;
  std::optional<Violation> violation_;
};

TEST(TrainingSimulation, EveryUpdateIsInTheValuesOnceForEverySeed) {
  set_log_level(Level::kSilent);
  Seeds seeds = seeds_from_environment();
  seeds.count = std::max<std::uint64_t>(1, seeds.count / 16);  // A share of them.
  Replay replay("TrainingSimulation.Every*");
  std::set<Mode> modes;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    TrainingJob job(seed);
    const auto violation = job.run();
    modes.insert(job.mode());
    ASSERT_FALSE(violation.has_value()) << replay.told(*violation);
  }
  EXPECT_TRUE(seeds.count < 50 || modes.size() == 5) << "all modes have had their turn";
}

}  // namespace
}  // namespace stretto::sim
