// SPDX-License-Identifier: Apache-2.0
// Building a job from a plan and driving it through virtual time.
#include "tests/sim/sim_cluster.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr std::uint64_t kMostSteps = 3'000'000;

Config config_for(const Plan& plan, Role role, Rank rank) {
  Config config;
  config.role = role;
  config.rank = role == Role::kScheduler ? -1 : static_cast<std::int64_t>(rank);
  config.workers = plan.workers;
  config.servers = plan.servers;
  config.shards = plan.shards;
  config.token = "secret";
  config.rendezvous_timeout = 5s;
  config.operation_timeout = plan.has(Fault::kLoss) ? 10s : 60s;
  config.memory_limit_bytes = role == Role::kServer ? plan.memory_limit_bytes : 0;
  config.job = plan.settings;
  config.link_patience = plan.patience;
  return config;
}

}  // namespace

SimCluster::SimCluster(const Plan& plan)
    : plan_(plan),
      random_(plan.seed ^ 0xABCDEF),
      network_(clock_, plan.seed + 17, plan.network),
      began_(clock_.now()) {
  add_nodes();
}

// ---- building

std::string SimCluster::missing_node() const {
  if (!plan_.has(Fault::kMissing)) return {};
  const std::vector<std::string> names = plan_.nodes();
  return names[plan_.seed % names.size()];
}

void SimCluster::add_nodes() {
  const std::string missing = missing_node();
  scheduler_address_ = "scheduler:9000";
  const auto make = [&](const std::string& name, Role role, Rank rank) -> Node* {
    if (name == missing) return nullptr;
    nodes_.push_back(std::make_unique<Node>());
    Node& node = *nodes_.back();
    node.name = name;
    node.config = config_for(plan_, role, rank);
    node.config.scheduler = scheduler_address_;
    return &node;
  };
  if (Node* node = make("scheduler", Role::kScheduler, 0)) add_scheduler(*node);
  for (const std::string& name : plan_.nodes()) {
    if (!name.starts_with("server")) continue;
    const auto rank = static_cast<Rank>(std::stoul(name.substr(7)));
    if (Node* node = make(name, Role::kServer, rank)) add_shard(*node, name);
  }
  for (Rank rank = 0; rank < plan_.workers; ++rank) {
    const std::string name = fmt::format("worker {}", rank);
    if (Node* node = make(name, Role::kWorker, rank)) add_worker(*node, rank);
  }
  if (!missing.empty()) {
    harms_.push_back({.strike = {.fault = Fault::kMissing}, .at = began_, .victims = {missing}});
  }
}

void SimCluster::add_scheduler(Node& node) {
  auto scheduler = std::make_unique<Scheduler>(node.config, network_.endpoint(node.name), clock_);
  if (!scheduler->listen(scheduler_address_).ok()) report("set-up", "the scheduler cannot listen");
  node.scheduler = scheduler.get();
  node.agent = std::move(scheduler);
}

void SimCluster::add_shard(Node& node, const std::string& name) {
  const std::size_t shard_at = name.find("shard ");
  const auto index = shard_at == std::string::npos
                         ? 0U
                         : static_cast<std::uint32_t>(std::stoul(name.substr(shard_at + 6)));
  auto shard = std::make_unique<Shard>(node.config, index, network_.endpoint(name), clock_);
  std::string host = name;
  std::replace(host.begin(), host.end(), ' ', '-');
  if (!shard->start(host + ":0", "").ok()) report("set-up", name + " cannot start");
  node.shard = shard.get();
  node.agent = std::move(shard);
}

void SimCluster::add_worker(Node& node, Rank rank) {
  auto worker = std::make_unique<WorkerNode>(node.config, network_.endpoint(node.name), clock_);
  node.worker = worker.get();
  node.agent = std::move(worker);
  node.user = std::make_unique<SimWorker>(
      plan_, rank, *node.worker, barriers_,
      [this](const std::string& invariant, const std::string& text) { report(invariant, text); });
}

// ---- running

std::optional<Violation> SimCluster::run() {
  while (!violation_ && !finished()) {
    if (!step_one()) {
      if (finished()) break;  // The last strike hit whoever was left.
      report("no hang", "nothing is left to happen, and the job is not over");
      break;
    }
    if (++steps_ > kMostSteps) report("no hang", "the job goes round in circles");
    check_liveness();
  }
  if (!violation_) check_end();
  return violation_;
}

bool SimCluster::finished() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return !node->alive || (node->gone && (node->user == nullptr || node->user->finished()));
  });
}

Time SimCluster::next_event() const {
  Time next = Time::max();
  for (const auto& node : nodes_) {
    if (!node->alive || node->gone) continue;
    const Time due = std::min(network_.next_arrival(node->name), node->agent->next_due());
    next = std::min(next, std::max(due, node->paused_until));
  }
  return std::min(next, next_strike());
}

// One node does one turn; if none has anything to do, time moves on to the next event.
bool SimCluster::step_one() {
  while (next_strike() <= clock_.now()) strike();
  std::vector<Node*> ready;
  for (const auto& node : nodes_) {
    if (!node->alive || node->gone || clock_.now() < node->paused_until) continue;
    if (network_.has_arrived(node->name) || node->agent->next_due() <= clock_.now()) {
      ready.push_back(node.get());
    }
  }
  if (!ready.empty()) {
    step(*ready[random_.below(ready.size())]);
    return true;
  }
  const Time next = next_event();
  if (next == Time::max()) return false;
  clock_.advance_to(std::max(next, clock_.now() + 1ns));
  return true;
}

void SimCluster::step(Node& node) {
  if (stranger_ != nullptr) hostile_turn();
  node.agent->step(Duration::zero());
  if (node.user != nullptr) {
    node.user->act();
    check_acknowledged(node);
  }
  check_after_step(node);
  if (node.agent->over()) {  // The process ends: its endpoint goes with it.
    if (node.user != nullptr && node.user->in_flight() != 0) {
      report("tickets end once", node.name + " is over, and has tickets that never ended");
    }
    network_.kill(node.name);
    node.gone = true;
  }
}

void SimCluster::report(const std::string& invariant, const std::string& text) {
  if (violation_) return;
  violation_ = Violation{
      invariant,
      fmt::format("at {} ms: {}",
                  std::chrono::duration<double, std::milli>(clock_.now() - began_).count(), text)};
}

}  // namespace stretto::sim
