// SPDX-License-Identifier: Apache-2.0
// Builds the job, strikes its workers, and checks the invariants at its end.
#include "tests/sim/losses/loss_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "van/wire/header.h"

namespace stretto::sim {
namespace {

constexpr int kMostStepsOfLosses = 1'000'000;
constexpr Duration kLongestLossJob = 90s;
constexpr Duration kToldOfSilence = 6500ms;  // Maximum time from a loss until all continue.
constexpr std::uint64_t kMostStepsToComeIn = 10;
constexpr const char* kFirst = "scheduler";
constexpr const char* kDoor = "scheduler:9000";

}  // namespace

LossJob::LossJob(std::uint64_t seed, Watched watched, std::uint32_t replicas,
                 LossPlan::Beside beside)
    : plan_(seed, replicas, beside),
      watched_(watched),
      random_(seed * 31 + 5),
      network_(clock_, seed, {.most_latency = seed % 3 == 0 ? 2ms : 300us, .local = plan_.local}),
      began_(clock_.now()),
      returning_(plan_, seed * 47 + 3,
                 {.lose = [this](Duration absence) { lose_scheduler(absence); },
                  .start = [this] { add_scheduler(); },
                  .report = [this](const std::string& invariant,
                                   const std::string& text) { report(invariant, text); }}),
      servers_(
          plan_, seed * 43 + 7,
          {.start = [this](std::uint32_t number) { add_server(number); },
           .lose = [this](const std::string& name, bool is_told) { lose_server(name, is_told); },
           .drain = [this](const std::string& name) { drain_server(name); }}) {
  board_.report = [this](const std::string& invariant, const std::string& text) {
    report(invariant, text);
  };
  begin_history();
  add_scheduler();
  const std::uint32_t servers = plan_.servers * plan_.replicas;
  for (std::uint32_t server = 0; server < servers; ++server) add_server(server);
  for (std::uint32_t number = 0; number < plan_.workers; ++number) add_worker(number);
}

Config LossJob::config_of(Role role, std::int64_t rank) const {
  Config config;
  config.role = role;
  config.rank = rank;
  config.workers = plan_.workers;
  config.servers = plan_.servers;
  config.job.replicas = plan_.replicas;
  config.job.server_restarts = plan_.moves ? 1 : 0;
  config.drain = 80s;
  config.restarts = LossPlan::kMostWorkers - plan_.workers;
  config.shards = plan_.shards;
  config.scheduler = kDoor;
  config.token = "secret";
  config.rendezvous_timeout = 15s;  // Losses before a joining worker are detected sooner.
  config.operation_timeout = 50s;
  config.job.part_bytes = 64;
  config.job.heartbeat = 50ms;
  config.job.dead_after = 5s;
  config.checksums = Checksums::kBetweenHosts;
  config.job.min_workers = plan_.min_workers;
  config.job.worker_links = plan_.worker_links;
  return config;
}

void LossJob::add_scheduler() {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = scheduler_ == nullptr ? kFirst : fmt::format("scheduler-{}", ++names_);
  process.config = config_of(Role::kScheduler, -1);
  auto scheduler = returning_.make(process.config, network_.endpoint(process.name), clock_);
  process.alive = scheduler != nullptr;
  if (scheduler == nullptr) return;
  if (!scheduler->listen(kDoor).ok()) report("set-up", "the scheduler cannot listen");
  scheduler_ = scheduler.get();
  scheduler_process_ = &process;
  process.agent = std::move(scheduler);
}

// A worker lost meanwhile, or with the scheduler, is detected once members had time to re-register.
void LossJob::lose_scheduler(Duration absence) {
  board_.history.disturbances.push_back(
      {.at = clock_.now(), .costs = absence + 2 * kToldOfSilence});
  scheduler_process_->alive = false;
  network_.kill(scheduler_process_->name);
}

void LossJob::add_server(std::uint32_t server) {
  const std::string name = fmt::format("server-{}", server);
  const std::uint64_t process = names_++;
  for (std::uint32_t shard = 0; shard < plan_.shards; ++shard) {
    add_shard(server, shard,
              !plan_.servers_change() ? fmt::format("{}-{}", name, shard)
              : shard == 0            ? fmt::format("{}-{}", name, process)
                                      : fmt::format("{}-{}.{}", name, process, shard));
  }
}

void LossJob::add_shard(std::uint32_t server, std::uint32_t index, std::string name) {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = std::move(name);
  process.config = config_of(Role::kServer, server);
  auto shard =
      std::make_unique<Shard>(process.config, index, network_.endpoint(process.name), clock_);
  if (!shard->start(process.name + ":0", "").ok()) report("set-up", "a shard cannot start");
  process.shard = shard.get();
  process.agent = std::move(shard);
}

void LossJob::add_worker(std::uint32_t number, NodeId former) {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = fmt::format("worker {}", number);
  process.number = number;
  process.config = config_of(Role::kWorker, number);
  process.config.former = former;
  const auto on_place = [this, number](const WorkerView& place) {
    board_.history.places.push_back({.worker = number,
                                     .epoch = place.epoch,
                                     .rank = place.rank,
                                     .numbers = {place.numbers.begin(), place.numbers.end()}});
  };
  std::unique_ptr<Transport> transport = network_.endpoint(process.name);
  const Result<std::string> address = transport->listen(fmt::format("worker-{}:0", number));
  if (!address.ok()) report("set-up", "a worker cannot listen");
  process.config.machine = 1 + number % plan_.machines;
  auto node = std::make_unique<WorkerNode>(process.config, std::move(transport), clock_,
                                           std::make_unique<CodecExecutor>(), on_place);
  process.worker = node.get();
  process.agent = std::move(node);
  process.user = std::make_unique<LossUser>(plan_, number, *process.worker, board_, *address,
                                            random_.below(1'000'000'000));
}

// ---- running

std::optional<Violation> LossJob::run() {
  for (int i = 0; i < kMostStepsOfLosses && !violation_ && !over(); ++i) {
    if (!step_one() || clock_.now() - began_ > kLongestLossJob) break;
  }
  end_history();
  if (!violation_ && !over()) report("no hang", describe());
  if (!violation_ && watched_ == Watched::kByUsers && !servers_.has_lost_heir()) check_end();
  return violation_;
}

bool LossJob::over() const {
  if (returning_.is_away()) return false;
  return std::ranges::all_of(processes_, [](const auto& process) {
    const bool user_done = process->user == nullptr || process->user->finished();
    return !process->alive || (process->agent->over() && user_done);
  });
}

bool LossJob::step_one() {
  while (next_strike() <= clock_.now()) strike();
  end_if_due(dip_, network_, clock_.now());
  follow_servers();
  returning_.act(clock_.now(), *scheduler_, is_recovering());
  if (violation_) return true;
  while (next_join() <= clock_.now()) start_joining();
  const Time other = std::min(
      {next_strike(), next_join(), sim::end_of(dip_), servers_.next_due(), returning_.next_due()});
  const auto turn = turn_of(processes_, network_, clock_, random_, other);
  if (turn.process != nullptr) step(*turn.process);
  return turn.any;
}

void LossJob::step(Process& process) {
  process.agent->step(Duration::zero());
  if (process.user != nullptr) process.user->act();
  if (process.user != nullptr && process.user->outcome()) {
    board_.history.ends.try_emplace(process.number, end_of(*process.user->outcome()));
  }
  if (process.shard != nullptr) note_kept(process);
  if (process.agent.get() == scheduler_) note_returns();
  if (process.agent->over()) network_.kill(process.name);
  if (process.agent->over() && plan_.moves && process.shard != nullptr) look_at_end(process);
}

// Nothing in this job may prevent the replacement of a draining server.
void LossJob::look_at_end(const Process& server) {
  const Status& why = server.shard->status();
  if (why.code() == Code::kInterrupted) report("who is asked to go can", why.text());
  const bool moved = why.ok() && scheduler_->phase() == "running";
  moved_ += moved && server.name.find('.') == std::string::npos ? 1 : 0;
}

// ---- losses

Time LossJob::next_strike() const {
  if (struck_ == plan_.strikes.size()) return Time::max();
  return std::max(began_ + plan_.strikes[struck_].after, not_before_);
}

Time LossJob::next_join() const {
  if (started_ == plan_.joins.size()) return Time::max();
  return std::max(began_ + plan_.joins[started_].after, joins_not_before_);
}

// Joins begin once the job runs, which the first strike has waited for.
void LossJob::start_joining() {
  const std::uint32_t in = scheduler_->view().ranks(Role::kWorker);
  const bool full = in == plan_.workers && !scheduler_->over();
  if (struck_ == 0 || (full && plan_.joins[started_].waits_for_a_place)) {
    joins_not_before_ = clock_.now() + 1ms;
    return;
  }
  if (scheduler_->over()) {
    ++started_;
    return;
  }
  const std::uint32_t newcomer = plan_.workers + static_cast<std::uint32_t>(started_);
  add_worker(newcomer, plan_.joins[started_++].comes_again ? former_of(newcomer) : 0);
}

// A lost member that no joining worker replaces yet; 0 if there is none.
NodeId LossJob::former_of(std::uint32_t newcomer) {
  std::vector<const Process*> all;
  for (const auto& process : processes_) {
    if (process->user == nullptr || !board_.lost.contains(process->number)) continue;
    const NodeId node = process->worker->membership().node();
    const bool known = std::ranges::find(returns_, node, &Return::former) != returns_.end();
    if (process->user->is_in() && !known) all.push_back(process.get());
  }
  if (all.empty()) return 0;
  const MembershipClient& former = all[newcomer % all.size()]->worker->membership();
  returns_.push_back({.former = former.node(), .number = former.number(), .newcomer = newcomer});
  return former.node();
}

// Records the epoch from which a number means the joining worker.
void LossJob::note_returns() {
  for (Return& each : returns_) {
    if (each.out_since != 0 || scheduler_->view().find(each.former) != nullptr) continue;
    each.out_since = scheduler_->view().epoch;
  }
}

std::size_t LossJob::came_again() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      returns_, [this](const Return& each) { return board_.came.contains(each.newcomer); }));
}

std::vector<LossJob::Process*> LossJob::victims() const {
  std::vector<Process*> found;
  for (const auto& process : processes_) {
    const bool lives = process->alive && process->user != nullptr && !process->user->outcome();
    if (lives && !board_.lost.contains(process->number)) found.push_back(process.get());
  }
  return found;
}

void LossJob::strike() {
  for (const auto& process : processes_) {
    if (process->user == nullptr || process->user->joined()) continue;
    if (process->number >= plan_.workers) continue;
    not_before_ = clock_.now() + 1ms;
    if (process->user->outcome()) ++struck_;  // The job never formed.
    return;
  }
  const LossPlan::Strike& strike = plan_.strikes[struck_];
  std::vector<Process*> all = victims();
  if (strike.phase && !all.empty()) {
    const bool misses = strike.recovering && !is_recovering();
    std::erase_if(all, [&](const Process* each) { return each->user->phase() != *strike.phase; });
    not_before_ = clock_.now() + 200us;
    // Without a loss that is still undetected, the moment has passed.
    if (all.empty() && !misses) return;
    if (misses) all.clear();
  }
  ++struck_;
  if (all.empty()) return;
  Process& victim = *all[random_.below(all.size())];
  visits_.note(strike.kind, victim.user->phase(), is_recovering());
  if (is_loss(strike.kind)) return lose(victim, strike.kind);
  if (strike.kind == LossKind::kLeave) return victim.user->leave_soon();
  break_a_link(victim, strike);
}

void LossJob::lose(Process& victim, LossKind kind) {
  board_.lost.insert(victim.number);
  History& history = board_.history;
  history.lost[victim.number] = clock_.now();
  history.disturbances.push_back({.at = clock_.now(), .costs = kToldOfSilence});
  if (kind == LossKind::kSleep) history.asleep.insert(victim.number);
  const LossPhase phase = victim.user->phase();
  const bool done = phase == LossPhase::kReading || victim.user->leaves();
  if (done) history.done.insert(victim.number);
  if (kind == LossKind::kSleep) {
    // Each restarted scheduler starts the timeout again.
    const int times = plan_.scheduler_strikes.empty() ? 3 : 10;
    victim.sleeps_until = clock_.now() + times * victim.config.job.dead_after;
    return;
  }
  victim.alive = false;
  if (kind == LossKind::kCrash) {
    network_.kill(victim.name);
  } else {
    network_.silence(victim.name);
  }
}

void LossJob::follow_servers() {
  if (!plan_.servers_change()) return;
  std::set<std::string> alive;
  for (const auto& process : processes_) {
    const bool there = process->alive && process->shard != nullptr && !process->agent->over();
    if (there) alive.insert(process->name);  // Other processes cannot be struck.
  }
  servers_.act(clock_.now(), *scheduler_, alive);
}

std::vector<LossJob::Process*> LossJob::shards_of(const std::string& server) {
  std::vector<Process*> shards;
  for (const auto& process : processes_) {
    const bool is_one = process->name == server || process->name.starts_with(server + ".");
    if (is_one) shards.push_back(process.get());
  }
  return shards;
}

void LossJob::drain_server(const std::string& name) {
  for (const Process* process : shards_of(name)) {
    process->shard->hand_over();
    if (process->agent->over()) network_.kill(process->name);  // It was not admitted yet.
  }
}

void LossJob::lose_server(const std::string& name, bool is_told) {
  board_.history.disturbances.push_back({.at = clock_.now(), .costs = kToldOfSilence});
  for (Process* process : shards_of(name)) {
    process->alive = false;
    if (is_told) {
      network_.kill(process->name);
    } else {
      network_.silence(process->name);
    }
  }
}

// A peer that the victim has a link to: mostly the scheduler and shards, and other workers if
// tensors are exchanged directly.
std::string LossJob::other_end(const Process& victim) {
  std::vector<std::string> doors;
  std::vector<std::string> peers;
  for (const auto& process : processes_) {
    const bool is_worker = process->worker != nullptr;
    if (!is_worker) doors.push_back(process->name);
    if (is_worker && process->alive && process.get() != &victim) peers.push_back(process->name);
  }
  const bool among = std::ranges::any_of(plan_.tensors, LossPlan::is_among_workers);
  const bool is_peer = among && !peers.empty() && random_.chance(0.4);
  const std::vector<std::string>& from = is_peer ? peers : doors;
  return from[random_.below(from.size())];
}

void LossJob::break_a_link(const Process& victim, const LossPlan::Strike& strike) {
  const std::string other = other_end(victim);
  const bool comes = random_.chance(0.5);
  const std::string& from = comes ? other : victim.name;
  const std::string& to = comes ? victim.name : other;
  if (strike.kind == LossKind::kReset) network_.cut(from, to);
  if (strike.kind == LossKind::kFlip) flip_a_bit(network_, random_, from, to);
  if (strike.kind != LossKind::kDip || !network_.hush(from, to, 0)) return;
  dip_ = Dip{from, to, clock_.now() + strike.pause};
  dipped_ = {from, to};
  board_.history.disturbances.push_back({.at = clock_.now(), .costs = strike.pause + 1s});
  if (other.starts_with(kFirst)) board_.history.unheard.insert(victim.number);
  if (random_.chance(0.5)) network_.hush(to, from, 0);
}

// True if a lost worker is still in the scheduler's view.
bool LossJob::is_recovering() const {
  return std::ranges::any_of(processes_, [this](const auto& process) {
    return process->worker != nullptr && board_.lost.contains(process->number) &&
           scheduler_->view().find(process->worker->membership().node()) != nullptr;
  });
}

// ---- the end

// With enough workers left the job completes; otherwise all processes end and name a lost worker.
void LossJob::check_end() {
  const bool enough = board_.lost.size() + plan_.min_workers <= plan_.workers;
  went_on_ = scheduler_->status().ok() && !board_.lost.empty();
  // Joining workers with no other worker left to admit them know no values: the job ends.
  const bool only_newcomers = std::ranges::all_of(processes_, [this](const auto& process) {
    return process->user == nullptr || process->number >= plan_.workers ||
           !board_.stays(process->number);
  });
  if (enough && !only_newcomers && !scheduler_->status().ok()) {
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
    if (!lost && !process->user->is_in() && process->number >= plan_.workers) {
      if (scheduler_->status().ok()) check_newcomer(*process);
      continue;
    }
    if (!lost && scheduler_->status().ok() && !outcome.ok()) {
      report("who lives goes on", fmt::format("{}: {}", process->name, outcome.text()));
    }
    // A job that ends does not wait for the delivery of its last messages.
    const bool deaf = dipped_.contains(process->name) && dipped_.contains(kFirst);
    if (!lost && !deaf && !outcome.ok() && !names_the_lost(outcome)) {
      report("errors name the cause", fmt::format("{}: {}", process->name, outcome.text()));
    }
  }
}

void LossJob::check_newcomer(const Process& process) {
  const LossUser& user = *process.user;
  if (user.outcome()->ok() || user.steps_seen() < kMostStepsToComeIn) return;
  // Joining needs a link to every server, so it waits until a lost server is detected. Meanwhile
  // other workers make steps if their tensors lie elsewhere.
  const auto known = board_.history.ends.find(process.number);
  const Time ended = known == board_.history.ends.end() ? clock_.now() : known->second.at;
  const Time since = std::max(servers_.last_loss(), returning_.settled_at());
  const bool may_wait = plan_.servers_change() || returning_.came() != 0;
  if (may_wait && ended - since < kToldOfSilence) return;
  report("who comes is taken in", fmt::format("{}, in {} steps: {}", process.name,
                                              user.steps_seen(), user.outcome()->text()));
}

}  // namespace stretto::sim
