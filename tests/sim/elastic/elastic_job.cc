// SPDX-License-Identifier: Apache-2.0
// The coordinator's side, and the events that strike the job.
//
// A round that no worker has begun is found by asking: all workers pause after their current round,
// report its number, and resume once the next view has been sent.
#include "tests/sim/elastic/elastic_job.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr Duration kLongestElasticJob = 60s;
constexpr std::uint32_t kPartBytes = 16;  // Two numbers.

}  // namespace

ElasticJob::ElasticJob(std::uint64_t seed)
    : random_(seed * 0x9E3779B97F4A7C15ULL + 7),
      mail_(seed, 10us * static_cast<int>(1 + random_.below(200))) {
  config_.role = Role::kScheduler;
  config_.workers = 1 + static_cast<std::uint32_t>(random_.below(3));
  config_.servers = 1 + static_cast<std::uint32_t>(random_.below(3));
  rounds_ = 8 + random_.below(20);
  spec_ = {
      .name = "x", .dtype = Dtype::kF64, .elements = 2 * (1 + random_.below(4)), .options = {}};
  for (std::uint32_t part = 0; part < spec_.elements / 2; ++part) keys_.push_back({1, part});
  gather();
  plan_events();
}

// ---- membership

void ElasticJob::gather() {
  machine_.emplace(config_, mail_.now(), Sizing::kElastic);
  for (std::uint32_t rank = 0; rank < config_.servers; ++rank) add_server_process(rank);
  for (std::uint32_t i = 0; i < config_.workers; ++i) {
    add_worker_process();
    const auto orders = tell_machine(
        Join{.workers = config_.workers, .servers = config_.servers, .host = "worker"});
    processes_.back().node = std::get<Admit>(orders.at(0)).member.node;
  }
  const auto placed = tell_machine(NewTensor{Cut(spec_, kPartBytes)});
  first_slot_ = std::get<SlotsAssigned>(placed.at(0)).first_slot;
  view_ = std::make_shared<const View>(machine_->view());
  for (const wire::Key& key : keys_) {
    ElasticServer& server = *process_of(owner_of(key))->server;

    server.make_slot(first_slot_ + key.part, spec_, {key}, *view_);
  }
  for (const ProcessId id : members(Role::kServer)) processes_[id].server->on_view(view_);
  for (const ProcessId id : members(Role::kWorker)) {
    mail_.send(kCoordinator, id, [this, id, view = view_] {
      processes_[id].worker->enter(processes_[id].node, 1, view);
    });
  }
}

// False if the job ends.
bool ElasticJob::add_server_process(std::uint32_t rank) {
  const auto orders = tell_machine(Join{.role = Role::kServer,
                                        .rank = rank,
                                        .shards = 1,
                                        .servers = config_.servers,
                                        .host = fmt::format("server-{}", rank),
                                        .address = fmt::format("server-{}:1", rank)});
  const auto* admit = std::get_if<Admit>(&orders.at(0));
  if (admit == nullptr) return false;
  const auto id = static_cast<ProcessId>(processes_.size());
  Process& process = processes_.emplace_back();
  process.server = std::make_unique<ElasticServer>(
      mail_, ledger_, random_,
      [this, id](NodeId to, const ElasticAnswer& answer) { deliver_answer(id, to, answer); });
  process.node = admit->member.node;
  process.server->enter(process.node);
  return true;
}

void ElasticJob::add_worker_process() {
  const auto id = static_cast<ProcessId>(processes_.size());
  ElasticWorker::Way way;
  way.push = [this, id](const ElasticPush& push) { deliver_push(id, push); };
  way.pull = [this, id](const ElasticPull& pull) {
    const ProcessId to = id_of(owner_of(pull.key));
    mail_.send(id, to, [this, to, pull] { processes_[to].server->on_pull(pull); });
  };
  way.leave = [this, id](NodeId node) {
    const std::uint64_t round = processes_[id].worker->round();
    mail_.send(id, kCoordinator, [this, id, node, round] {
      tell_machine(Left{.node = node});
      publish();
      held(id, round);
    });
  };
  processes_.emplace_back().worker =
      std::make_unique<ElasticWorker>(ledger_, keys_, rounds_, std::move(way));
}

std::vector<ProcessId> ElasticJob::members(Role role) {
  std::vector<ProcessId> found;
  for (const auto& [node, member] : machine_->next_view().members) {
    if (member.role == role && !member.left) found.push_back(id_of(node));
  }
  return found;
}

ElasticJob::Process* ElasticJob::process_of(NodeId node) { return &processes_.at(id_of(node)); }

ProcessId ElasticJob::id_of(NodeId node) const {
  const auto found = std::ranges::find(processes_, node, &Process::node);
  return static_cast<ProcessId>(found - processes_.begin());
}

NodeId ElasticJob::owner_of(const wire::Key& key) const {
  return view_->slots.owner(first_slot_ + key.part);
}

// ---- frames

// Some frames arrive twice, as after a reconnect.
void ElasticJob::deliver_push(ProcessId from, const ElasticPush& push) {
  const ProcessId to = id_of(owner_of(push.id.key));
  const int times = random_.chance(0.1) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    mail_.send(from, to, [this, to, push] { processes_[to].server->on_push(push); });
  }
}

void ElasticJob::deliver_answer(ProcessId from, NodeId to, const ElasticAnswer& answer) {
  const ProcessId process = id_of(to);
  mail_.send(from, process, [this, process, answer] {
    if (processes_[process].alive) processes_[process].worker->on_answer(answer);
  });
}

// ---- views

std::vector<ViewOrder> ElasticJob::tell_machine(const ViewEvent& event) {
  return machine_->on(event, mail_.now());
}

// Sends the view to current members and to members that it removed.
void ElasticJob::publish() {
  tell_machine(EndOfTurn{});
  const View& now = machine_->view();
  if (now.epoch == view_->epoch) return;
  for (const std::string& text : {violation(now), violation(*view_, now)}) {
    if (!text.empty()) ledger_.report("views hold together", text);
  }
  for (std::uint32_t slot = 0; slot < now.slots.size(); ++slot) {
    const bool moved = now.slots.owner(slot) != view_->slots.owner(slot);
    if (moved && moving_.erase(slot) != 0 && now.fence != now.epoch) {
      ledger_.report("a slot that moved is fenced", fmt::format("slot {}", slot));
    }
  }
  view_ = std::make_shared<const View>(now);
  for (ProcessId id = 1; id < processes_.size(); ++id) spread(view_, id);
}

void ElasticJob::spread(const SharedView& view, ProcessId to) {
  mail_.send(kCoordinator, to, [this, view, to] {
    Process& process = processes_[to];
    if (!process.alive) return;
    if (process.server != nullptr) process.server->on_view(view);
    if (process.worker != nullptr) process.worker->on_view(view);
  });
}

void ElasticJob::time_out() {
  tell_machine(Tick{});
  publish();
}

// ---- a round that no worker has begun

void ElasticJob::hold_all(WithRound then) {
  holds_.push_back(std::move(then));
  if (hold_) return;
  hold_ = Hold{.waits_for = {}, .begun = 0, .then = std::move(holds_.front())};
  holds_.pop_front();
  for (const ProcessId id : members(Role::kWorker)) {
    hold_->waits_for.insert(id);
    mail_.send(kCoordinator, id, [this, id] {
      if (!processes_[id].alive) return;
      const std::uint64_t round = processes_[id].worker->hold();
      mail_.send(id, kCoordinator, [this, id, round] { held(id, round); });
    });
  }
  end_hold();
}

void ElasticJob::held(ProcessId process, std::uint64_t round) {
  if (!hold_ || hold_->waits_for.erase(process) == 0) return;
  hold_->begun = std::max(hold_->begun, round);
  end_hold();
}

void ElasticJob::stop_waiting_for(ProcessId process) {
  if (!hold_) return;
  hold_->waits_for.erase(process);
  end_hold();
}

void ElasticJob::end_hold() {
  if (!hold_->waits_for.empty()) return;
  const Hold over = std::move(*hold_);
  hold_.reset();
  over.then(over.begun + 1);
  publish();
  for (const ProcessId id : members(Role::kWorker)) {
    mail_.send(kCoordinator, id, [this, id] {
      if (processes_[id].alive) processes_[id].worker->go_on();
    });
  }
  if (holds_.empty()) return;
  WithRound next = std::move(holds_.front());
  holds_.pop_front();
  hold_all(std::move(next));
}

// ---- events

void ElasticJob::plan_events() {
  const std::uint64_t count = random_.below(8);
  for (std::uint64_t i = 0; i < count; ++i) {
    mail_.after(random_.between(1us, 100ms), [this] { strike(); });
  }
}

void ElasticJob::strike() {
  if (machine_->phase() != ViewMachine::Phase::kRunning) return;
  const std::uint64_t what = random_.below(9);
  if (what < 2) return come();
  if (what == 8) return come_as_server();
  if (what == 2) return lose(false);
  if (what == 3) return lose(true);
  if (what == 4) return give_notice();
  move_slots();
}

void ElasticJob::come() {
  add_worker_process();
  const auto id = static_cast<ProcessId>(processes_.size() - 1);
  hold_all([this, id](std::uint64_t round) {
    const auto orders = tell_machine(Join{.host = fmt::format("late-{}", id), .round = round});
    const auto* admit = std::get_if<Admit>(&orders.at(0));
    if (admit == nullptr) return;  // The job ends.
    processes_[id].node = admit->member.node;
    ++events_.joined;
    publish();
    mail_.send(kCoordinator, id, [this, id, round, view = view_] {
      if (processes_[id].alive) processes_[id].worker->enter(processes_[id].node, round, view);
    });
  });
}

// A new server owns no slot until one is moved to it.
void ElasticJob::come_as_server() {
  const auto rank = static_cast<std::uint32_t>(members(Role::kServer).size());
  if (!add_server_process(rank)) return;
  ++events_.servers;
  publish();
}

// At least one worker must survive. While a joining worker reads before its first round, earlier
// rounds still have to be made. The last contributor of such a round must survive, because no view
// names that round's contributors yet (decision 0050).
bool ElasticJob::may_be_lost(ProcessId id, const std::vector<ProcessId>& workers) const {
  const std::uint64_t round = processes_[id].worker->round();
  bool somebody_stays = false;
  bool somebody_reads = hold_.has_value();
  for (const ProcessId other : workers) {
    const Process& one = processes_[other];
    if (other == id || one.lost) continue;
    somebody_stays = true;
    const bool working = one.worker->state() == ElasticWorker::State::kWorking;
    const bool contributes = machine_->next_view().contributors.nodes.contains(one.node);
    if (working && contributes && one.worker->round() >= round) return true;
    somebody_reads = somebody_reads || !working;
  }
  return somebody_stays && !somebody_reads;
}

// Loses a worker, or reports a live one as lost: the receivers must reject its later frames.
void ElasticJob::lose(bool silently) {
  const std::vector<ProcessId> workers = members(Role::kWorker);
  const ProcessId id = workers[random_.below(workers.size())];
  Process& process = processes_[id];
  if (process.lost || !may_be_lost(id, workers)) return;
  process.lost = true;
  ++events_.lost;
  ledger_.ends(process.node);
  if (!silently) {
    process.alive = false;
    process.worker->crash();
  }
  mail_.send(id, kCoordinator, [this, id, silently, node = process.node] {
    if (silently) {
      tell_machine(Lost{.node = node, .cause = "silent"});
    } else {
      tell_machine(Disconnected{.node = node, .cause = "reset"});
    }
    publish();
    stop_waiting_for(id);
  });
}

// The worker stops contributing at a round that no worker has begun, and leaves.
void ElasticJob::give_notice() {
  hold_all([this](std::uint64_t round) {
    std::vector<NodeId> workers(machine_->next_view().contributors.nodes.begin(),
                                machine_->next_view().contributors.nodes.end());
    if (workers.size() < 2) return;
    const NodeId node = workers[random_.below(workers.size())];
    ++events_.noticed;
    ledger_.ends(node, round);
    tell_machine(DrainNotice{.node = node, .deadline = mail_.now() + 5s, .round = round});
    mail_.after(5s, [this] { time_out(); });
  });
}

// Moves a slot with its whole state; the old owner releases it first.
void ElasticJob::move_slots() {
  const wire::Key key = keys_[random_.below(keys_.size())];
  const std::uint32_t slot = first_slot_ + key.part;
  const std::vector<ProcessId> servers = members(Role::kServer);
  const ProcessId from = id_of(owner_of(key));
  const ProcessId to = servers[random_.below(servers.size())];
  if (from == to || !moving_.insert(slot).second) return;
  mail_.send(kCoordinator, from, [this, from, to, slot] {
    const ElasticServer::Parcel given = processes_[from].server->give(slot);
    if (given.slot == nullptr) return;
    mail_.send(from, to, [this, to, slot, given] {
      processes_[to].server->take(given);
      mail_.send(to, kCoordinator, [this, to, slot] {
        ++events_.moved;
        tell_machine(Moved{.first = slot, .count = 1, .to = processes_[to].node});
        publish();
      });
    });
  });
}

// ---- the end

std::optional<Violation> ElasticJob::run() {
  const Time end = mail_.now() + kLongestElasticJob;
  while (!ledger_.violation() && mail_.now() < end && mail_.step()) {
  }
  for (const Process& process : processes_) {
    if (process.worker == nullptr || !process.alive || process.worker->over()) continue;
    ledger_.report("no hang", process.worker->describe());
  }
  return ledger_.violation();
}

}  // namespace stretto::sim
