// SPDX-License-Identifier: Apache-2.0
// Starts each life from the disk, and ends it.
#include "tests/sim/saving/saving_job.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr int kMostStepsOfALife = 200'000;
constexpr Duration kLongestLife = 120s;
constexpr const char* kSeat = "scheduler:9000";
constexpr const char* kFolder = "run";

using Fate = SavingPlan::Fate;

}  // namespace

SavingJob::SavingJob(std::uint64_t seed)
    : plan_(seed), random_(seed * 41 + 5), disk_(seed, {.short_chance = 0.02}) {}

std::optional<Violation> SavingJob::run() {
  for (life_ = 0; life_ < plan_.lives.size() && !violation_; ++life_) {
    begin_life();
    if (!violation_) run_life();
    if (!violation_ && !dead_) check_end();
    const bool power_failed = disk_.crashed();
    // The end of a process loses none of its completed writes.
    for (const auto& process : processes_) process->work.drop();
    processes_.clear();
    disk_.restart(power_failed ? Crash::kMachine : Crash::kProcess);
  }
  return violation_;
}

// ---- a life's begin

Config SavingJob::config_of(Role role, std::int64_t rank) const {
  const SavingPlan::Life& life = plan_.lives[life_];
  Config config;
  config.role = role;
  config.rank = rank;
  config.workers = life.workers;
  config.servers = life.servers;
  config.scheduler = kSeat;
  config.token = "secret";
  config.operation_timeout = 60s;
  config.job.part_bytes = 64;
  config.job.heartbeat = 50ms;
  config.job.dead_after = 2s;
  config.checkpoint.folder = kFolder;
  return config;
}

SavingJob::Process& SavingJob::add(std::string name, const Config& config) {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = std::move(name);
  process.config = config;
  return process;
}

void SavingJob::begin_life() {
  const SavingPlan::Life& life = plan_.lives[life_];
  network_ = std::make_unique<SimNetwork>(clock_, random_.below(1'000'000),
                                          NetworkOptions{.most_latency = 300us});
  began_ = clock_.now();
  strikes_at_.reset();
  struck_ = dead_ = false;
  Process& process = add("scheduler", config_of(Role::kScheduler, -1));
  std::set<std::string> restored;
  const Status found = go_on_from_newest(process.config, disk_, restored);
  if (!found.ok()) return report("what is on the disk can be read", found.text());
  look_at_found(process.config);
  auto scheduler = std::make_unique<Scheduler>(
      process.config, network_->endpoint(process.name), clock_, nullptr,
      CheckpointKeeper::Files{.disk = &disk_, .work = &process.work, .restored = restored});
  if (!scheduler->listen(kSeat).ok()) return report("set-up", "the scheduler cannot listen");
  scheduler_ = scheduler.get();
  process.agent = std::move(scheduler);
  for (std::uint32_t server = 0; server < life.servers; ++server) add_server(server);
  for (std::uint32_t number = 0; number < life.workers; ++number) add_worker(number);
}

// The checkpoint found must be one cut: the newest complete one, or a later one.
void SavingJob::look_at_found(const Config& config) {
  const std::uint64_t number = config.job.restored;
  if (number < past_.complete) {
    return report("what is complete stays",
                  fmt::format("{} was, and the job goes on from {}", past_.complete, number));
  }
  past_.steps.clear();
  if (number == 0) return;
  const auto begun = past_.begun.find(number);
  if (begun == past_.begun.end() || begun->second.size() != config.job.restored_step) {
    return report("a restore is one cut",
                  fmt::format("nobody made {} of step {}", number, config.job.restored_step));
  }
  ++resumed_;
  untold_ += number == past_.complete ? 0 : 1;
  past_.steps = begun->second;
  past_.complete = number;
  look_at_attached(number, past_.steps);
}

void SavingJob::look_at_attached(std::uint64_t number, const Lineage& steps) {
  checkpoint::Folder folder(disk_, kFolder);
  Result<checkpoint::AttachedReader> reader = checkpoint::AttachedReader::open(folder, number);
  if (!reader.ok()) return report("what is complete can be read", reader.status().text());
  const auto look = [&](const char* name, std::int64_t rank) {
    const auto index = reader->find(name, rank);
    if (!index) return report("what is attached is saved", fmt::format("{} {} is not", name, rank));
    std::string text(reader->all()[*index].bytes, '\0');
    const Status read = reader->read(*index, std::as_writable_bytes(std::span(text)));
    if (!read.ok()) return report("what is complete can be read", read.text());
    if (text == attached_text(rank, steps.size())) return;
    report("what is attached is of the same cut",
           fmt::format("{} of {} in {}: '{}'", name, rank, number, text));
  };
  for (std::uint32_t worker = 0; worker < steps.back(); ++worker) look("own", worker);
  look("alike", -1);
}

void SavingJob::add_server(std::uint32_t server) {
  Process& process = add(fmt::format("server {}", server), config_of(Role::kServer, server));
  auto shard = std::make_unique<Shard>(
      process.config, 0, network_->endpoint(process.name), clock_,
      ShardPersistence::Files{.disk = &disk_, .work = &process.work, .copied_in_a_turn = 1});
  if (!shard->start(process.name + ":0", "").ok()) report("set-up", "a shard cannot start");
  process.agent = std::move(shard);
}

void SavingJob::add_worker(std::uint32_t number) {
  Process& process = add(fmt::format("worker {}", number), config_of(Role::kWorker, number));
  auto node =
      std::make_unique<WorkerNode>(process.config, network_->endpoint(process.name), clock_);
  WorkerNode& at = *node;
  process.agent = std::move(node);
  process.user = std::make_unique<SavingUser>(
      plan_, plan_.lives[life_], number, at, SavingUser::Disks{disk_, process.work}, past_,
      [this](const std::string& invariant, const std::string& text) { report(invariant, text); });
}

// ---- its course

void SavingJob::run_life() {
  const SavingPlan::Life& life = plan_.lives[life_];
  if (life.fate == Fate::kPowerFails) disk_.crash_after(life.calls);
  for (int i = 0; i < kMostStepsOfALife && !violation_ && !dead_ && !over(); ++i) {
    if (life.disk_is_faulty && random_.chance(0.002)) fail_a_call();
    if (!step_one() || clock_.now() - began_ > kLongestLife) break;
    if (disk_.crashed()) dead_ = true;
  }
  if (!violation_ && !dead_ && !over()) report("no hang", describe());
}

// Fails one of the next calls that modify the disk.
void SavingJob::fail_a_call() {
  constexpr DiskCall kCalls[] = {DiskCall::kWrite, DiskCall::kSync, DiskCall::kName};
  disk_.fail(kCalls[random_.below(std::size(kCalls))], random_.chance(0.5) ? ENOSPC : EIO,
             random_.below(8));
}

bool SavingJob::step_one() {
  const SavingPlan::Life& life = plan_.lives[life_];
  const bool kills = life.fate == Fate::kAllAreKilled || life.fate == Fate::kOneIsKilled;
  const bool all_joined = std::ranges::all_of(processes_, [](const auto& process) {
    return process->user == nullptr || process->user->joined();
  });
  if (kills && !strikes_at_ && all_joined) strikes_at_ = clock_.now() + life.after;
  const Time strikes = strikes_at_ && !struck_ ? *strikes_at_ : Time::max();
  if (strikes <= clock_.now()) strike();
  std::vector<Process*> writers;
  for (const auto& process : processes_) {
    if (process->alive && !process->work.empty()) writers.push_back(process.get());
  }
  if (!writers.empty() && random_.chance(0.3)) {
    writers[random_.below(writers.size())]->work.run_one();
    return true;
  }
  // While the disk is busy, time does not jump to the next heartbeat.
  const Time other = writers.empty() ? strikes : std::min(strikes, clock_.now() + 100us);
  const auto turn = turn_of(processes_, *network_, clock_, random_, other);
  if (turn.process == nullptr) return turn.any;
  Process& process = *turn.process;
  process.agent->step(Duration::zero());
  // A step takes time, in which other processes send.
  if (random_.chance(0.5)) process.sleeps_until = clock_.now() + random_.between(0us, 100us);
  if (process.user != nullptr) process.user->act();
  if (process.agent->over()) {
    while (!process.work.empty()) process.work.run_one();  // Completes its writes.
    network_->kill(process.name);
  }
  return true;
}

void SavingJob::strike() {
  struck_ = true;
  if (plan_.lives[life_].fate == Fate::kAllAreKilled) {
    dead_ = true;
    return;
  }
  Process& victim = *processes_[random_.below(processes_.size())];
  victim.alive = false;
  victim.work.drop();
  network_->kill(victim.name);
}

// ---- its end

bool SavingJob::over() const {
  return std::ranges::all_of(processes_, [](const auto& process) {
    const bool user_done = process->user == nullptr || process->user->finished();
    return !process->alive || (process->agent->over() && user_done);
  });
}

void SavingJob::check_end() {
  if (plan_.lives[life_].fate != Fate::kEndsWell) return;
  for (const auto& process : processes_) {
    if (process->user == nullptr || process->user->outcome()->ok()) continue;
    report("who lives goes on",
           fmt::format("{}: {}", process->name, process->user->outcome()->text()));
  }
  if (!scheduler_->status().ok()) report("the job ends well", scheduler_->status().text());
}

std::string SavingJob::describe() const {
  std::string text =
      fmt::format("life {} of {}, every {} steps, {} complete, {} failed; ", life_ + 1,
                  plan_.lives.size(), plan_.every, past_.complete, past_.failures);
  for (const TensorSpec& tensor : plan_.tensors) {
    text +=
        fmt::format("{} {} of {}; ", tensor.name, name_of(tensor.options.mode), tensor.elements);
  }
  for (const auto& process : processes_) {
    const bool runs = process->alive && process->agent != nullptr && !process->agent->over();
    text += fmt::format("{}{}", process->name, runs ? "" : " (ended)");
    if (process->user != nullptr && process->user->outcome()) {
      text += fmt::format(": {}", process->user->outcome()->text());
    }
    text += "; ";
  }
  return text;
}

void SavingJob::report(const std::string& invariant, const std::string& text) {
  if (violation_) return;
  violation_ = Violation{
      invariant,
      fmt::format("life {}, at {} ms: {}", life_ + 1,
                  std::chrono::duration<double, std::milli>(clock_.now() - began_).count(), text)};
}

}  // namespace stretto::sim
