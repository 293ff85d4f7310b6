// SPDX-License-Identifier: Apache-2.0
// What a Reduction says, carried out.
#include "worker/member_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collective/turns.h"
#include "common/check.h"

namespace stretto {
namespace {

using collective::Effects;
using collective::Given;
using Verdict = collective::PartRounds::Verdict;

// What a call is, in the words of who made it.
std::string call_of(bool broadcast, std::uint32_t root) {
  return broadcast ? fmt::format("broadcast from worker {}", root) : "push_pull";
}

}  // namespace

// ---- out

void MemberRounds::start_next(const At& at) {
  if (at.tensor.parts[at.part].next(PartState::kShares) != nullptr) start(at);
}

// The part's current operation takes part in its next round.
void MemberRounds::start(const At& at) {
  MemberPart& state = at.state();
  Operation& operation = *at.operation();
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

void MemberRounds::release(TensorState& tensor, MemberTensor& known) {
  known.held = 0;
  for (std::size_t at = 0; at < known.turns.size(); ++at) {
    const std::uint32_t part = known.turns[at];
    if (!tensor.failed.ok()) return;
    if (!std::exchange(known.parts[part].held, false)) continue;
    known.enter_term(part);
    open({tensor, known, part});
  }
}

void MemberRounds::open(const At& at) {
  MemberPart& state = at.state();
  const Operation& operation = *at.operation();
  const std::uint64_t round = state.rounds.begun() + 1;
  outcomes_.progress.most_rounds = std::max(outcomes_.progress.most_rounds, round);
  std::span<const std::byte> source;
  if (!operation.source.empty()) source = at.tensor.bytes_of(operation.source, at.part);
  state.sum.begin(source, at.tensor.bytes_of(operation.target, at.part));
  carry_out(at, state.rounds.begin(source.empty() ? Given::kNothing : Given::kSum));
  take_kept(at);
  take_early(at);
}

// Frames of the term's first round that came before we had begun it.
void MemberRounds::take_early(const At& at) {
  std::vector<MemberPart::Early> early = std::exchange(at.state().early, {});
  for (MemberPart::Early& each : early) {
    if (!at.tensor.failed.ok()) return;
    on_data(at, each.from, each.header, std::move(each.payload));
  }
}

void MemberRounds::keep_early(const At& at, Place from, const wire::Header& header,
                              const Buffer& payload) {
  std::vector<MemberPart::Early>& early = at.state().early;
  if (header.kind != wire::Kind::kUp) {
    return fail(at, from, {Code::kMalformed, "a value came of a round that has not begun here"});
  }
  if (std::ranges::count(early, from, &MemberPart::Early::from) != 0) {
    return fail(at, from, {Code::kMalformed, "a second sum came for one round"});
  }
  early.push_back({.from = from, .header = header, .payload = to_keep(payload)});
}

// What children sent before we had begun.
void MemberRounds::take_kept(const At& at) {
  MemberPart& state = at.state();
  std::vector<MemberPart::Kept> early = std::exchange(state.kept, {});
  for (MemberPart::Kept& kept : early) {
    if (!at.tensor.failed.ok()) return;
    on_up(at, kept.from, kept.frame, std::move(kept.payload));
  }
}

void MemberRounds::carry_out(const At& at, const Effects& effects) {
  MemberPart& state = at.state();
  const Operation& operation = *at.operation();
  const ops::ReduceOp reduction = at.known.reduction_for(operation);
  const Dtype dtype = at.tensor.spec.dtype;
  for (const Place place : effects.add) {
    if (place == at.known.members.self) {
      state.sum.add_own(reduction, dtype);
      continue;
    }
    const MemberPart::Kept* kept = state.kept_of(place);
    STRETTO_CHECK(kept != nullptr);
    state.sum.add(reduction, dtype, kept->payload.bytes());
    state.kept.erase(state.kept.begin() + (kept - state.kept.data()));
  }
  if (effects.send == Effects::Send::kUp) return send_up(at);
  if (!effects.done) return;
  if (effects.adopt == collective::kNobody) {
    state.sum.finish(reduction, dtype, state.rounds.reduction().contributors().size());
  }
  if (effects.send == Effects::Send::kDown) send_down(at);
  finish(at);
}

void MemberRounds::send_up(const At& at) {
  MemberPart& state = at.state();
  const collective::Reduction& reduction = state.rounds.reduction();
  const Place parent = reduction.node().parent;
  state.unsent = !at.known.ready.contains(parent);
  if (state.unsent) return;
  const OperationPtr& operation = at.operation();
  const wire::UpFrame up{.key = {at.tensor.id, at.part},
                         .round = state.rounds.round(),
                         .root = operation->broadcasts() ? operation->root : 0,
                         .assigns = operation->broadcasts(),
                         .absent = !reduction.has_bytes(),
                         .dtype = at.tensor.spec.dtype,
                         .priority = operation->priority};
  post(at, parent, up.header(),
       up.absent ? Buffer() : lease(operation, state.sum.bytes(), van_.waker()));
}

void MemberRounds::send_down(const At& at) {
  MemberPart& state = at.state();
  const wire::DownFrame down{.key = {at.tensor.id, at.part},
                             .round = state.rounds.round(),
                             .dtype = at.tensor.spec.dtype,
                             .priority = at.operation()->priority};
  for (const Place child : collective::children_in_turn(state.rounds.reduction().node())) {
    post(at, child, down.header(), lease(at.operation(), state.sum.target(), van_.waker()));
  }
}

void MemberRounds::post(const At& at, Place to, const wire::Header& header, Buffer payload) {
  const Operation& operation = *at.operation();
  van_.send(peers_.link_to(at.known.members.nodes[to]), header, std::move(payload),
            {.tag = operation.id,
             .deadline = operation.deadline_wanted,
             .bulk = at.tensor.spec.options.bulk});
  // A value is wanted by others, whatever this worker's caller holds back.
  if (operation.paused && header.kind == wire::Kind::kUp) van_.queue().pause(operation.id);
}

// ---- in

void MemberRounds::on_data(const At& at, Place from, const wire::Header& header, Buffer payload) {
  const TensorState& tensor = at.tensor;
  const bool absent = header.kind == wire::Kind::kUp && wire::UpFrame::of(header).absent;
  const std::size_t wanted = absent ? 0 : tensor.cut.bytes_of_part(at.part);
  if (payload.size() != wanted || header.dtype != static_cast<std::uint8_t>(tensor.spec.dtype)) {
    return fail(at, from,
                {Code::kMalformed,
                 fmt::format("a frame with {} bytes of dtype {} came, wanted {} "
                             "bytes of {}",
                             payload.size(), header.dtype, wanted, name_of(tensor.spec.dtype))});
  }
  const std::uint64_t round = wire::round_of(header);
  const std::uint64_t open = at.state().rounds.round();
  const bool may_be_next = round == open || round == open + 1;
  if (may_be_next && at.known.enters_term(at.part, round)) {
    return keep_early(at, from, header, payload);
  }
  switch (at.state().rounds.admit(0, round)) {
    case Verdict::kPast:
      return;
    case Verdict::kEarly:
    case Verdict::kWrong:
      return fail(at, from,
                  {Code::kMalformed, fmt::format("a frame of round {} came, in round {}", round,
                                                 at.state().rounds.round())});
    case Verdict::kNow:
      break;
  }
  if (header.kind == wire::Kind::kUp) {
    on_up(at, from, wire::UpFrame::of(header), std::move(payload));
  } else {
    on_down(at, from, payload);
  }
}

std::span<std::byte> MemberRounds::landing(const At& at, Place from, const wire::Header& header) {
  const MemberPart& state = at.state();
  const collective::Reduction& reduction = state.rounds.reduction();
  const bool wanted = header.kind == wire::Kind::kDown && at.operation() != nullptr &&
                      from == reduction.node().parent && reduction.sent() &&
                      state.rounds.admit(0, wire::round_of(header)) == Verdict::kNow &&
                      header.whole_bytes() == state.sum.target().size();
  return wanted ? state.sum.target() : std::span<std::byte>();
}

Status MemberRounds::check_call(const At& at, Place from, const wire::UpFrame& up) {
  const Operation& own = *at.operation();
  const std::uint32_t root = own.broadcasts() ? own.root : 0;
  if (up.assigns == own.broadcasts() && up.root == root) return {};
  return {Code::kMismatch,
          fmt::format("worker {} calls {}, worker {} calls {}", from, call_of(up.assigns, up.root),
                      at.known.members.self, call_of(own.broadcasts(), root))};
}

// What cannot be added yet is kept.
void MemberRounds::on_up(const At& at, Place from, const wire::UpFrame& up, Buffer payload) {
  take_up(at, from, up, std::move(payload));
  for (MemberPart::Kept& kept : at.state().kept) kept.payload = to_keep(kept.payload);
}

void MemberRounds::take_up(const At& at, Place from, const wire::UpFrame& up, Buffer payload) {
  MemberPart& state = at.state();
  const auto& children = state.rounds.reduction().node().children;
  const auto child = std::ranges::find(children, from);
  if (child == children.end()) {
    return fail(at, from, {Code::kMalformed, "a sum came from a worker that is no child here"});
  }
  if (state.kept_of(from) != nullptr || state.rounds.reduction().contributors().contains(from)) {
    return fail(at, from, {Code::kMalformed, "a second sum came for one round"});
  }
  state.kept.push_back({.from = from, .frame = up, .payload = std::move(payload)});
  if (at.operation() == nullptr) return;  // Until we take part.
  if (Status status = check_call(at, from, up); !status.ok()) return fail(at, from, status);
  const IndexSet& below =
      state.rounds.reduction().node().below[static_cast<std::size_t>(child - children.begin())];
  const Result<Effects> effects =
      state.rounds.partial(from, below, up.absent ? Given::kNothing : Given::kSum);
  if (!effects.ok()) return fail(at, from, effects.status());
  if (up.absent) std::erase_if(state.kept, [from](const auto& kept) { return kept.from == from; });
  carry_out(at, *effects);
}

void MemberRounds::on_down(const At& at, Place from, const Buffer& payload) {
  MemberPart& state = at.state();
  const Result<Effects> effects = state.rounds.value(from, at.known.all);
  if (!effects.ok()) return fail(at, from, effects.status());
  state.sum.adopt(payload.bytes());
  carry_out(at, *effects);
}

// ---- ends

// The value is in the target.
void MemberRounds::finish(const At& at) {
  PartState& part = at.tensor.parts[at.part];
  const std::uint64_t round = at.state().rounds.finished();
  const wire::ValueFacts facts{.version = round,
                               .slowest = round,
                               .own_applied = round,
                               .spread = 0,
                               .contributors = at.known.all.size()};
  const OperationPtr operation = part.end(PartState::kShares);
  operation->note(part.last.info_of(facts));
  part.last.note(facts);
  outcomes_.progress.staleness.add(0);
  (void)at.state().rounds.next();
  if (--operation->parts_left == 0) {
    if (operation->paused) van_.queue().resume(operation->id);  // Nobody could do so later.
    outcomes_.end(operation, {});
  }
  start_next(at);
}

void MemberRounds::fail(const At& at, Place from, const Status& why) {
  outcomes_.fail_tensor(
      at.tensor.id, Status(why.code(), fmt::format("tensor '{}', part {}: {}", at.tensor.spec.name,
                                                   at.part, why.cause()))
                        .with_peer(fmt::format("worker {}", from)));
}

}  // namespace stretto
