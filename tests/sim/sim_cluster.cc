// SPDX-License-Identifier: Apache-2.0
// Building a job from a plan and driving it through virtual time.
#include "tests/sim/sim_cluster.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr std::uint64_t kMostSteps = 3'000'000;
constexpr int kMostHostileTurns = 100;

Config config_for(const Plan& plan, Role role, Rank rank) {
  Config config;
  config.role = role;
  config.rank = role == Role::kScheduler ? -1 : static_cast<std::int64_t>(rank);
  config.workers = plan.workers;
  config.servers = plan.servers;
  config.shards = plan.shards;
  config.token = "secret";
  config.rendezvous_timeout = 5s;
  config.operation_timeout = plan.fault == Fault::kLoss ? 10s : 60s;
  config.memory_limit_bytes = role == Role::kServer ? plan.memory_limit_bytes : 0;
  config.job = plan.settings;
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
  if (plan_.fault != Fault::kMissing) return {};
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
    struck_ = harmed_ = true;
    struck_at_ = clock_.now();
    victims_ = {missing};
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
  if (!struck_ && plan_.fault != Fault::kNone) {
    next = std::min(next, began_ + plan_.fault_after);
  }
  return next;
}

// One node does one turn; if none has anything to do, time moves on to the next event.
bool SimCluster::step_one() {
  if (!struck_ && clock_.now() >= began_ + plan_.fault_after) strike();
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
    if (node.user != nullptr && node.user->under_way() != 0) {
      report("tickets end once", node.name + " is over, and has tickets that never ended");
    }
    network_.kill(node.name);
    node.gone = true;
  }
}

// ---- faults

void SimCluster::strike() {
  struck_ = true;
  struck_at_ = clock_.now();
  switch (plan_.fault) {
    case Fault::kCrash:
      end_abruptly(false);
      break;
    case Fault::kSilence:
      end_abruptly(true);
      break;
    case Fault::kCut:
    case Fault::kLoss:
      cut_some_link();
      break;
    case Fault::kPause:
      nodes_[random_.below(nodes_.size())]->paused_until = clock_.now() + plan_.pause;
      break;
    case Fault::kHostile:
      begin_hostility();
      break;
    default:
      break;
  }
}

// A process ends, with all the shards in it.
void SimCluster::end_abruptly(bool silently) {
  std::string victim = nodes_[random_.below(nodes_.size())]->name;
  victim = victim.substr(0, victim.find(" shard"));
  for (const auto& node : nodes_) {
    if (node->name != victim && !node->name.starts_with(victim + " ")) continue;
    if (node->gone) continue;
    node->alive = false;
    harmed_ = true;
    if (silently) {
      network_.silence(node->name);
    } else {
      network_.kill(node->name);
    }
  }
  victims_ = {victim};
}

void SimCluster::cut_some_link() {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const std::string a = nodes_[random_.below(nodes_.size())]->name;
    const std::string b = nodes_[random_.below(nodes_.size())]->name;
    if (a == b) continue;
    if (plan_.fault == Fault::kLoss) {
      network_.lose_next(a, b);
    } else if (!cut(a, b)) {
      continue;
    }
    harmed_ = true;
    victims_ = {a, b};
    return;
  }
}

bool SimCluster::cut(const std::string& a, const std::string& b) {
  constexpr std::size_t kLarge = 256;
  switch (plan_.cut) {
    case LinkCut::kReset:
      return network_.cut(a, b);
    case LinkCut::kSilent:
      return network_.hush(a, b, 0) && network_.hush(b, a, 0);
    case LinkCut::kOneWay:
      return network_.hush(a, b, 0);
    case LinkCut::kBlackHole:
      return network_.hush(a, b, kLarge);
  }
  return false;
}

// A stranger at every door, and members who repeat themselves or speak of what nobody knows.
void SimCluster::begin_hostility() {
  stranger_ = network_.endpoint("stranger");
  network_.set_tamper([this](const std::string&, const std::string&, const wire::Header& header) {
    // Slices name their frame by its number, which copies in between would change.
    const bool share = header.kind == wire::Kind::kPush && plan_.network.local;
    return share && random_.chance(0.2) ? 2 : 1;
  });
}

void SimCluster::hostile_turn() {
  if (hostile_turns_ > kMostHostileTurns || !random_.chance(0.02)) return;
  ++hostile_turns_;
  const Node& target = *nodes_[random_.below(nodes_.size())];
  if (target.gone) return;
  wire::Control message;
  const std::uint64_t choice = random_.below(5);
  if (choice == 0) message.mutable_leave();
  if (choice == 1) message.mutable_failure()->set_cause("a stranger says so");
  if (choice == 2) message.mutable_hello()->set_token("wrong");
  if (choice == 3) message.mutable_barrier()->set_number(1);
  Buffer payload =
      choice == 4 ? Buffer::copy_of(std::as_bytes(std::span("garbage"))) : serialize(message);
  wire::Header header;
  header.sequence = 1;
  header.bytes = static_cast<std::uint32_t>(payload.size());
  if (target.scheduler != nullptr || target.shard != nullptr) {
    const std::string door = network_.address_of(target.name);
    if (auto link = stranger_->connect(door); link.ok()) {
      (void)stranger_->try_send(*link, header, payload);
    }
  }
  const Node& member = *nodes_[random_.below(nodes_.size())];
  if (member.worker == nullptr || member.gone || !member.worker->joined()) return;
  if (target.scheduler != nullptr && !barriers_.empty()) {  // Says again which barrier it is at.
    for (auto barrier = barriers_.rbegin(); barrier != barriers_.rend(); ++barrier) {
      const auto& [number, ranks] = *barrier;
      if (ranks.count(member.worker->rank()) == 0) continue;
      wire::Control again;
      again.mutable_barrier()->set_number(number);
      wire::Header repeat;
      repeat.sender = member.worker->node();
      const Buffer bytes = serialize(again);
      repeat.bytes = static_cast<std::uint32_t>(bytes.size());
      network_.inject(member.name, target.name, repeat, bytes);
      break;
    }
  } else if (target.shard != nullptr) {  // Pushes to a tensor that nobody has declared.
    wire::Header unknown;
    unknown.kind = wire::Kind::kPush;
    unknown.flags = wire::kWantsValue;
    unknown.dtype = static_cast<std::uint8_t>(Dtype::kF32);
    unknown.sender = member.worker->node();
    unknown.epoch = 1;
    unknown.key = {9999, 0};
    unknown.version = 1;
    unknown.bytes = 4;
    network_.inject(member.name, target.name, unknown,
                    Buffer::copy_of(std::as_bytes(std::span("abc"))));
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
