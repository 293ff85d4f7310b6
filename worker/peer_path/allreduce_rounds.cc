// SPDX-License-Identifier: Apache-2.0
// Carries out the effects of a Reduction.
#include "worker/peer_path/allreduce_rounds.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "collective/send_order.h"
#include "common/check.h"

namespace stretto {
namespace {

using collective::Effects;
using collective::Given;
using Verdict = collective::PartRounds::Verdict;

Given given_by(const wire::ReduceFrame& up) {
  if (up.is_value) return Given::kValue;
  return up.absent ? Given::kNothing : Given::kSum;
}

}  // namespace

// ---- out

void AllReduceRounds::start_next(const At& at) {
  if (at.tensor.parts[at.part].next(PartState::kShares) != nullptr) start(at);
}

void AllReduceRounds::start(const At& at) {
  PeerPart& state = at.state();
  Operation& operation = *at.current();
  const std::uint64_t round = state.rounds.begun() + 1;
  if (at.known.doom && round >= at.known.doom->round) {
    return outcomes_.fail_tensor(at.tensor.id, at.known.doom->why);
  }
  ++operation.parts_begun;
  if (!at.known.enters_term(at.part, round)) return open(at);
  if (!at.known.terms->awaited_by(round)) {
    at.known.enter_term(at.part);
    return open(at);
  }
  state.held = true;
  const bool all = ++at.known.held == at.known.parts.size();
  if (all && at.known.members.self == 0) held_(at.tensor, at.known);
}

void AllReduceRounds::release(TensorState& tensor, PeerTensor& known) {
  known.held = 0;
  for (std::size_t at = 0; at < known.turns.size(); ++at) {
    const std::uint32_t part = known.turns[at];
    if (!tensor.failed.ok()) return;
    if (!std::exchange(known.parts[part].held, false)) continue;
    known.enter_term(part);
    open({tensor, known, part});
  }
}

// After a loss the previous round may have to be redone first: until then this does nothing.
void AllReduceRounds::open(const At& at) {
  PeerPart& state = at.state();
  const std::uint64_t round = state.rounds.begun() + 1;
  outcomes_.progress.most_rounds = std::max(outcomes_.progress.most_rounds, round);
  const bool gives = !at.current()->source.empty();
  const bool goes = state.rounds.goes() && state.rounds.round() == round;
  if (goes) at.begin_sum();
  const Effects effects = state.rounds.begin(gives ? Given::kSum : Given::kNothing);
  if (!goes) return;
  carry_out(at, effects);
  take_kept(at);
  take_early(at);
}

void AllReduceRounds::resume(TensorState& tensor, PeerTensor& known,
                             const collective::Strategy& strategy,
                             const control::Regroup::Finished& finished, bool holds) {
  const std::uint64_t generation = known.generation;
  for (std::uint32_t part = 0; part < known.parts.size(); ++part) {
    if (!tensor.failed.ok() || known.generation != generation) return;
    const At at{tensor, known, part};
    PeerPart& state = at.state();
    state.kept.clear();
    state.unsent = false;
    const std::uint64_t by_all =
        finished.least + (part < finished.ahead.size() ? finished.ahead[part] : 0);
    const bool is_new = state.rounds.finished() == 0 && state.rounds.epoch() == 0;
    if (is_new && by_all > 0) state.rounds.come_after(by_all);
    const bool has_value = state.rounds.finished() > by_all;
    state.rounds.hold(holds);
    state.rounds.renumber(known.all);
    const Result<Effects> effects = state.rounds.resume(static_cast<std::uint32_t>(generation),
                                                        known.node_of(strategy, part), by_all);
    if (!effects.ok()) return outcomes_.fail_tensor(tensor.id, effects.status());
    go_on(at, *effects, has_value);
  }
}

// Uses the earlier contribution, if there is one.
void AllReduceRounds::go_on(const At& at, const Effects& effects, bool has_value) {
  PeerPart& state = at.state();
  if (!state.rounds.takes_part()) return;
  if (!has_value) at.begin_sum();
  state.has_value = has_value;
  carry_out(at, effects);
  take_kept(at);
}

// Frames of the term's first round that arrived before this worker had begun it.
void AllReduceRounds::take_early(const At& at) {
  std::vector<PeerPart::Early> early = std::exchange(at.state().early, {});
  for (PeerPart::Early& each : early) {
    if (!at.tensor.failed.ok()) return;
    on_data(at, each.from, each.header, std::move(each.payload));
  }
}

void AllReduceRounds::keep_early(const At& at, Place from, const wire::Header& header,
                                 const Buffer& payload) {
  std::vector<PeerPart::Early>& early = at.state().early;
  if (header.kind != wire::Kind::kUp) {
    return fail(at, from, {Code::kMalformed, "a value came of a round that has not begun here"});
  }
  if (std::ranges::count(early, from, &PeerPart::Early::from) != 0) {
    return fail(at, from, {Code::kMalformed, "a second sum came for one round"});
  }
  early.push_back({.from = from, .header = header, .payload = to_keep(payload)});
}

// Sums that children sent before this worker had begun.
void AllReduceRounds::take_kept(const At& at) {
  PeerPart& state = at.state();
  std::vector<PeerPart::Kept> early = std::exchange(state.kept, {});
  for (PeerPart::Kept& kept : early) {
    if (!at.tensor.failed.ok()) return;
    on_up(at, kept.from, kept.frame, std::move(kept.payload));
  }
}

void AllReduceRounds::carry_out(const At& at, const Effects& effects) {
  PeerPart& state = at.state();
  const ops::ReduceOp reduction = at.known.reduction_for(at.operation());
  const Dtype dtype = at.tensor.spec.dtype;
  for (const Place place : effects.add) {
    if (place == at.known.members.self) {
      state.sum.add_own(reduction, dtype);
      ++state.sum_from;
      continue;
    }
    const PeerPart::Kept* kept = state.kept_of(place);
    STRETTO_CHECK(kept != nullptr);
    state.sum.add(reduction, dtype, kept->payload.bytes());
    state.sum_from += kept->frame.root;
    state.kept.erase(state.kept.begin() + (kept - state.kept.data()));
  }
  if (effects.send == Effects::Send::kUp) return send_up(at);
  if (!effects.done) return;
  if (!state.has_value) at.make_value();
  if (effects.send == Effects::Send::kDown) send_down(at);
  finish(at);
}

void AllReduceRounds::send_up(const At& at) {
  PeerPart& state = at.state();
  const collective::Reduction& reduction = state.rounds.reduction();
  const Place parent = reduction.node().parent;
  state.unsent = !at.known.ready.contains(parent);
  if (state.unsent) return;
  const OperationPtr operation = at.operation();
  const bool broadcasts = operation != nullptr && operation->broadcasts();
  const std::uint32_t root = broadcasts ? operation->root : 0;
  const std::uint32_t made_by = state.has_value ? state.value_from : state.sum_from;
  const wire::ReduceFrame up{.key = {at.tensor.id, at.part},
                             .round = state.rounds.round(),
                             .root = at.known.elastic ? made_by : root,
                             .assigns = broadcasts,
                             .absent = !reduction.has_bytes(),
                             .is_value = state.has_value,
                             .generation = state.rounds.epoch(),
                             .dtype = at.tensor.spec.dtype,
                             .priority = operation == nullptr ? 0 : operation->priority};
  post(at, parent, up.header(), up.absent ? Buffer() : at.sum_to_send(van_.waker()));
}

void AllReduceRounds::send_down(const At& at) {
  PeerPart& state = at.state();
  const OperationPtr operation = at.operation();
  const wire::BroadcastFrame down{.key = {at.tensor.id, at.part},
                                  .round = state.rounds.round(),
                                  .contributors = at.known.elastic ? state.value_from : 0,
                                  .generation = state.rounds.epoch(),
                                  .dtype = at.tensor.spec.dtype,
                                  .priority = operation == nullptr ? 0 : operation->priority};
  for (const Place child : collective::children_in_turn(state.rounds.reduction().node())) {
    post(at, child, down.header(), at.value_to_send(van_.waker()));
  }
}

// In an elastic job the receiver may be lost, and frames to it are of no use.
void AllReduceRounds::post(const At& at, Place to, const wire::Header& header, Buffer payload) {
  const OperationPtr operation = at.operation();
  const LinkId link = peers_.link_to(at.known.members.nodes[to], at.known.members.turn_of(at.part));
  if (link == 0 && at.known.elastic) return;
  const bool is_up = header.kind == wire::Kind::kUp;
  const std::uint64_t tag = operation == nullptr ? 0 : operation->id;
  const Time deadline = operation == nullptr ? Time::max() : operation->deadline_wanted;
  van_.send(link, header, std::move(payload),
            {.tag = tag, .deadline = deadline, .bulk = at.tensor.spec.options.bulk});
  // Other members need a value, even if this worker's caller pauses the operation.
  if (operation != nullptr && operation->paused && is_up) van_.queue().pause(tag);
}

// ---- in

void AllReduceRounds::on_data(const At& at, Place from, const wire::Header& header,
                              Buffer payload) {
  const Status sound = at.check_bytes(header, payload.size());
  if (!sound.ok()) return fail(at, from, sound);
  const std::uint64_t round = wire::round_of(header);
  const std::uint64_t open = at.state().rounds.round();
  const bool may_be_next = round == open || round == open + 1;
  if (may_be_next && at.known.enters_term(at.part, round)) {
    return keep_early(at, from, header, payload);
  }
  switch (at.state().rounds.admit(wire::ReduceFrame::generation_of(header), round)) {
    case Verdict::kPast:
      return;
    case Verdict::kEarly:
      if (at.known.elastic) return;  // It is resent after a group reconfiguration.
      [[fallthrough]];
    case Verdict::kWrong:
      return fail(at, from,
                  {Code::kMalformed, fmt::format("a frame of round {} came, in round {}", round,
                                                 at.state().rounds.round())});
    case Verdict::kNow:
      break;
  }
  if (header.kind == wire::Kind::kUp) {
    on_up(at, from, wire::ReduceFrame::of(header), std::move(payload));
  } else {
    on_down(at, from, wire::BroadcastFrame::of(header), payload);
  }
}

// Keeps sums that cannot be added yet.
void AllReduceRounds::on_up(const At& at, Place from, const wire::ReduceFrame& up, Buffer payload) {
  take_up(at, from, up, std::move(payload));
  for (PeerPart::Kept& kept : at.state().kept) kept.payload = to_keep(kept.payload);
}

void AllReduceRounds::take_up(const At& at, Place from, const wire::ReduceFrame& up,
                              Buffer payload) {
  PeerPart& state = at.state();
  const auto& children = state.rounds.reduction().node().children;
  const auto child = std::ranges::find(children, from);
  if (child == children.end()) {
    return fail(at, from, {Code::kMalformed, "a sum came from a worker that is no child here"});
  }
  if (state.kept_of(from) != nullptr || state.rounds.reduction().has_come(from)) {
    return fail(at, from, {Code::kMalformed, "a second sum came for one round"});
  }
  const bool of_some = up.absent == (up.root == 0) && up.root <= kMaxNodes;
  const bool sound = at.known.elastic ? of_some || up.is_value : !up.is_value;
  if (!sound || (up.is_value && up.absent)) {
    return fail(at, from, {Code::kMalformed, "a sum came that nobody, or too many, can have made"});
  }
  state.kept.push_back({.from = from, .frame = up, .payload = std::move(payload)});
  if (!state.rounds.takes_part()) return;  // Until it does.
  if (Status status = at.check_call(from, up, at.operation()); !status.ok())
    return fail(at, from, status);
  const IndexSet& below =
      state.rounds.reduction().node().below[static_cast<std::size_t>(child - children.begin())];
  const Result<Effects> effects =
      state.rounds.partial(from, up.is_value ? at.known.all : below, given_by(up));
  if (!effects.ok()) return fail(at, from, effects.status());
  if (effects->adopt == from) {
    state.value = to_own(state.kept_of(from)->payload);
    state.value_from = std::min(up.root, kMaxNodes);
    state.has_value = true;
  }
  if (up.absent || up.is_value) {
    std::erase_if(state.kept, [from](const auto& kept) { return kept.from == from; });
  }
  carry_out(at, *effects);
}

void AllReduceRounds::on_down(const At& at, Place from, const wire::BroadcastFrame& down,
                              const Buffer& payload) {
  PeerPart& state = at.state();
  const Result<Effects> effects = state.rounds.value(from, at.known.all);
  if (!effects.ok()) return fail(at, from, effects.status());
  if (!at.known.elastic) {
    state.sum.adopt(payload.bytes());
  } else if (!state.has_value) {
    state.value = to_own(payload);
    state.value_from = std::min(down.contributors, kMaxNodes);
  }
  state.has_value = true;
  carry_out(at, *effects);
}

// ---- ends

// The value has arrived, perhaps again after a redone round.
void AllReduceRounds::finish(const At& at) {
  PeerPart& state = at.state();
  const bool again = state.rounds.again();
  OperationPtr operation;
  if (!again) operation = at.end_operation();
  if (!again) outcomes_.progress.staleness.add(0);
  if (at.known.elastic) state.kept.clear();  // A value replaces sums.
  const Effects effects = state.rounds.next();
  if (operation != nullptr && --operation->parts_left == 0) {
    if (operation->paused) van_.queue().resume(operation->id);  // No ticket can do so later.
    outcomes_.end(operation, {});
  }
  if (again) return go_on(at, effects, false);
  start_next(at);
}

void AllReduceRounds::fail(const At& at, Place from, const Status& why) {
  outcomes_.fail_tensor(at.tensor.id, at.blame(from, why));
}

}  // namespace stretto
