// SPDX-License-Identifier: Apache-2.0
// Building and driving. A network of one latency: what varies is the input's doing.
#include "tests/fuzz/job.h"

#include <algorithm>

#include "tests/fuzz/messages.h"

namespace stretto::fuzz {
namespace {

constexpr std::uint64_t kMostTurnsAtOneTime = 20000;
constexpr std::size_t kMostWaiting = 16384;

sim::NetworkOptions network_options() {
  return {.least_latency = 100us, .most_latency = 100us, .link_capacity_bytes = 1 << 16};
}

}  // namespace

Config config_for(Role role, std::uint32_t workers, std::uint32_t servers) {
  Config config;
  config.role = role;
  config.workers = workers;
  config.servers = servers;
  config.token = "secret";
  config.scheduler = kSchedulerAddress;
  config.rendezvous_timeout = 30s;
  config.operation_timeout = kOperationTimeout;
  config.memory_limit_bytes = role == Role::kServer ? 1 << 20 : 0;
  config.job = job_settings();
  return config;
}

Job::Job() : network_(clock_, 1, network_options()) {}

void Job::add(const std::string& name, std::unique_ptr<LoopTask> agent, const Van& van) {
  nodes_.push_back({.name = name, .agent = std::move(agent), .van = &van});
}

Scheduler& Job::add_scheduler(const Config& config) {
  configs_.push_back(std::make_unique<Config>(config));
  auto node = std::make_unique<Scheduler>(*configs_.back(), network_.endpoint("scheduler"), clock_);
  Scheduler& scheduler = *node;
  require(scheduler.listen(kSchedulerAddress).ok(), "the scheduler listens");
  add("scheduler", std::move(node), scheduler.van());
  return scheduler;
}

Shard& Job::add_shard(const Config& config) {
  configs_.push_back(std::make_unique<Config>(config));
  auto node = std::make_unique<Shard>(*configs_.back(), 0, network_.endpoint("shard"), clock_);
  Shard& shard = *node;
  require(shard.start("shard:9001", "").ok(), "the shard starts");
  add("shard", std::move(node), shard.van());
  return shard;
}

WorkerNode& Job::add_worker(const Config& config, const std::string& name,
                            const std::string& address) {
  configs_.push_back(std::make_unique<Config>(config));
  auto endpoint = network_.endpoint(name);
  require(address.empty() || endpoint->listen(address).ok(), "a worker listens");
  auto node = std::make_unique<WorkerNode>(*configs_.back(), std::move(endpoint), clock_);
  WorkerNode& worker = *node;
  add(name, std::move(node), worker.van());
  return worker;
}

bool Job::step_all() {
  bool stepped = false;
  for (Node& node : nodes_) {
    if (node.gone) continue;
    if (!network_.has_arrived(node.name) && node.agent->next_due() > clock_.now()) continue;
    stepped = true;
    node.agent->step(Duration::zero());
    require(node.van->queue().waiting() <= kMostWaiting, "what waits to be sent is bounded");
    if (!node.agent->over()) continue;
    node.gone = true;  // The process ends, and its endpoint with it.
    network_.kill(node.name);
  }
  for (Peer* peer : peers_) {
    if (!peer->due()) continue;
    stepped = true;
    peer->poll();
  }
  return stepped;
}

void Job::run_one(Time end) {
  if (step_all()) {
    require(++turns_at_one_time_ < kMostTurnsAtOneTime, "nodes wait for time to pass");
    return;
  }
  turns_at_one_time_ = 0;
  Time next = end;
  for (const Node& node : nodes_) {
    if (node.gone) continue;
    next = std::min({next, network_.next_arrival(node.name), node.agent->next_due()});
  }
  for (const Peer* peer : peers_) next = std::min(next, peer->next_due());
  clock_.advance_to(std::max(next, clock_.now() + 1ns));
}

void Job::run_for(Duration duration) {
  run_until(duration, [] { return false; });
}

std::shared_ptr<Outcome> begin(WorkerNode& worker, Operation::Kind kind, const Tensor& tensor,
                               float share) {
  struct Memory {
    std::vector<float> source;
    std::vector<float> target;
  };
  auto outcome = std::make_shared<Outcome>();
  auto memory = std::make_shared<Memory>();
  auto operation = std::make_shared<Operation>();
  operation->kind = kind;
  operation->tensor = tensor;
  if (operation->pushes() && kind != Operation::Kind::kBroadcastReceiver) {
    memory->source.assign(tensor.elements, share);
    operation->source = std::as_bytes(std::span(memory->source));
  }
  if (operation->wants_value()) {
    memory->target.assign(tensor.elements, -1);
    operation->target = std::as_writable_bytes(std::span(memory->target));
  }
  operation->ticket = std::make_shared<detail::TicketState>(1);
  operation->ticket->on_done([outcome, memory](const Status& status) {
    outcome->status = status;
    outcome->target = std::move(memory->target);
    memory->source = {};
    ++outcome->ends;
  });
  worker.work().start(operation);
  return outcome;
}

std::shared_ptr<Outcome> begin_call(WorkerNode& worker, const Tensor& group, GroupCallArgs call,
                                    std::size_t source_bytes, std::size_t target_bytes) {
  struct Memory {
    std::vector<std::byte> source;
    std::vector<std::byte> target;
  };
  auto outcome = std::make_shared<Outcome>();
  auto memory = std::make_shared<Memory>();
  memory->source.resize(source_bytes);
  memory->target.resize(target_bytes);
  auto operation = std::make_shared<Operation>();
  operation->kind = Operation::Kind::kCall;
  operation->tensor = group;
  operation->source = memory->source;
  operation->target = memory->target;
  call.source = memory->source;
  call.target = memory->target;
  operation->call = std::make_shared<const GroupCallArgs>(std::move(call));
  operation->ticket = std::make_shared<detail::TicketState>(1);
  operation->ticket->on_done([outcome, memory](const Status& status) {
    outcome->status = status;
    *memory = {};
    ++outcome->ends;
  });
  worker.work().start(operation);
  return outcome;
}

}  // namespace stretto::fuzz
