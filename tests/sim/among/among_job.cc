// SPDX-License-Identifier: Apache-2.0
// Builds the job, runs it, and injects its faults.
#include "tests/sim/among/among_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "van/wire/frame_views.h"

namespace stretto::sim {
namespace {

constexpr int kMostStepsAmong = 1'000'000;
constexpr Duration kLongestAmongJob = 40s;
constexpr const char* kDoorOfAll = "scheduler:9000";

}  // namespace

AmongJob::AmongJob(std::uint64_t seed, std::uint64_t timing)
    : plan_(seed),
      random_(seed * 31 + 7 + timing * 1'000'003),
      network_(clock_, seed + 23 + timing * 7919, plan_.network),
      began_(clock_.now()) {
  board_.report = [this](const std::string& invariant, const std::string& text) {
    report(invariant, text);
  };
  if (plan_.is_calm()) watch_bytes();
  add_scheduler();
  for (std::uint32_t server = 0; server < plan_.servers; ++server) add_shard(server);
  for (Rank rank = 0; rank < plan_.workers; ++rank) add_worker(rank);
}

Config AmongJob::config_of(Role role, std::int64_t rank) const {
  Config config;
  config.role = role;
  config.rank = rank;
  config.workers = plan_.workers;
  config.servers = plan_.servers;
  config.scheduler = kDoorOfAll;
  config.token = "secret";
  config.rendezvous_timeout = 15s;
  config.operation_timeout = 30s;
  config.job = plan_.settings;
  config.job.heartbeat = 50ms;
  config.checksums = Checksums::kBetweenHosts;
  return config;
}

AmongJob::Process& AmongJob::add(const std::string& name, const Config& config) {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.name = name;
  process.config = config;
  return process;
}

void AmongJob::add_scheduler() {
  Process& process = add("scheduler", config_of(Role::kScheduler, -1));
  auto scheduler =
      std::make_unique<Scheduler>(process.config, network_.endpoint(process.name), clock_);
  if (!scheduler->listen(kDoorOfAll).ok()) report("set-up", "the scheduler cannot listen");
  process.agent = std::move(scheduler);
}

void AmongJob::add_shard(std::uint32_t server) {
  Process& process = add(fmt::format("server {}", server), config_of(Role::kServer, server));
  auto shard = std::make_unique<Shard>(process.config, 0, network_.endpoint(process.name), clock_);
  if (!shard->start(fmt::format("server-{}:0", server), "").ok()) {
    report("set-up", "a shard cannot start");
  }
  process.agent = std::move(shard);
}

void AmongJob::add_worker(Rank rank) {
  Process& process = add(fmt::format("worker {}", rank), config_of(Role::kWorker, rank));
  process.rank = rank;
  std::unique_ptr<Transport> transport = network_.endpoint(process.name);
  const Result<std::string> address = transport->listen(fmt::format("worker-{}:0", rank));
  if (!address.ok()) report("set-up", "a worker cannot listen");
  process.config.machine = 1 + rank % plan_.machines;
  auto node = std::make_unique<WorkerNode>(process.config, std::move(transport), clock_);
  node->work().exchange().members().plans().set_choose(
      [this](const auto& known, auto, auto, const auto&) { return some_choice(known.machines); });
  process.worker = node.get();
  process.agent = std::move(node);
  process.user = std::make_unique<AmongUser>(plan_, rank, *process.worker, board_, *address,
                                             random_.below(1'000'000'000));
}

// A random valid plan: members must follow any plan.
collective::StrategyChoice AmongJob::some_choice(const std::vector<std::uint32_t>& machines) {
  constexpr collective::Primitive kAll[] = {
      collective::Primitive::kDirect, collective::Primitive::kRing, collective::Primitive::kHalving,
      collective::Primitive::kTree, collective::Primitive::kHierarchical};
  collective::StrategyPlan plan{.primitive = kAll[random_.below(std::size(kAll))]};
  const bool by_machine = plan.primitive == collective::Primitive::kHierarchical;
  if (random_.chance(0.5) && (by_machine || plan.primitive == collective::Primitive::kDirect)) {
    const std::size_t roots =
        by_machine ? *std::ranges::max_element(machines) + 1 : machines.size();
    for (std::size_t i = 0; i < roots; ++i) {
      plan.weights.push_back(static_cast<std::uint32_t>(random_.below(4)));
    }
    plan.weights[random_.below(roots)] = 1 + static_cast<std::uint32_t>(random_.below(3));
  }
  return {.plan = plan, .predicted = {}, .why = "drawn"};
}

// ---- bytes between workers

void AmongJob::watch_bytes() {
  network_.set_tamper(
      [this](const std::string& from, const std::string& to, const wire::Header& header) {
        if (from.starts_with("worker") && to.starts_with("worker")) note_frame(from, to, header);
        return 1;
      });
}

void AmongJob::note_frame(const std::string& from, const std::string& to,
                          const wire::Header& header) {
  std::pair<std::size_t, std::uint64_t> call;
  if (header.kind == wire::Kind::kMore) {
    const auto first = slices_.find({from, to, header.version, header.key});
    if (first == slices_.end()) return;
    call = first->second;
  } else if (header.kind == wire::Kind::kUp || header.kind == wire::Kind::kDown) {
    const bool sent = wire::GroupFrame::is_one(header) &&
                      GroupCall::unpack(header.base, Dtype::kU8).kind == CallKind::kSend;
    call = {board_.circles.at(header.key.tensor), sent ? 0 : header.version};
    slices_[{from, to, header.sequence, header.key}] = call;
  } else {
    return;
  }
  const Circle& circle = plan_.circles[call.first];
  Traffic& traffic = carried_[call];
  traffic.resize(circle.size());
  const auto place = [&circle](const std::string& name) {
    return circle.place_of(static_cast<Rank>(std::stoul(name.substr(name.find(' ')))));
  };
  traffic.at(place(from)).sent += header.bytes;
  traffic.at(place(to)).taken += header.bytes;
}

// ---- running

std::optional<Violation> AmongJob::run() {
  for (int i = 0; i < kMostStepsAmong && !violation_ && !over(); ++i) {
    if (!step_one() || clock_.now() - began_ > kLongestAmongJob) break;
  }
  if (!violation_ && !over()) report("no hang", "the job goes on");
  if (!violation_) check_end();
  return violation_;
}

bool AmongJob::over() const {
  return std::ranges::all_of(
      processes_, [](const auto& process) { return !process->alive || process->agent->over(); });
}

bool AmongJob::step_one() {
  while (next_strike() <= clock_.now()) strike();
  end_if_due(dip_, network_, clock_.now());
  const Time other = std::min(next_strike(), end_of(dip_));
  const auto turn = turn_of(processes_, network_, clock_, random_, other);
  if (turn.process != nullptr) step(*turn.process);
  return turn.any;
}

void AmongJob::step(Process& process) {
  process.agent->step(Duration::zero());
  if (process.user != nullptr) process.user->act();
  if (!process.agent->over()) return;
  process.over_at = clock_.now();
  if (process.user != nullptr && process.user->in_flight() != 0) {
    report("tickets end once", process.name + " is over, and has tickets that never ended");
  }
  network_.kill(process.name);
}

// ---- what goes wrong

Time AmongJob::next_strike() const {
  if (struck_ == plan_.strikes.size()) return Time::max();
  const AmongPlan::Strike& strike = plan_.strikes[struck_];
  if (board_.begun < strike.begun) return Time::max();
  return armed_ ? *armed_ + strike.after : Time();
}

void AmongJob::strike() {
  const AmongPlan::Strike& strike = plan_.strikes[struck_];
  if (!armed_) {
    armed_ = clock_.now();
    return;
  }
  armed_.reset();
  ++struck_;
  if (is_loss(strike.fault)) return lose(strike);
  break_a_link(strike);
}

AmongJob::Process* AmongJob::some_worker() {
  std::vector<Process*> all;
  for (const auto& process : processes_) {
    const bool lives = process->alive && !process->agent->over() && process->user != nullptr;
    if (lives && !lost_.contains(process->name)) all.push_back(process.get());
  }
  return all.empty() ? nullptr : all[random_.below(all.size())];
}

void AmongJob::lose(const AmongPlan::Strike& strike) {
  Process* victim = some_worker();
  if (strike.at_anybody && strike.fault != AmongFault::kSleep) {
    Process& any = *processes_[random_.below(processes_.size())];
    const bool lives = any.alive && !any.agent->over() && !lost_.contains(any.name);
    victim = lives ? &any : nullptr;
  }
  if (victim == nullptr) return;
  lost_[victim->name] = clock_.now();
  if (strike.fault == AmongFault::kSleep) {
    victim->sleeps_until = clock_.now() + 3 * victim->config.job.dead_after;
    return;
  }
  victim->alive = false;
  if (strike.fault == AmongFault::kCrash) {
    network_.kill(victim->name);
  } else {
    network_.silence(victim->name);
  }
}

// Both ends have completed the handshake: before it, a reset counts as a member's departure.
bool AmongJob::are_linked(const Process& one, const Process& other) {
  const auto to = [](const Process& from, const Process& far) {
    const NodeId node = far.worker->membership().node();
    return from.worker->work().exchange().peers().link_to(node) != 0;
  };
  const bool among = one.worker != nullptr && other.worker != nullptr;
  return !among || (to(one, other) && to(other, one));
}

// Mostly between two workers, and only after all have joined: a forming member does not retry.
void AmongJob::break_a_link(const AmongPlan::Strike& strike) {
  const auto is_in = [](const auto& process) {
    return process->user == nullptr || process->user->joined();
  };
  Process* worker = some_worker();
  if (worker == nullptr || !std::ranges::all_of(processes_, is_in)) return;
  const std::size_t doors = processes_.size() - plan_.workers;
  const bool among = random_.chance(0.8);
  const std::size_t at = among ? doors + random_.below(plan_.workers) : random_.below(doors);
  const Process& other = *processes_[at];
  if (&other == worker || !other.alive || other.agent->over()) return;
  if (!are_linked(*worker, other)) return;
  const bool comes = random_.chance(0.5);
  const std::string& from = comes ? other.name : worker->name;
  const std::string& to = comes ? worker->name : other.name;
  if (strike.fault == AmongFault::kReset) network_.cut(from, to);
  if (strike.fault == AmongFault::kFlip) flip_a_bit(network_, random_, from, to);
  if (strike.fault != AmongFault::kDip || dip_ || !network_.hush(from, to, 0)) return;
  dip_ = Dip{from, to, clock_.now() + strike.pause};
  if (random_.chance(0.5)) network_.hush(to, from, 0);
}

// ---- what it tells

bool AmongJob::has_fixed_values() const {
  return std::ranges::any_of(plan_.items, [this](const AmongItem& item) {
    return plan_.circles[item.circle].spec.options.deterministic && !item.founds &&
           reduces(item.call.kind);
  });
}

std::vector<std::map<Rank, std::vector<std::byte>>> AmongJob::fixed_values() const {
  auto values = board_.values;
  for (std::size_t item = 0; item < values.size(); ++item) {
    const Circle& circle = plan_.circles[plan_.items[item].circle];
    if (!circle.spec.options.deterministic) values[item].clear();
  }
  return values;
}

std::string AmongJob::describe() const {
  std::string text = plan_.describe();
  for (std::size_t item = 0; item < plan_.items.size(); ++item) {
    const AmongItem& what = plan_.items[item];
    text += fmt::format("\n  item {}: {}{} of '{}'{}", item,
                        what.founds ? "founds" : what.call.describe(), what.unlike ? " unlike" : "",
                        plan_.circles[what.circle].spec.name,
                        what.sends() ? fmt::format(" to {} tag {}", what.peer, what.tag) : "");
    for (Rank rank = 0; rank < plan_.workers; ++rank) {
      const AmongEvent& event = board_.events[item][rank];
      if (!event.begun) continue;
      text += fmt::format("; {} {:.3f}", rank, seconds(*event.begun - began_) * 1e3);
      if (event.ended) text += fmt::format(" to {:.3f}", seconds(*event.ended - began_) * 1e3);
      if (!event.end.ok()) text += " " + event.end.text();
    }
  }
  for (const auto& [name, at] : lost_) {
    text += fmt::format("\n  {} is lost at {:.3f} ms", name, seconds(at - began_) * 1e3);
  }
  for (const auto& process : processes_) {
    if (process->user != nullptr) text += "\n  " + process->user->describe();
    if (!process->alive || !process->agent->over()) {
      text += fmt::format("\n  {} {}", process->name, process->alive ? "goes on" : "is gone");
    }
  }
  return text;
}

void AmongJob::report(const std::string& invariant, const std::string& text) {
  if (violation_) return;
  violation_ = Violation{
      invariant, fmt::format("at {:.3f} ms: {}", seconds(clock_.now() - began_) * 1e3, text)};
}

}  // namespace stretto::sim
