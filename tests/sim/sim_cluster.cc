// SPDX-License-Identifier: Apache-2.0
// Builds a job from a plan and drives it through virtual time.
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
  config.checksums = Checksums::kBetweenHosts;
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
  for (const std::string& name : plan_.nodes()) {
    if (name == missing) continue;
    const std::size_t rank_at = name.find(' ');
    const bool server = name.starts_with("server");
    const auto rank =
        rank_at == std::string::npos ? 0U : static_cast<Rank>(std::stoul(name.substr(rank_at)));
    const Role role = rank_at == std::string::npos ? Role::kScheduler
                      : server                     ? Role::kServer
                                                   : Role::kWorker;
    nodes_.push_back(std::make_unique<Node>());
    Node& node = *nodes_.back();
    node.name = name;
    node.config = config_for(plan_, role, rank);
    node.config.scheduler = scheduler_address_;
    node.transport = network_.endpoint(name);
    const auto late = plan_.late.find(name);
    node.starts = late == plan_.late.end() ? began_ : began_ + late->second;
    if (node.starts <= began_) start(node);
  }
  if (!missing.empty()) {
    harms_.push_back({.strike = {.fault = Fault::kMissing}, .at = began_, .victims = {missing}});
  }
  add_tools();
}

void SimCluster::add_tools() {
  for (const Visit& visit : plan_.visits) {
    const std::string name = fmt::format("observer {}", tools_.size());
    tools_.push_back(std::unique_ptr<Tool>(
        new Tool{name, SimObserver(visit, scheduler_address_, network_.endpoint(name), clock_)}));
  }
}

void SimCluster::start(Node& node) {
  switch (node.config.role) {
    case Role::kScheduler:
      return start_scheduler(node);
    case Role::kServer:
      return start_shard(node);
    default:
      return start_worker(node);
  }
}

void SimCluster::start_scheduler(Node& node) {
  auto scheduler = std::make_unique<Scheduler>(node.config, std::move(node.transport), clock_);
  if (!scheduler->listen(scheduler_address_).ok()) report("set-up", "the scheduler cannot listen");
  node.scheduler = scheduler.get();
  node.agent = std::move(scheduler);
}

void SimCluster::start_shard(Node& node) {
  const std::size_t shard_at = node.name.find("shard ");
  const auto index = shard_at == std::string::npos
                         ? 0U
                         : static_cast<std::uint32_t>(std::stoul(node.name.substr(shard_at + 6)));
  auto shard = std::make_unique<Shard>(node.config, index, std::move(node.transport), clock_);
  std::string host = node.name;
  std::replace(host.begin(), host.end(), ' ', '-');
  if (!shard->start(host + ":0", "").ok()) report("set-up", node.name + " cannot start");
  node.shard = shard.get();
  node.agent = std::move(shard);
}

void SimCluster::start_worker(Node& node) {
  auto worker = std::make_unique<WorkerNode>(node.config, std::move(node.transport), clock_);
  node.worker = worker.get();
  node.agent = std::move(worker);
  node.user = std::make_unique<SimWorker>(
      plan_, static_cast<Rank>(node.config.rank), *node.worker, barriers_,
      [this](const std::string& invariant, const std::string& text) { report(invariant, text); });
}

// ---- running

std::optional<Violation> SimCluster::run() {
  while (!violation_ && !finished()) {
    if (!step_one()) {
      if (finished()) break;  // The last strike hit the last node.
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
    const Time due = node->agent == nullptr
                         ? node->starts
                         : std::min(network_.next_arrival(node->name), node->agent->next_due());
    next = std::min(next, std::max(due, node->paused_until));
  }
  for (const auto& tool : tools_) {
    if (tool->observer.over()) continue;
    next = std::min({next, network_.next_arrival(tool->name), tool->observer.next_due()});
  }
  if (dip_) next = std::min(next, dip_->until);
  return std::min(next, next_strike());
}

// One iteration of a node or tool; if none is ready, time advances to the next event.
bool SimCluster::step_one() {
  while (next_strike() <= clock_.now()) strike();
  end_dip();
  const Time now = clock_.now();
  std::vector<Node*> ready;
  for (const auto& node : nodes_) {
    if (!node->alive || node->gone || now < node->paused_until) continue;
    const bool due = node->agent == nullptr
                         ? node->starts <= now
                         : network_.has_arrived(node->name) || node->agent->next_due() <= now;
    if (due) ready.push_back(node.get());
  }
  std::vector<Tool*> looking;
  for (const auto& tool : tools_) {
    if (tool->observer.over()) continue;
    if (network_.has_arrived(tool->name) || tool->observer.next_due() <= now) {
      looking.push_back(tool.get());
    }
  }
  if (const std::size_t count = ready.size() + looking.size(); count != 0) {
    const std::size_t chosen = random_.below(count);
    if (chosen < ready.size()) {
      step(*ready[chosen]);
    } else {
      step(*looking[chosen - ready.size()]);
    }
    return true;
  }
  const Time next = next_event();
  if (next == Time::max()) return false;
  clock_.advance_to(std::max(next, now + 1ns));
  return true;
}

void SimCluster::step(Node& node) {
  if (node.agent == nullptr) return start(node);
  if (stranger_ != nullptr) hostile_turn();
  node.agent->step(Duration::zero());
  if (node.user != nullptr) {
    node.user->act();
    check_acknowledged(node);
  }
  check_after_step(node);
  if (node.agent->over()) {  // The process ends, and its endpoint is closed.
    if (node.user != nullptr && node.user->in_flight() != 0) {
      report("tickets end once", node.name + " is over, and has tickets that never ended");
    }
    network_.kill(node.name);
    node.gone = true;
  }
}

// A status client is answered while the scheduler lives.
void SimCluster::step(Tool& tool) {
  tool.observer.step(Duration::zero());
  const Status& complaint = tool.observer.complaint();
  if (complaint.ok() || !harmless()) return;
  const auto lives = [](const auto& node) { return node->scheduler != nullptr && !node->gone; };
  if (std::ranges::any_of(nodes_, lives)) {
    report("observers are answered", fmt::format("{}: {}", tool.name, complaint.text()));
  }
}

std::uint64_t SimCluster::observed() const {
  std::uint64_t answers = 0;
  for (const auto& tool : tools_) answers += tool->observer.answers();
  return answers;
}

void SimCluster::report(const std::string& invariant, const std::string& text) {
  if (violation_) return;
  violation_ = Violation{
      invariant,
      fmt::format("at {} ms: {}",
                  std::chrono::duration<double, std::milli>(clock_.now() - began_).count(), text)};
}

}  // namespace stretto::sim
