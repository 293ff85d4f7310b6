// SPDX-License-Identifier: Apache-2.0
// Building the job, striking its workers, and what must hold at its end.
#include "tests/sim/losses/loss_job.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr int kMostStepsOfLosses = 1'000'000;
constexpr Duration kLongestLossJob = 60s;
constexpr const char* kDoor = "scheduler:9000";

}  // namespace

LossJob::LossJob(std::uint64_t seed)
    : plan_(seed),
      random_(seed * 31 + 5),
      network_(clock_, seed, {.most_latency = seed % 3 == 0 ? 2ms : 300us, .local = seed % 2 == 0}),
      began_(clock_.now()) {
  board_.report = [this](const std::string& invariant, const std::string& text) {
    report(invariant, text);
  };
  add_scheduler();
  for (std::uint32_t server = 0; server < plan_.servers; ++server) {
    for (std::uint32_t shard = 0; shard < plan_.shards; ++shard) add_shard(server, shard);
  }
  for (std::uint32_t number = 0; number < plan_.workers; ++number) add_worker(number);
}

Config LossJob::config_of(Role role, std::int64_t rank) const {
  Config config;
  config.role = role;
  config.rank = rank;
  config.workers = plan_.workers;
  config.servers = plan_.servers;
  config.shards = plan_.shards;
  config.scheduler = kDoor;
  config.token = "secret";
  config.rendezvous_timeout = 5s;
  config.operation_timeout = 50s;
  config.job.part_bytes = 64;
  config.job.heartbeat = 50ms;
  config.job.dead_after = 400ms;
  config.job.min_workers = plan_.min_workers;
  return config;
}

void LossJob::add_scheduler() {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = "scheduler";
  process.config = config_of(Role::kScheduler, -1);
  auto scheduler =
      std::make_unique<Scheduler>(process.config, network_.endpoint(process.name), clock_);
  if (!scheduler->listen(kDoor).ok()) report("set-up", "the scheduler cannot listen");
  scheduler_ = scheduler.get();
  process.agent = std::move(scheduler);
}

void LossJob::add_shard(std::uint32_t server, std::uint32_t index) {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = fmt::format("server-{}-{}", server, index);
  process.config = config_of(Role::kServer, server);
  auto shard =
      std::make_unique<Shard>(process.config, index, network_.endpoint(process.name), clock_);
  if (!shard->start(process.name + ":0", "").ok()) report("set-up", "a shard cannot start");
  process.agent = std::move(shard);
}

void LossJob::add_worker(std::uint32_t number) {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = fmt::format("worker {}", number);
  process.number = number;
  process.config = config_of(Role::kWorker, number);
  auto node = std::make_unique<WorkerNode>(process.config, network_.endpoint(process.name), clock_);
  process.worker = node.get();
  process.agent = std::move(node);
  process.user = std::make_unique<LossUser>(plan_, number, *process.worker, board_,
                                            random_.below(1'000'000'000));
}

// ---- running

std::optional<Violation> LossJob::run() {
  for (int i = 0; i < kMostStepsOfLosses && !violation_ && !over(); ++i) {
    if (!step_one() || clock_.now() - began_ > kLongestLossJob) break;
  }
  if (!violation_ && !over()) report("no hang", describe());
  if (!violation_) check_end();
  return violation_;
}

bool LossJob::over() const {
  return std::ranges::all_of(processes_, [](const auto& process) {
    const bool user_done = process->user == nullptr || process->user->finished();
    return !process->alive || (process->agent->over() && user_done);
  });
}

bool LossJob::step_one() {
  while (next_strike() <= clock_.now()) strike();
  const Time now = clock_.now();
  std::vector<Process*> ready;
  Time next = next_strike();
  for (const auto& process : processes_) {
    if (!process->alive || process->agent->over()) continue;
    const Time due = std::max(process->sleeps_until, std::min(network_.next_arrival(process->name),
                                                              process->agent->next_due()));
    if (due <= now) ready.push_back(process.get());
    next = std::min(next, due);
  }
  if (!ready.empty()) {
    step(*ready[random_.below(ready.size())]);
    return true;
  }
  if (next == Time::max()) return false;
  clock_.advance_to(next);
  return true;
}

void LossJob::step(Process& process) {
  process.agent->step(Duration::zero());
  if (process.user != nullptr) process.user->act();
  if (process.agent->over()) network_.kill(process.name);
}

// ---- losses

Time LossJob::next_strike() const {
  if (struck_ == plan_.strikes.size()) return Time::max();
  return std::max(began_ + plan_.strikes[struck_].after, not_before_);
}

void LossJob::strike() {
  std::vector<Process*> victims;
  for (const auto& process : processes_) {
    if (process->user == nullptr) continue;
    if (!process->user->joined()) {
      not_before_ = clock_.now() + 1ms;
      if (process->user->outcome()) ++struck_;  // The job never came together.
      return;
    }
    const bool lives = process->alive && !process->user->outcome();
    if (lives && !board_.lost.contains(process->number)) victims.push_back(process.get());
  }
  const LossPlan::Strike strike = plan_.strikes[struck_++];
  if (victims.empty()) return;
  Process& victim = *victims[random_.below(victims.size())];
  board_.lost.insert(victim.number);
  if (strike.kind == LossKind::kSleep) {
    victim.sleeps_until = clock_.now() + 3 * victim.config.job.dead_after;
    return;
  }
  victim.alive = false;
  if (strike.kind == LossKind::kCrash) {
    network_.kill(victim.name);
  } else {
    network_.silence(victim.name);
  }
}

// ---- the end

// While enough workers are left the job is done, and else everybody ends with who was lost.
void LossJob::check_end() {
  const bool enough = board_.lost.size() + plan_.min_workers <= plan_.workers;
  went_on_ = scheduler_->status().ok() && !board_.lost.empty();
  if (enough && !scheduler_->status().ok()) {
    report("enough go on", scheduler_->status().text());
  }
  const auto names_the_lost = [this](const Status& status) {
    return std::ranges::any_of(board_.lost, [&status](std::uint32_t number) {
      const std::string name = fmt::format("worker {}", number);
      return status.cause().find(name) != std::string::npos || status.peer() == name;
    });
  };
  if (!scheduler_->status().ok() && !names_the_lost(scheduler_->status())) {
    report("errors name the cause", scheduler_->status().text());
  }
  for (const auto& process : processes_) {
    if (process->user == nullptr || !process->alive) continue;
    const Status& outcome = *process->user->outcome();
    const bool lost = board_.lost.contains(process->number);
    if (!lost && scheduler_->status().ok() && !outcome.ok()) {
      report("who lives goes on", fmt::format("{}: {}", process->name, outcome.text()));
    }
    if (!lost && !outcome.ok() && !names_the_lost(outcome)) {
      report("errors name the cause", fmt::format("{}: {}", process->name, outcome.text()));
    }
  }
}

std::string LossJob::describe() const {
  std::string text =
      fmt::format("{} workers, at least {}, lost {}; {}; ", plan_.workers, plan_.min_workers,
                  fmt::join(board_.lost, ", "), scheduler_->phase());
  for (const auto& process : processes_) {
    if (!process->alive || process->agent->over()) continue;
    text +=
        process->name + (process->user != nullptr ? ": " + process->user->describe() : "") + "; ";
  }
  return text;
}

void LossJob::report(const std::string& invariant, const std::string& text) {
  if (violation_) return;
  violation_ = Violation{
      invariant,
      fmt::format("at {} ms: {}",
                  std::chrono::duration<double, std::milli>(clock_.now() - began_).count(), text)};
}

}  // namespace stretto::sim
