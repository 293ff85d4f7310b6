// SPDX-License-Identifier: Apache-2.0
// Answers to tensor declarations, and to workers at barriers.
#include "scheduler/coordination/coordination.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "van/control/control_codec.h"

namespace stretto {
namespace {

control::Fault mismatch_of(const TensorRegistry::Entry& entry) {
  return {.why = entry.broken, .tensor = entry.id, .name = entry.spec.name};
}

Purpose purpose_of(const control::Barrier& barrier) {
  if (barrier.checkpoint != 0) return {Meeting::kCheckpoint, barrier.checkpoint - 1};
  return barrier.sits_out ? Meeting::kSitOut : Meeting::kBarrier;
}

Status no_servers_for(const TensorSpec& spec) {
  return {
      Code::kInvalidArgument,
      fmt::format("tensor '{}' ({}) wants servers, and this job has none (--servers 0): declare "
                  "it with an exchange among workers (direct, ring, halving or tree), which is "
                  "for values of their round in mode sync, or start servers",
                  spec.name, spec.describe())};
}

}  // namespace

void Coordination::on_declare(const Member& worker, const control::Declare& declare) {
  const std::uint32_t part_bytes = config_.job.part_bytes;
  const TensorSpec& spec = declare.spec;
  Status status = declare.flaw;
  if (status.ok() && spec.elements / Cut(spec, part_bytes).part_elements >= kMaxParts) {
    status = {Code::kInvalidArgument,
              fmt::format("tensor '{}' of {} bytes makes more than {} parts of {} bytes; raise "
                          "STRETTO_PART_BYTES",
                          spec.name, spec.bytes(), kMaxParts, part_bytes)};
  }
  const bool by_servers = spec.options.exchange == Exchange::kServers;
  if (status.ok() && by_servers && machine_.next_view().slots.size() == 0) {
    status = no_servers_for(spec);
  }
  if (!status.ok()) return refuse_tensor(worker, spec.name, status);
  const std::size_t known = registry_.size();
  const Result<TensorRegistry::Declaration> made = registry_.declare(
      spec, worker.number(), [&](const Cut& cut) { return by_servers ? place(cut, spec) : 0; },
      part_bytes);
  if (!made.ok()) return refuse_tensor(worker, spec.name, made.status());
  const TensorRegistry::Entry& entry = made->entry;
  if (made->breaks || registry_.size() != known) chronicle_.declared(worker.number(), spec);
  if (made->breaks) return tell_mismatch(entry);
  if (!entry.broken.ok()) {
    van_.send_control(links_.of(worker.node), mismatch_of(entry));
    return;
  }
  const std::uint32_t parts = by_servers ? Cut(entry.spec, part_bytes).parts() : 0;
  van_.send_control(
      links_.of(worker.node),
      control::Declared{.tensor = entry.id,
                        .first_slot = entry.first_slot,
                        .name = entry.spec.name,
                        .owners = machine_.next_view().slots.runs(entry.first_slot, parts),
                        .restored = restored_.contains(entry.spec.name)});
}

std::uint32_t Coordination::place(const Cut& cut, const TensorSpec& spec) {
  const bool keeps = !is_sum_of_round(spec.options);
  const std::vector<ViewOrder> orders =
      machine_.on(NewTensor{.cut = cut, .kept = keeps ? spec.name : ""}, clock_.now());
  const SlotsAssigned* placed =
      orders.empty() ? nullptr : std::get_if<SlotsAssigned>(&orders.front());
  STRETTO_CHECK(placed != nullptr);  // Tensors are declared to a running job.
  return placed->first_slot;
}

void Coordination::declared_before(Rank worker, const TensorSpec& spec) {
  const bool by_servers = spec.options.exchange == Exchange::kServers;
  static_cast<void>(registry_.declare(
      spec, worker, [&](const Cut& cut) { return by_servers ? place(cut, spec) : 0; },
      config_.job.part_bytes));
}

void Coordination::go_on() {
  goes_on_ = true;
  Rank numbers = machine_.view().ranks(Role::kWorker);
  for (const auto& [node, member] : machine_.next_view().members) {
    if (member.role == Role::kWorker) numbers = std::max(numbers, member.number() + 1);
  }
  registry_.forget_declarers(numbers);
}

void Coordination::refuse_tensor(const Member& worker, const std::string& name, const Status& why) {
  van_.send_control(links_.of(worker.node), control::Fault{.why = why, .name = name});
}

// Tells all workers that have declared it, by name and by id; later declarers learn it then.
void Coordination::tell_mismatch(const TensorRegistry::Entry& entry) {
  const Buffer bytes = control::encode(mismatch_of(entry));
  for (const auto& [id, member] : machine_.next_view().members) {
    const bool declared =
        member.number() < entry.declared.size() && entry.declared[member.number()];
    if (member.role == Role::kWorker && declared) van_.send_control(links_.of(id), bytes);
  }
}

void Coordination::on_barrier(const Member& worker, const control::Barrier& barrier) {
  if (barrier.withdraws) return withdraw(worker, barrier.number);
  if (barrier.opened) return goes_on_ ? opened_before(barrier) : void();
  if (goes_on_ && barrier.number > 0) barriers_.pass(barrier.number - 1);  // Else it had not come.
  follow_members();
  step_ = std::max(step_, barrier.step);
  control::Barrier answer = barrier;
  answer.last = worker.rank;
  answer.step = step_;
  const Purpose purpose = purpose_of(barrier);
  if (barrier.checkpoint != 0) alike_[worker.node] = barrier.alike;
  switch (barriers_.enter(barrier.number, worker.node, awaited().size(), purpose)) {
    case Barriers::Outcome::kMixed:
      return van_.send_control(links_.of(worker.node),
                               control::Fault{.why = barriers_.mixed(purpose), .name = "barrier"});
    case Barriers::Outcome::kComplete:
      return complete(answer, purpose.step);
    case Barriers::Outcome::kPast:
      if (barrier.number > opened_.number) return;  // It is about to be opened for all.
      if (barrier.number == opened_.number && opened_before_) return answer_late(worker.node);
      if (barrier.number == opened_.number) answer = opened_;
      return van_.send_control(links_.of(worker.node), answer);
    case Barriers::Outcome::kOutOfBounds:
      return van_.links().refuse(
          links_.of(worker.node),
          {Code::kMalformed, fmt::format("barrier {} is out of turn", barrier.number)});
    case Barriers::Outcome::kWaiting:
      break;
  }
  for (const auto& [id, other] :
       machine_.next_view().members) {  // A worker that has left never comes.
    if (other.role == Role::kWorker && other.left) left(other);
  }
}

// A joining worker comes to no barrier before its first step.
std::set<NodeId> Coordination::awaited() const {
  const View& view = machine_.next_view();
  std::set<NodeId> nodes = view.contributors.nodes;
  std::erase_if(nodes, [&](NodeId node) { return view.find(node)->from_step > step_; });
  return nodes;
}

void Coordination::complete(const control::Barrier& barrier, std::uint64_t step) {
  if (barrier.checkpoint == 0) return open(barrier);
  checkpoint_(barrier, call_of(step));
  alike_.clear();
}

CheckpointCall Coordination::call_of(std::uint64_t step) const {
  const std::set<NodeId> nodes = awaited();
  CheckpointCall call{.step = step, .workers = {nodes.begin(), nodes.end()}};
  const View& view = machine_.next_view();
  std::ranges::sort(call.workers, {}, [&view](NodeId node) { return view.find(node)->rank; });
  std::set<std::uint64_t> digests;
  for (const NodeId node : call.workers) {
    const auto told = alike_.find(node);
    digests.insert(told == alike_.end() ? 0 : told->second);
  }
  call.alike = digests.size() <= 1;
  return call;
}

void Coordination::withdraw(const Member& worker, std::uint64_t number) {
  const bool complete = barriers_.withdraw(number, worker.node);
  if (complete && number > opened_.number) withdrawn_(number);
}

// Also answers workers that missed the opening.
void Coordination::opened_before(const control::Barrier& barrier) {
  step_ = std::max(step_, barrier.step);
  if (barrier.number <= opened_.number) return;
  opened_ = barrier;
  opened_.opened = false;
  opened_before_ = true;
  for (const NodeId node : barriers_.pass(barrier.number)) answer_late(node);
}

void Coordination::answer_late(NodeId worker) {
  if (opened_.checkpoint != 0) late_.cut(worker, opened_.checkpoint);
  van_.send_control(links_.of(worker), opened_);
  if (opened_.checkpoint != 0) late_.ended(worker, opened_.checkpoint);
}

void Coordination::open(const control::Barrier& barrier) {
  opened_ = barrier;
  opened_before_ = false;
  const Buffer bytes = control::encode(barrier);
  for (const auto& [id, member] : machine_.next_view().members) {
    if (member.role == Role::kWorker) van_.send_control(links_.of(id), bytes);
  }
}

void Coordination::follow_members() {
  if (!config_.job.elastic()) return;
  const std::optional<Barriers::Open> met = barriers_.expect(awaited());
  if (!met) return;
  const Member* last = machine_.next_view().find(met->last);
  const bool saves = met->purpose.meeting == Meeting::kCheckpoint;
  complete({.number = met->number,
            .sits_out = met->purpose.meeting == Meeting::kSitOut,
            .last = last == nullptr ? 0 : last->rank,
            .step = step_,
            .checkpoint = saves ? 1U : 0U},
           met->purpose.step);
}

void Coordination::left(const Member& absent) {
  const std::set<NodeId> waiting = barriers_.give_up(absent.node);
  if (waiting.empty()) return;
  const Status why(Code::kPeerLost, absent.describe() + " has left the job and will not come");
  const Buffer bytes = control::encode(
      control::Fault{.why = Status(why).with_peer(absent.describe()), .name = "barrier"});
  for (const NodeId node : waiting) van_.send_control(links_.of(node), bytes);
}

}  // namespace stretto
