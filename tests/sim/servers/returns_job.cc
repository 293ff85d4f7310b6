// SPDX-License-Identifier: Apache-2.0
// Builds the job, strikes and replaces its servers, and checks the invariants at its end.
#include "tests/sim/servers/returns_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace stretto::sim {
namespace {

constexpr int kMostStepsOfReturns = 400'000;
constexpr Duration kLongestReturnsJob = 120s;
constexpr Duration kSaid = 100ms;        // By then a server's messages have arrived.
constexpr Duration kLauncherWaits = 1s;  // The launcher's extra patience with a silent scheduler.
constexpr const char* kPlace = "scheduler:9000";

}  // namespace

ReturnsJob::ReturnsJob(std::uint64_t seed, std::uint32_t replicas, bool scheduler_returns,
                       bool moves, bool joins)
    : plan_(seed, replicas, scheduler_returns, moves, joins),
      random_(seed * 37 + 11),
      network_(clock_, seed, {.most_latency = seed % 3 == 0 ? 2ms : 300us, .local = seed % 5 == 0}),
      began_(clock_.now()),
      disk_(seed) {
  add_scheduler();
  const std::uint32_t servers = plan_.servers * plan_.replicas;
  for (std::uint32_t server = 0; server < servers; ++server) add_server(server);
  for (std::uint32_t number = 0; number < plan_.workers; ++number) add_worker(number);
}

Config ReturnsJob::config_of(Role role, std::int64_t rank) const {
  Config config;
  config.role = role;
  config.rank = rank;
  config.workers = plan_.workers;
  config.servers = plan_.servers;
  config.scheduler = kPlace;
  config.token = "secret";
  config.operation_timeout = 60s;
  config.job.part_bytes = 64;
  config.job.heartbeat = plan_.job.heartbeat;
  config.job.dead_after = plan_.job.dead_after;
  config.job.server_restarts = 16;
  config.job.replicas = plan_.replicas;
  return config;
}

ReturnsJob::Process& ReturnsJob::add(std::string name, const Config& config) {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = std::move(name);
  process.config = config;
  return process;
}

void ReturnsJob::add_scheduler() {
  ++life_;
  Config config = config_of(Role::kScheduler, -1);
  if (plan_.scheduler_returns) {
    config.scheduler_return = {.journal = "journal", .life = life_, .restarts = 100};
  }
  Process& process = add(life_ == 1 ? "scheduler" : fmt::format("scheduler-{}", life_), config);
  std::set<std::string> restored;
  Result<RecoveredState> past = past_of(process.config, disk_, restored);
  process.alive = past.ok();
  if (!past.ok()) return report("a journal can be read", past.status().text());
  const std::vector<JournalRecord> records = std::move(past->records);
  auto scheduler =
      std::make_unique<Scheduler>(process.config, network_.endpoint(process.name), clock_, nullptr,
                                  CheckpointKeeper::Files(), *std::move(past));
  if (!records.empty()) {
    const Status status = scheduler->recover(records);
    process.alive = status.ok();
    if (!status.ok()) return report("a journal leads where it did", status.text());
  }
  if (!scheduler->listen(kPlace).ok()) report("set-up", "the scheduler cannot listen");
  scheduler_ = scheduler.get();
  scheduler_process_ = &process;
  orders_ = 0;  // Each scheduler reports all losses from the first.
  process.agent = std::move(scheduler);
}

void ReturnsJob::add_server(std::uint32_t server) {
  Process& process =
      add(fmt::format("server-{}-{}", server, ++names_), config_of(Role::kServer, server));
  auto shard = std::make_unique<Shard>(process.config, 0, network_.endpoint(process.name), clock_);
  if (!shard->start(process.name + ":0", "").ok()) report("set-up", "a shard cannot start");
  process.shard = shard.get();
  process.agent = std::move(shard);
}

void ReturnsJob::add_worker(std::uint32_t number) {
  Process& process = add(fmt::format("worker {}", number), config_of(Role::kWorker, number));
  auto node = std::make_unique<WorkerNode>(process.config, network_.endpoint(process.name), clock_);
  WorkerNode& at = *node;
  process.agent = std::move(node);
  process.user = std::make_unique<ReturnsUser>(
      plan_, number, at, random_.below(1'000'000'000),
      [this](const std::string& invariant, const std::string& text) { report(invariant, text); });
}

// ---- running

std::optional<Violation> ReturnsJob::run() {
  for (int i = 0; i < kMostStepsOfReturns && !violation_ && !over(); ++i) {
    if (!step_one() || clock_.now() - began_ > kLongestReturnsJob) break;
  }
  if (!violation_ && !over()) report("no hang", describe());
  if (!violation_) check_end();
  return violation_;
}

bool ReturnsJob::over() const {
  return std::ranges::all_of(processes_, [](const auto& process) {
    const bool user_done = process->user == nullptr || process->user->finished();
    return !process->alive || process->unwanted || (process->agent->over() && user_done);
  });
}

bool ReturnsJob::step_one() {
  follow_scheduler();
  if (last_strike_ == Time() && have_all_joined()) last_strike_ = clock_.now();
  while (next_strike() <= clock_.now()) strike();
  while (next_start() <= clock_.now()) {
    const auto due = std::ranges::min_element(starts_, {}, &Start::at);
    const Start start = *due;
    starts_.erase(due);
    if (start.scheduler) {
      network_.kill(scheduler_process_->name);  // A stopped one is still alive.
      add_scheduler();
      if (violation_) return true;
      continue;
    }
    add_server(start.server);
    ++returned_;
  }
  const auto turn =
      turn_of(processes_, network_, clock_, random_, std::min(next_strike(), next_start()));
  if (turn.process == nullptr) return turn.any;
  Process& process = *turn.process;
  process.agent->step(Duration::zero());
  if (process.user != nullptr) process.user->act();
  const bool has_all = process.shard != nullptr && process.shard->slots().whole();
  if (has_all && !process.has_all_since) process.has_all_since = clock_.now();
  if (process.agent->over()) network_.kill(process.name);
  if (process.agent->over() && process.shard != nullptr) look_at_end(process);
  return turn.any;
}

bool ReturnsJob::have_all_joined() const {
  return std::ranges::all_of(processes_, [](const auto& process) {
    return process->user == nullptr || process->user->joined() || process->user->outcome();
  });
}

Time ReturnsJob::next_strike() const {
  if (last_strike_ == Time() || struck_ == plan_.strikes.size()) return Time::max();
  return last_strike_ + plan_.strikes[struck_].after;
}

Time ReturnsJob::next_start() const {
  Time next = Time::max();
  for (const Start& start : starts_) next = std::min(next, start.at);
  return next;
}

void ReturnsJob::strike() {
  const ReturnsPlan::Strike& strike = plan_.strikes[struck_++];
  last_strike_ = clock_.now();
  if (strike.blow == ReturnsPlan::Blow::kReset) return reset_a_link();
  if (strike.blow == ReturnsPlan::Blow::kDrain) return drain();
  if (strike.blow == ReturnsPlan::Blow::kJoin) return join();
  if (strike.blow == ReturnsPlan::Blow::kScheduler || strike.blow == ReturnsPlan::Blow::kPause ||
      strike.blow == ReturnsPlan::Blow::kStop) {
    return strike_scheduler(strike);
  }
  std::vector<Process*> servers;
  for (const auto& process : processes_) {
    const bool there = process->alive && process->shard != nullptr && !process->agent->over();
    if (there) servers.push_back(process.get());
  }
  if (servers.empty()) return;
  Process& victim = *servers[random_.below(servers.size())];
  may_end_ = may_end_ || is_last_holder(victim) || (plan_.joins && !is_in(victim));
  ++lost_;
  victim.alive = false;
  if (strike.blow == ReturnsPlan::Blow::kCrash) {
    network_.kill(victim.name);
  } else {
    network_.silence(victim.name);
  }
}

// Drains any live server, also one without a rank or one that is draining already.
void ReturnsJob::drain() {
  std::vector<Process*> servers;
  for (const auto& process : processes_) {
    const bool there = process->alive && process->shard != nullptr && !process->agent->over();
    if (there) servers.push_back(process.get());
  }
  if (!servers.empty()) servers[random_.below(servers.size())]->shard->hand_over();
}

// An external server joins, with an id that no launcher uses.
void ReturnsJob::join() {
  const auto numbers = plan_.servers * JobSettings::kMostReplicas;
  add_server(numbers + static_cast<std::uint32_t>(random_.below(numbers)));
}

// A server ends in order if all workers left or a replacement took over. Without a replacement in
// time it ends with an error, but only after another strike.
void ReturnsJob::look_at_end(Process& server) {
  if (!server.alive) return;
  server.alive = false;
  const Status& why = server.shard->status();
  if (why.ok() && scheduler_->phase() == "running") ++moved_;
  if (why.code() != Code::kInterrupted) return;
  may_end_ = may_end_ || plan_.keeps || (plan_.joins && !is_in(server));
  if (lost_++ == 0 && struck_ == 0) report("who is asked to go can", why.text());
}

// True if no other live process serves the victim's rank, or could, whether or not the scheduler
// knows of it or is running.
bool ReturnsJob::is_last_holder(const Process& victim) const {
  if (plan_.replicas == 1 && !plan_.keeps) return false;
  const View& view = scheduler_->view();
  std::map<std::string, const Member*> members;
  for (const auto& [node, member] : view.members) {
    members[member.address.substr(0, member.address.find(':'))] = &member;
  }
  const auto lost = members.find(victim.name);
  if (lost == members.end()) return false;
  return std::ranges::none_of(processes_, [&](const auto& process) {
    const auto found = members.find(process->name);
    if (!process->alive || process.get() == &victim || found == members.end()) return false;
    const Member& member = *found->second;
    const bool said = process->has_all_since && clock_.now() - *process->has_all_since > kSaid;
    const bool has_all = !member.standby || said || view.caught_up.contains(member.node);
    return member.rank == lost->second->rank && has_all;
  });
}

// A replacement lost just as it is in sync may be promoted: then the state is lost.
void ReturnsJob::note_dead_heirs() {
  if (!plan_.moves || !plan_.keeps || may_end_) return;
  for (const auto& [node, member] : scheduler_->view().members) {
    if (member.role != Role::kServer || member.standby || member.left) continue;
    const std::string name = member.address.substr(0, member.address.find(':'));
    const auto process = std::ranges::find(
        processes_, name, [](const auto& one) -> const auto& { return one->name; });
    may_end_ = may_end_ || !(*process)->alive;
  }
}

// Only while the job runs: otherwise the launcher starts no other scheduler.
void ReturnsJob::strike_scheduler(const ReturnsPlan::Strike& strike) {
  if (!scheduler_process_->alive || scheduler_->phase() != "running") return;
  Time at = clock_.now() + strike.absence;
  if (strike.blow == ReturnsPlan::Blow::kPause) {
    scheduler_process_->sleeps_until = at;
    return;
  }
  scheduler_process_->alive = false;
  if (strike.blow == ReturnsPlan::Blow::kStop) {
    network_.silence(scheduler_process_->name);
    at += plan_.job.dead_after + kLauncherWaits;
  } else {
    network_.kill(scheduler_process_->name);
  }
  disk_.restart(Crash::kProcess);
  starts_.push_back({.at = at, .scheduler = true});
}

void ReturnsJob::reset_a_link() {
  std::vector<std::string> workers;
  std::vector<std::string> others;
  for (const auto& process : processes_) {
    if (!process->alive) continue;
    (process->user != nullptr ? workers : others).push_back(process->name);
  }
  if (others.empty()) return;  // None is alive at the moment.
  const auto some = [this](const std::vector<std::string>& of) {
    return of[random_.below(of.size())];
  };
  const bool of_servers = plan_.replicas > 1 && random_.chance(0.5);
  network_.cut(some(of_servers ? others : workers), some(others));
}

bool ReturnsJob::is_in(const Process& server) const {
  return std::ranges::any_of(scheduler_->view().members, [&server](const auto& item) {
    return item.second.address.starts_with(server.name + ":");
  });
}

// A server that has not re-registered may miss its replacement and the job's end. Its launcher ends
// it; an external one times out.
void ReturnsJob::note_unwanted(Rank server) {
  for (const auto& process : processes_) {
    const bool is_it = process->shard != nullptr && process->config.rank == std::int64_t{server};
    process->unwanted = process->unwanted || (is_it && !is_in(*process));
  }
}

// Starts a server when the scheduler reports that it waits for one, as a launcher does.
void ReturnsJob::follow_scheduler() {
  if (!scheduler_process_->alive) return;
  note_dead_heirs();
  const std::vector<MigrationOrder>& orders = scheduler_->moves().orders();
  for (; orders_ < orders.size(); ++orders_) {
    const std::size_t turn = orders_ % plan_.strikes.size();
    starts_.push_back(
        {.server = orders[orders_].server, .at = clock_.now() + plan_.strikes[turn].absence});
  }
  const std::vector<LossReport>& news = scheduler_->watch().loss_news();
  for (; news_ < news.size(); ++news_) {
    if (news[news_].dropped) note_unwanted(news[news_].number);
    if (news[news_].dropped) continue;
    const std::size_t turn = news_ % plan_.strikes.size();
    const bool joined = news[news_].number >= plan_.servers * JobSettings::kMostReplicas;
    starts_.push_back({.server = joined ? news[news_].number % plan_.servers : news[news_].number,
                       .at = clock_.now() + plan_.strikes[turn].absence});
  }
}

// ---- the end

void ReturnsJob::check_end() {
  for (const auto& process : processes_) {
    if (process->user == nullptr || process->user->outcome()->ok()) continue;
    const Status& why = *process->user->outcome();
    const bool may_lose = plan_.may_lose && lost_ > 0 && plan_.replicas == 1;
    const bool lost = may_lose && why.code() == Code::kServerLost;
    // A worker that ends because of a lost server causes its peers to fail.
    const bool follows = may_lose && why.code() == Code::kPeerLost;
    const bool ends = may_end_ && scheduler_->status().code() == Code::kServerLost;
    if (!lost && !follows && !ends) {
      report("who lives goes on", fmt::format("{}: {}", process->name, why.text()));
    }
  }
  const bool ends = may_end_ && scheduler_->status().code() == Code::kServerLost;
  const bool may_fail = ends || (plan_.may_lose && lost_ > 0 && plan_.replicas == 1);
  if (!scheduler_->status().ok() && !may_fail) {
    report("the job ends well", scheduler_->status().text());
  }
}

std::uint64_t ReturnsJob::values() const {
  std::uint64_t values = 0;
  for (const auto& process : processes_) {
    if (process->user != nullptr) values += process->user->values();
  }
  return values;
}

std::string ReturnsJob::describe() const {
  std::string modes;
  for (const TensorSpec& tensor : plan_.tensors) {
    modes +=
        fmt::format("{} {} of {}, ", tensor.name, name_of(tensor.options.mode), tensor.elements);
  }
  std::string text =
      modes + fmt::format("{} workers, {} servers, {} rounds of {} tensors, {} lost, {}; ",
                          plan_.workers, plan_.servers, plan_.rounds, plan_.tensors.size(), lost_,
                          scheduler_->phase());
  for (const auto& process : processes_) {
    if (process->user != nullptr && process->user->outcome()) {
      text += fmt::format("{}: {}; ", process->name, process->user->outcome()->text());
    }
    if (!process->alive || process->agent->over()) continue;
    text += process->name;
    if (process->user != nullptr) text += fmt::format(" ({} values)", process->user->values());
    text += "; ";
  }
  return text;
}

void ReturnsJob::report(const std::string& invariant, const std::string& text) {
  if (violation_) return;
  violation_ = Violation{
      invariant,
      fmt::format("at {} ms: {}",
                  std::chrono::duration<double, std::milli>(clock_.now() - began_).count(), text)};
}

}  // namespace stretto::sim
