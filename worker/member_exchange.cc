// SPDX-License-Identifier: Apache-2.0
// Sums up, values down, and who cannot go on.
#include "worker/member_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "core/tensor_spec.h"

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

MemberExchange::MemberExchange(Van& van, Tensors& tensors, PeerLinks& peers, Outcomes outcomes)
    : van_(van), tensors_(tensors), peers_(peers), outcomes_(std::move(outcomes)) {
  peers_.set_opened([this](NodeId node) { greet(node); });
}

// ---- who knows what

Status MemberExchange::add(const TensorState& tensor, const Roster& roster, NodeId self) {
  if (roster.settings.elastic()) {
    return {Code::kUnsupported,
            fmt::format("tensor '{}': exchange {} is for jobs of fixed size, and this one goes on "
                        "without workers that are lost; use exchange servers",
                        tensor.spec.name, name_of(tensor.spec.options.exchange))};
  }
  if (Status status = peers_.want(roster, self); !status.ok()) return status;
  MemberPlaces places = MemberPlaces::of(roster, self);
  const Result<collective::Strategy> strategy =
      strategy_of(tensor.spec.options.exchange, places.nodes.size());
  if (!strategy.ok()) return strategy.status();
  MemberTensor& known =
      members_.try_emplace(tensor.id, tensor, std::move(places), *strategy).first->second;
  for (const NodeId node : std::exchange(known_to_[tensor.id], {})) {
    if (const Place place = known.members.place_of(node); place != collective::kNobody) {
      known.ready.insert(place);
    }
  }
  known_to_.erase(tensor.id);
  if (auto told = dooms_.extract(tensor.id); !told.empty()) known.doom = std::move(told.mapped());
  for (const auto& [node, why] : left_) {
    const Place place = known.members.place_of(node);
    if (place != collective::kNobody && !known.ready.contains(place))
      known.doom = {.round = 1, .why = why};
  }
  peers_.tell_all(control::Open{.tensor = tensor.id, .spec = tensor.spec});
  return {};
}

void MemberExchange::greet(NodeId node) {
  for (const auto& [id, known] : members_) {
    const TensorState& tensor = *tensors_.find(id);
    van_.send_control(peers_.link_to(node), control::Open{.tensor = id, .spec = tensor.spec});
    if (tensor.failed.ok()) continue;
    van_.send_control(peers_.link_to(node), control::Fault{.why = tensor.failed, .tensor = id});
  }
}

void MemberExchange::on_control(LinkId link, const Member& peer, const control::Message& message) {
  if (const auto* open = std::get_if<control::Open>(&message)) {
    on_open(peer, *open);
  } else if (const auto* fault = std::get_if<control::Fault>(&message)) {
    on_fault(peer, *fault);
  } else if (control::is<control::Leave>(message)) {
    on_leave(peer);
    peers_.note_leaving(link);
  }
}

void MemberExchange::on_open(const Member& peer, const control::Open& open) {
  const auto found = members_.find(open.tensor);
  if (found == members_.end()) {
    if (known_to_.size() < kMaxTensors) known_to_[open.tensor].insert(peer.node);
    return;
  }
  MemberTensor& known = found->second;
  const Place place = known.members.place_of(peer.node);
  if (place == collective::kNobody || !known.ready.insert(place)) return;
  TensorState& tensor = *tensors_.find(open.tensor);
  if (!tensor.failed.ok()) return;
  for (std::uint32_t part = 0; part < known.parts.size(); ++part) {
    const At at{tensor, known, part};
    const bool waits = at.state().unsent && at.state().rounds.reduction().node().parent == place;
    if (waits) send_up(at);
  }
}

void MemberExchange::on_fault(const Member& peer, const control::Fault& fault) {
  MemberTensor::Doom told{.round = fault.round, .why = fault.why};
  if (told.why.peer().empty()) told.why = std::move(told.why).with_peer(peer.describe());
  const auto found = members_.find(fault.tensor);
  if (found != members_.end()) return doom(fault.tensor, found->second, std::move(told));
  if (dooms_.size() < kMaxTensors) dooms_.try_emplace(fault.tensor, std::move(told));
}

// Who has gone before it knew a tensor makes no round of it.
void MemberExchange::on_leave(const Member& peer) {
  const Status why = Status(Code::kPeerLost, fmt::format("{} has left the job", peer.describe()))
                         .with_peer(peer.describe());
  left_.emplace(peer.node, why);
  for (auto& [id, known] : members_) {
    const Place place = known.members.place_of(peer.node);
    if (place != collective::kNobody && !known.ready.contains(place)) {
      doom(id, known, {.round = 1, .why = why});
    }
  }
}

void MemberExchange::leave() {
  for (const auto& [id, known] : members_) {
    if (!tensors_.find(id)->failed.ok()) continue;
    const Status why{Code::kPeerLost,
                     fmt::format("worker {} has left the job", known.members.self)};
    peers_.tell_all(control::Fault{.why = why, .tensor = id, .round = known.first_open()});
  }
  peers_.tell_all(control::Leave{});
}

// The rounds before may still be done: their sums are on the way.
void MemberExchange::doom(std::uint32_t id, MemberTensor& known, MemberTensor::Doom doom) {
  if (!known.doom || doom.round < known.doom->round) known.doom = std::move(doom);
  const bool now = std::ranges::any_of(known.parts, [&known](const MemberPart& part) {
    return part.rounds.begun() > part.rounds.finished() && part.rounds.begun() >= known.doom->round;
  });
  if (!now && known.doom->round != 0) return;
  const bool before = std::exchange(told_, true);
  outcomes_.fail_tensor(id, known.doom->why);
  told_ = before;
}

void MemberExchange::failed(const TensorState& tensor, const Status& why) {
  const auto found = members_.find(tensor.id);
  if (found == members_.end()) return;
  for (MemberPart& part : found->second.parts) {
    part.kept.clear();
    part.unsent = false;
  }
  if (!told_) peers_.tell_all(control::Fault{.why = why, .tensor = tensor.id});
}

void MemberExchange::fail(const At& at, Place from, const Status& why) {
  outcomes_.fail_tensor(
      at.tensor.id, Status(why.code(), fmt::format("tensor '{}', part {}: {}", at.tensor.spec.name,
                                                   at.part, why.cause()))
                        .with_peer(fmt::format("worker {}", from)));
}

// ---- out

Status MemberExchange::refusal(const TensorState& tensor, const Operation& operation) const {
  if (operation.kind == Operation::Kind::kPushPull || operation.broadcasts()) return {};
  return {Code::kInvalidArgument,
          fmt::format("tensor '{}' is exchanged among workers ({}), which has push_pull and "
                      "broadcast; declare it with exchange servers for {}",
                      tensor.spec.name, name_of(tensor.spec.options.exchange),
                      name_of(operation.kind))};
}

void MemberExchange::begin(TensorState& tensor, const OperationPtr& operation) {
  MemberTensor& known = members_.at(tensor.id);
  operation->parts_left = static_cast<std::uint32_t>(tensor.parts.size());
  for (std::uint32_t part = 0; part < known.parts.size() && tensor.failed.ok(); ++part) {
    const At at{tensor, known, part};
    if (tensor.parts[part].enter(PartState::kShares, operation)) start(at);
  }
}

void MemberExchange::advance(TensorState& tensor, const Operation&) {
  MemberTensor& known = members_.at(tensor.id);
  for (std::uint32_t part = 0; part < known.parts.size() && tensor.failed.ok(); ++part) {
    start_next({tensor, known, part});
  }
}

void MemberExchange::start_next(const At& at) {
  if (at.tensor.parts[at.part].next(PartState::kShares) != nullptr) start(at);
}

// The part's current operation takes part in its next round.
void MemberExchange::start(const At& at) {
  MemberPart& state = at.state();
  Operation& operation = *at.operation();
  const std::uint64_t round = state.rounds.begun() + 1;
  if (at.known.doom && round >= at.known.doom->round) {
    const bool before = std::exchange(told_, true);
    outcomes_.fail_tensor(at.tensor.id, at.known.doom->why);
    told_ = before;
    return;
  }
  ++operation.parts_begun;
  outcomes_.progress.most_rounds = std::max(outcomes_.progress.most_rounds, round);
  std::span<const std::byte> source;
  if (!operation.source.empty()) source = at.tensor.bytes_of(operation.source, at.part);
  state.sum.begin(source, at.tensor.bytes_of(operation.target, at.part));
  carry_out(at, state.rounds.begin(source.empty() ? Given::kNothing : Given::kSum));
  take_kept(at);
}

// What children sent before we had begun.
void MemberExchange::take_kept(const At& at) {
  MemberPart& state = at.state();
  std::vector<MemberPart::Kept> early = std::exchange(state.kept, {});
  for (MemberPart::Kept& kept : early) {
    if (!at.tensor.failed.ok()) return;
    on_up(at, kept.from, kept.frame, std::move(kept.payload));
  }
}

void MemberExchange::carry_out(const At& at, const Effects& effects) {
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

void MemberExchange::send_up(const At& at) {
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

void MemberExchange::send_down(const At& at) {
  MemberPart& state = at.state();
  const wire::DownFrame down{.key = {at.tensor.id, at.part},
                             .round = state.rounds.round(),
                             .dtype = at.tensor.spec.dtype,
                             .priority = at.operation()->priority};
  for (const Place child : state.rounds.reduction().node().children) {
    post(at, child, down.header(), lease(at.operation(), state.sum.target(), van_.waker()));
  }
}

void MemberExchange::post(const At& at, Place to, const wire::Header& header, Buffer payload) {
  const Operation& operation = *at.operation();
  van_.send(peers_.link_to(at.known.members.nodes[to]), header, std::move(payload),
            {.tag = operation.id,
             .deadline = operation.deadline_wanted,
             .bulk = at.tensor.spec.options.bulk});
  // A value is wanted by others, whatever this worker's caller holds back.
  if (operation.paused && header.kind == wire::Kind::kUp) van_.queue().pause(operation.id);
}

// ---- in

MemberTensor* MemberExchange::find(const wire::Key& key) {
  const auto found = members_.find(key.tensor);
  const bool known = found != members_.end() && key.part < found->second.parts.size();
  return known ? &found->second : nullptr;
}

void MemberExchange::on_data(LinkId link, const wire::Header& header, Buffer payload) {
  const Member* peer = peers_.find(link);
  MemberTensor* known = find(header.key);
  if (peer == nullptr || known == nullptr) return;
  TensorState& tensor = *tensors_.find(header.key.tensor);
  const Place from = known->members.place_of(peer->node);
  if (!tensor.failed.ok() || from == collective::kNobody) return;
  const At at{tensor, *known, header.key.part};
  const bool absent = header.kind == wire::Kind::kUp && (header.flags & wire::kAbsent) != 0;
  const std::size_t wanted = absent ? 0 : tensor.cut.bytes_of_part(at.part);
  if (payload.size() != wanted || header.dtype != static_cast<std::uint8_t>(tensor.spec.dtype)) {
    return fail(at, from,
                {Code::kMalformed,
                 fmt::format("a frame with {} bytes of dtype {} came, wanted {} "
                             "bytes of {}",
                             payload.size(), header.dtype, wanted, name_of(tensor.spec.dtype))});
  }
  switch (at.state().rounds.admit(0, wire::round_of(header))) {
    case Verdict::kPast:
      return;
    case Verdict::kEarly:
    case Verdict::kWrong:
      return fail(
          at, from,
          {Code::kMalformed, fmt::format("a frame of round {} came, in round {}",
                                         wire::round_of(header), at.state().rounds.round())});
    case Verdict::kNow:
      break;
  }
  if (header.kind == wire::Kind::kUp) {
    on_up(at, from, wire::UpFrame::of(header), std::move(payload));
  } else {
    on_down(at, from, wire::DownFrame::of(header), payload);
  }
}

// Slices of a value go straight to where the user wants it.
std::span<std::byte> MemberExchange::landing(LinkId link, const wire::Header& header) {
  MemberTensor* known = find(header.key);
  const Member* peer = peers_.find(link);
  if (header.kind != wire::Kind::kDown || known == nullptr || peer == nullptr) return {};
  const TensorState& tensor = *tensors_.find(header.key.tensor);
  const MemberPart& state = known->parts[header.key.part];
  const collective::Reduction& reduction = state.rounds.reduction();
  const bool wanted = tensor.failed.ok() &&
                      tensor.parts[header.key.part].current(PartState::kShares) != nullptr &&
                      known->members.place_of(peer->node) == reduction.node().parent &&
                      state.rounds.admit(0, wire::round_of(header)) == Verdict::kNow &&
                      header.whole_bytes() == state.sum.target().size() && reduction.sent();
  return wanted ? state.sum.target() : std::span<std::byte>();
}

Status MemberExchange::check_call(const At& at, Place from, const wire::UpFrame& up) const {
  const Operation& own = *at.operation();
  const std::uint32_t root = own.broadcasts() ? own.root : 0;
  if (up.assigns == own.broadcasts() && up.root == root) return {};
  return {Code::kMismatch,
          fmt::format("worker {} calls {}, worker {} calls {}", from, call_of(up.assigns, up.root),
                      at.known.members.self, call_of(own.broadcasts(), root))};
}

void MemberExchange::on_up(const At& at, Place from, const wire::UpFrame& up, Buffer payload) {
  MemberPart& state = at.state();
  const auto& children = state.rounds.reduction().node().children;
  const auto child = std::ranges::find(children, from);
  if (child == children.end()) {
    return fail(at, from, {Code::kMalformed, "a sum came from a worker that is no child here"});
  }
  if (state.kept_of(from) != nullptr) {
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

void MemberExchange::on_down(const At& at, Place from, const wire::DownFrame&,
                             const Buffer& payload) {
  MemberPart& state = at.state();
  IndexSet all(static_cast<std::uint32_t>(at.known.members.nodes.size()));
  for (std::uint32_t place = 0; place < all.limit(); ++place) all.insert(place);
  const Result<Effects> effects = state.rounds.value(from, all);
  if (!effects.ok()) return fail(at, from, effects.status());
  std::byte* target = state.sum.target().data();
  if (target != payload.data()) std::memcpy(target, payload.data(), payload.size());
  carry_out(at, *effects);
}

// ---- ends

// The value is in the target.
void MemberExchange::finish(const At& at) {
  PartState& part = at.tensor.parts[at.part];
  const std::uint64_t round = at.state().rounds.finished();
  const wire::ValueFacts facts{
      .version = round,
      .slowest = round,
      .own_applied = round,
      .spread = 0,
      .contributors = static_cast<std::uint32_t>(at.known.members.nodes.size())};
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

}  // namespace stretto
