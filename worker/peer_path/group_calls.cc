// SPDX-License-Identifier: Apache-2.0
// Carries out a plan and the effects of its Reductions.
#include "worker/peer_path/group_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "collective/send_order.h"
#include "common/check.h"
#include "common/memory/copy_bytes.h"

namespace stretto {
namespace {

constexpr std::string_view kOrBeyond = ", or for a worker that it waits for";

// For the calls of an operation.
std::string words_of_missing(const PeerTensor& known, const Operation& operation) {
  std::set<Rank> awaited;
  bool sent = false;
  for (const auto& [id, call] : known.group->open) {
    if (call->operation.get() != &operation) continue;
    for (const CallPart& part : call->parts) {
      sent = sent || part.reduction.sent();
      for (const collective::Place place : part.reduction.awaited()) {
        if (place != known.members.self) awaited.insert(known.members.ranks[place]);
      }
    }
  }
  if (awaited.empty()) return "it has not begun";
  return fmt::format("it waits for worker {}{}", fmt::join(awaited, ", "), sent ? kOrBeyond : "");
}

}  // namespace

using collective::Effects;
using collective::Given;

// ---- out

Status GroupCalls::refusal(const PeerTensor& known, const GroupCallArgs& call) {
  const auto members = static_cast<std::uint32_t>(known.members.nodes.size());
  if (Status status = check(call, members, known.members.self); !status.ok()) return status;
  if (call.call.kind != CallKind::kSend) return {};
  const Place other = call.call.root == known.members.self ? call.peer : call.call.root;
  const auto gone = known.group->gone.find(other);
  return gone == known.group->gone.end() ? Status() : gone->second;
}

std::string GroupCalls::missing(const PeerTensor& known, const Operation& operation) {
  return words_of_missing(known, operation);
}

void GroupCalls::start(const At& at, const OperationPtr& operation) {
  const GroupCallArgs& wanted = *operation->call;
  GroupState& state = at.state();
  Result<CallPlan> plan =
      plan_of(wanted, state.trees, at.known.members.self, state.most_part_bytes);
  if (!plan.ok()) return outcomes_.end(operation, plan.status());
  const OpenCallPtr call = open(at, operation, *std::move(plan));
  const std::uint64_t number = call->id.number;
  if (!call->id.is_send() && at.known.doom && number >= at.known.doom->round) {
    return outcomes_.fail_tensor(at.tensor.id, at.known.doom->why);
  }
  std::vector<Place> parents;
  parents.reserve(call->parts.size());
  for (const CallPart& part : call->parts) parents.push_back(part.reduction.node().parent);
  const auto places = static_cast<std::uint32_t>(at.known.members.nodes.size());
  for (const std::uint32_t turn : collective::turns_of(at.known.members.self, places, parents)) {
    CallPart& part = call->parts[turn];
    part.sum.begin(part.plan.source, part.plan.target);
    if (part.plan.to_all) to_all_.give(at, call, part);
    carry_out(at, call, part,
              part.reduction.own(part.plan.contributes ? Given::kSum : Given::kNothing));
  }
  answer(at);
  for (GroupState::Early& early : state.take_early(call->id)) {
    if (!at.tensor.failed.ok()) return;
    take(at, call, std::move(early));
  }
  part_done(at, call);
}

GroupCalls::OpenCallPtr GroupCalls::open(const At& at, const OperationPtr& operation,
                                         CallPlan plan) {
  GroupState& state = at.state();
  for (const CallPlan::Copy& copy : plan.copies) {
    if (copy.from.data() != copy.to.data()) copy_bytes(copy.from, copy.to);
  }
  auto call = std::make_shared<OpenCall>();
  call->id = state.begin(*operation->call);
  call->call = operation->call->call;
  call->operation = operation;
  call->parts.reserve(plan.parts.size());
  for (PlannedPart& part : plan.parts) {
    collective::TreeNode node = std::move(part.node);
    call->parts.push_back({.plan = std::move(part), .reduction = {std::move(node), state.order}});
  }
  operation->parts_begun = static_cast<std::uint32_t>(call->parts.size()) + 1;
  operation->parts_left = operation->parts_begun;  // One is for the beginning itself.
  state.open.emplace(call->id, call);
  return call;
}

void GroupCalls::carry_out(const At& at, const OpenCallPtr& call, CallPart& part,
                           const Effects& effects) {
  if (part.plan.to_all) {
    if (effects.done) to_all_.add(at, call, part);
    return;
  }
  const Dtype dtype = call->call.dtype;
  const ReduceOp op = part.plan.op;
  for (const Place place : effects.add) {
    if (place == at.known.members.self) {
      part.sum.add_own(op, dtype);
      continue;
    }
    const auto kept = std::ranges::find(part.kept, place, &CallPart::Kept::from);
    STRETTO_CHECK(kept != part.kept.end());
    part.sum.add(op, dtype, kept->payload.bytes());
    part.kept.erase(kept);
  }
  if (effects.send == Effects::Send::kUp) return send_up(at, call, part);
  if (!effects.done) return;
  const bool made_here = effects.adopt == collective::kNobody;
  if (made_here && !part.plan.target.empty()) {
    part.sum.finish(op, dtype, part.reduction.contributors().size());
  }
  if (effects.send == Effects::Send::kDown) send_down(at, call, part);
  part_done(at, call);
}

void GroupCalls::send_up(const At& at, const OpenCallPtr& call, CallPart& part) {
  const Place parent = part.reduction.node().parent;
  part.unsent = !at.known.ready.contains(parent);
  if (part.unsent) return;
  if (!call->id.is_send()) {
    const auto index = static_cast<std::size_t>(&part - call->parts.data());
    const std::size_t bytes = part.reduction.has_bytes() ? part.sum.bytes().size() : 0;
    const bool goes =
        at.state().ahead_of(parent).admit({.call = call->id.number, .part = index}, bytes);
    ask(at, parent);
    if (!goes) return;
  }
  post(at, *call, part, parent, true);
}

void GroupCalls::send_down(const At& at, const OpenCallPtr& call, CallPart& part) {
  for (const Place child : collective::children_in_turn(part.reduction.node())) {
    post(at, *call, part, child, false);
  }
}

void GroupCalls::post(const At& at, const OpenCall& call, const CallPart& part, Place to, bool up) {
  const bool with_bytes = up ? part.reduction.has_bytes() : part.plan.values_travel;
  const OperationPtr& operation = call.operation;
  const wire::GroupFrame frame{.up = up,
                               .key = {at.tensor.id, part.plan.key},
                               .number = call.id.number,
                               .call = part.plan.call,
                               .tag = call.id.tag,
                               .absent = !with_bytes,
                               .dtype = call.call.dtype,
                               .priority = operation->priority};
  const std::span<const std::byte> bytes =
      with_bytes ? part.sum.bytes() : std::span<const std::byte>();
  Buffer payload = bytes.empty() ? Buffer() : lease(operation, bytes, van_.waker());
  const Participants& members = at.known.members;
  van_.send(peers_.link_to(members.nodes[to], members.turn_of(part.plan.key)), frame.header(),
            std::move(payload),
            {.tag = operation->id,
             .deadline = operation->deadline_wanted,
             .bulk = at.tensor.spec.options.bulk});
  // Other members need a value, even if this worker's caller pauses the operation.
  if (operation->paused && up) van_.queue().pause(operation->id);
}

void GroupCalls::send_to(const At& at, Place parent) {
  const auto open = at.state().open;  // Calls may end meanwhile.
  for (const auto& [id, call] : open) {
    for (CallPart& part : call->parts) {
      if (!at.tensor.failed.ok()) return;
      if (part.unsent && part.reduction.node().parent == parent) send_up(at, call, part);
      to_all_.on_ready(at, call, part, parent);
    }
  }
}

// ---- receivers' progress

void GroupCalls::note_begun(const At& at, Place peer, std::uint64_t number) {
  CallsAhead& ahead = at.state().ahead_of(peer);
  ahead.note_begun(number);
  while (const std::optional<CallsAhead::Held> held = ahead.release()) {
    const OpenCallPtr call = at.state().find({.number = held->call});
    if (call == nullptr) continue;
    const CallPart& part = call->parts[held->part];
    part.plan.to_all ? to_all_.post(at, *call, part, peer) : post(at, *call, part, peer, true);
  }
  ask(at, peer);
}

// The call is open here until its receiver has begun it.
void GroupCalls::ask(const At& at, Place peer) {
  const std::optional<std::uint64_t> number = at.state().ahead_of(peer).question();
  if (!number) return;
  const OpenCallPtr call = at.state().find({.number = *number});
  tell(at, peer, {.number = *number, .priority = call == nullptr ? 0 : call->operation->priority});
}

void GroupCalls::answer(const At& at) {
  const std::uint64_t begun = at.state().next() - 1;
  for (const GroupState::Question& question : at.state().take_questions()) {
    tell(at, question.from, {.asks = false, .number = begun, .priority = question.priority});
  }
}

void GroupCalls::tell(const At& at, Place to, ProgressFrame frame) {
  frame.tensor = at.tensor.id;
  van_.send(peers_.link_to(at.known.members.nodes[to], 0), frame.header(), {},
            {.bulk = at.tensor.spec.options.bulk});
}

void GroupCalls::on_progress(const At& at, Place from, const ProgressFrame& frame) {
  if (frame.asks) {
    const Status status = at.state().keep({from, frame.priority}, frame.number);
    if (!status.ok()) return fail(at, from, status);
    answer(at);
  }
  note_begun(at, from, frame.number);
}

// ---- in

// A member has begun the call of each frame that it sends.
void GroupCalls::on_data(const At& at, Place from, const wire::Header& header, Buffer payload) {
  if (ProgressFrame::is_one(header)) return on_progress(at, from, ProgressFrame::of(header));
  const auto frame = wire::GroupFrame::of(header);
  GroupState& state = at.state();
  const CallId id = GroupState::id_of(frame, from, at.known.members.self);
  GroupState::Early early{.from = from, .frame = frame, .payload = std::move(payload)};
  if (const OpenCallPtr call = state.find(id)) {
    take(at, call, std::move(early));
  } else if (!state.has_begun(id)) {  // Else it is done here.
    if (Status status = state.keep(id, std::move(early)); !status.ok()) fail(at, from, status);
  }
  if (at.tensor.failed.ok() && !id.is_send()) note_begun(at, from, id.number);
}

std::span<std::byte> GroupCalls::landing(const At& at, Place from, const wire::Header& header) {
  const auto frame = wire::GroupFrame::of(header);
  const OpenCallPtr call = at.state().find(GroupState::id_of(frame, from, at.known.members.self));
  if (call == nullptr || frame.up) return {};
  const CallPart* part = call->find(header.key.part, from);
  const bool wanted = part != nullptr && part->reduction.sent() &&
                      part->reduction.node().parent == from && frame.call == part->plan.call &&
                      frame.dtype == call->call.dtype &&
                      header.whole_bytes() == part->plan.target.size();
  return wanted ? part->plan.target : std::span<std::byte>();
}

// A different call has different parts, so the calls are compared first.
void GroupCalls::take(const At& at, const OpenCallPtr& call, GroupState::Early frame) {
  CallPart* part = call->find(frame.frame.key.part, frame.from);
  const auto theirs = GroupCall::unpack(frame.frame.call, frame.frame.dtype);
  const GroupCall own =
      part == nullptr ? call->call : GroupCall::unpack(part->plan.call, call->call.dtype);
  const bool unlike = own.kind == CallKind::kAllToAll && theirs.kind == own.kind;
  if (theirs != own && (part != nullptr || !unlike)) {
    return disagree(at, frame.from, own, theirs, call->id);
  }
  if (part == nullptr) {
    return fail(at, frame.from, {Code::kMalformed, "a frame of a part that this call lacks came"});
  }
  if (frame.frame.up) {
    on_up(at, call, *part, std::move(frame));
  } else {
    on_down(at, call, *part, frame);
  }
}

void GroupCalls::on_up(const At& at, const OpenCallPtr& call, CallPart& part,
                       GroupState::Early frame) {
  const Place from = frame.from;
  const auto& node = part.reduction.node();
  const auto child = std::ranges::find(node.children, from);
  if (child == node.children.end()) {
    return fail(at, from, {Code::kMalformed, "a sum came from a member that is no child here"});
  }
  const bool absent = frame.frame.absent;
  const CallKind kind = call->call.kind;
  const bool takes_sums =
      (reduces(kind) || kind == CallKind::kBroadcast) && !part.plan.target.empty();
  if (absent ? reduces(kind) && takes_sums : !takes_sums) {
    return fail(
        at, from,
        {Code::kMalformed, fmt::format("a contribution came {} bytes, wanted one {}",
                                       absent ? "without" : "with", absent ? "with" : "without")});
  }
  const std::size_t wanted = absent ? 0 : part.plan.target.size();
  if (frame.payload.size() != wanted) {
    return fail(at, from,
                {Code::kMalformed,
                 fmt::format("a sum of {} bytes came, wanted {}", frame.payload.size(), wanted)});
  }
  const bool twice = part.reduction.contributors().contains(from) ||
                     std::ranges::count(part.kept, from, &CallPart::Kept::from) != 0;
  if (twice) return fail(at, from, {Code::kMalformed, "a second sum came for one call"});
  if (!absent) part.kept.push_back({.from = from, .payload = std::move(frame.payload)});
  const IndexSet& below = node.below[static_cast<std::size_t>(child - node.children.begin())];
  const Result<Effects> effects =
      part.reduction.partial(from, below, absent ? Given::kNothing : Given::kSum);
  if (!effects.ok()) return fail(at, from, effects.status());
  carry_out(at, call, part, *effects);
  for (CallPart::Kept& kept : part.kept) kept.payload = to_keep(kept.payload);
}

void GroupCalls::on_down(const At& at, const OpenCallPtr& call, CallPart& part,
                         const GroupState::Early& frame) {
  const std::span<std::byte> target = part.plan.target;
  const std::size_t wanted = part.plan.values_travel ? target.size() : 0;
  if (frame.payload.size() != wanted) {
    return fail(at, frame.from,
                {Code::kMalformed,
                 fmt::format("a value of {} bytes came, wanted {}", frame.payload.size(), wanted)});
  }
  const Result<Effects> effects = part.reduction.value(frame.from, part.reduction.node().all);
  if (!effects.ok()) return fail(at, frame.from, effects.status());
  if (!effects->done) return;
  if (wanted != 0) part.sum.adopt(frame.payload.bytes());
  carry_out(at, call, part, *effects);
}

// ---- ends

void GroupCalls::part_done(const At& at, const OpenCallPtr& call) {
  const OperationPtr& operation = call->operation;
  if (!at.tensor.failed.ok() || --operation->parts_left > 0) return;
  operation->note({.version = call->id.number,
                   .contributors = static_cast<std::uint32_t>(at.known.members.nodes.size())});
  if (operation->paused) van_.queue().resume(operation->id);  // No ticket can do so later.
  at.state().open.erase(call->id);
  outcomes_.end(operation, {});
}

void GroupCalls::disagree(const At& at, Place from, const GroupCall& own, const GroupCall& theirs,
                          const CallId& id) {
  outcomes_.fail_tensor(
      at.tensor.id,
      Status(Code::kMismatch,
             fmt::format("{}: in call {}, member {} (worker {}) calls {}, member {} (worker {}) "
                         "calls {}",
                         at.tensor.spec.name, id.number, from, at.known.members.ranks[from],
                         theirs.describe(), at.known.members.self,
                         at.known.members.ranks[at.known.members.self], own.describe()))
          .with_peer(fmt::format("worker {}", at.known.members.ranks[from])));
}

void GroupCalls::fail(const At& at, Place from, const Status& why) {
  outcomes_.fail_tensor(at.tensor.id,
                        Status(why.code(), fmt::format("{}: {}", at.tensor.spec.name, why.cause()))
                            .with_peer(fmt::format("worker {}", at.known.members.ranks[from])));
}

}  // namespace stretto
