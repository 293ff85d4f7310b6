// SPDX-License-Identifier: Apache-2.0
// Who knows which tensor, whose frame it is, and who cannot go on.
#include "worker/member_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/tensor_spec.h"
#include "worker/settled.h"

namespace stretto {
namespace {

// From here come no more rounds of it than have been begun.
control::Fault farewell_to(std::uint32_t id, const MemberTensor& known) {
  return {.why = {Code::kPeerLost, fmt::format("worker {} has left the job",
                                               known.members.ranks[known.members.self])},
          .tensor = id,
          .round = known.first_open()};
}

}  // namespace

MemberExchange::MemberExchange(Van& van, Tensors& tensors, PeerLinks& peers, Outcomes outcomes)
    : van_(van),
      tensors_(tensors),
      peers_(peers),
      outcomes_(std::move(outcomes)),
      rounds_(van, peers, outcomes_),
      calls_(van, peers, outcomes_),
      plans_(van, peers, rounds_) {
  peers_.set_opened([this](NodeId node) { greet(node); });
  rounds_.set_held([this](TensorState& tensor, MemberTensor& known) {
    tell(known, plans_.choose(tensor, known));
    plans_.go_on(tensor, known);
  });
}

// ---- who knows what

Status MemberExchange::add(const TensorState& tensor, const Roster& roster, NodeId self,
                           const std::vector<Rank>& group) {
  if (roster.settings.elastic()) {
    return {Code::kUnsupported,
            fmt::format("{}: exchange {} is for jobs of fixed size, and this one goes on "
                        "without workers that are lost; use exchange servers",
                        tensor.describe(), name_of(tensor.spec.options.exchange))};
  }
  MemberPlaces places = MemberPlaces::of(roster, self, group);
  if (Status status = peers_.want(roster, self, places.nodes); !status.ok()) return status;
  const bool chosen = tensor.spec.options.exchange == Exchange::kAuto;
  const collective::StrategyPlan plan =
      chosen ? first_choice(places, tensor.spec.bytes(), roster.settings.part_bytes).plan
             : plan_of(tensor.spec.options.exchange);
  const Result<collective::Strategy> strategy = plans_.strategy_for(plan, places);
  if (!strategy.ok()) return strategy.status();
  if (chosen) plans_.watch(places);
  MemberTensor& known =
      members_.try_emplace(tensor.id, tensor, std::move(places), *strategy).first->second;
  if (chosen) known.terms.emplace(plan, *strategy);
  if (tensor.is_group) {
    known.group =
        std::make_unique<GroupState>(*strategy, order_of(tensor.spec), roster.settings.part_bytes);
  }
  if (const auto told = known_to_.extract(tensor.id); !told.empty()) {
    for (const NodeId node : told.mapped()) {
      const Place place = known.members.place_of(node);
      if (place != collective::kNobody) known.ready.insert(place);
    }
  }
  if (auto told = dooms_.extract(tensor.id); !told.empty()) known.doom = std::move(told.mapped());
  for (const auto& [node, why] : left_) {
    const Place place = known.members.place_of(node);
    if (place == collective::kNobody || known.ready.contains(place)) continue;
    known.doom = {.round = 1, .why = why};
  }
  tell(known, control::Open{.tensor = tensor.id, .spec = tensor.spec});
  return {};
}

bool MemberExchange::has_tensors() const {
  return std::ranges::any_of(members_, [](const auto& each) { return !each.second.group; });
}

void MemberExchange::greet(NodeId node) {
  for (const auto& [id, known] : members_) {
    if (known.members.place_of(node) == collective::kNobody) continue;
    const TensorState& tensor = *tensors_.find(id);
    van_.send_control(peers_.link_to(node), control::Open{.tensor = id, .spec = tensor.spec});
    if (tensor.failed.ok() && !leaving_) continue;
    van_.send_control(peers_.link_to(node),
                      tensor.failed.ok() ? farewell_to(id, known)
                                         : control::Fault{.why = tensor.failed, .tensor = id});
  }
  if (leaving_) van_.send_control(peers_.link_to(node), control::Leave{});
}

void MemberExchange::on_control(LinkId link, const Member& peer, const control::Message& message) {
  if (const auto* open = std::get_if<control::Open>(&message)) {
    on_open(peer, *open);
  } else if (const auto* fault = std::get_if<control::Fault>(&message)) {
    on_fault(peer, *fault);
  } else if (const auto* plan = std::get_if<control::TermPlan>(&message)) {
    on_plan(peer, *plan);
  } else if (const auto* rate = std::get_if<control::Rate>(&message)) {
    plans_.note(peer.node, static_cast<double>(rate->bytes_per_second));
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
  if (known.group != nullptr) return calls_.send_to({tensor, known}, place);
  for (std::uint32_t part = 0; part < known.parts.size(); ++part) {
    const MemberPartAt at{tensor, known, part};
    const bool waits = at.state().unsent && at.state().rounds.reduction().node().parent == place;
    if (waits) rounds_.send_up(at);
  }
}

void MemberExchange::on_fault(const Member& peer, const control::Fault& fault) {
  MemberTensor::Doom told{.round = fault.round, .why = fault.why};
  const bool of_another = !told.why.peer().empty() && told.why.peer() != peer.describe();
  if (told.why.peer().empty()) told.why = std::move(told.why).with_peer(peer.describe());
  const auto found = members_.find(fault.tensor);
  if (found != members_.end()) {
    MemberTensor& known = found->second;
    doom(fault.tensor, known, told);
    // Who leaves still sends what it has; who has lost another one does not.
    if (known.group == nullptr || !of_another) return;
    const Place place = known.members.place_of(peer.node);
    known.group->gone.try_emplace(place, told.why);
    if (known.group->sends_with(place)) end_for_sends(fault.tensor, known, told.why);
    return;
  }
  if (dooms_.size() < kMaxTensors) dooms_.try_emplace(fault.tensor, std::move(told));
}

void MemberExchange::on_plan(const Member& peer, const control::TermPlan& told) {
  const auto found = members_.find(told.tensor);
  if (found == members_.end() || !tensors_.find(told.tensor)->failed.ok()) return;
  TensorState& tensor = *tensors_.find(told.tensor);
  const Status status = plans_.take(tensor, found->second, peer.node, told);
  if (status.ok()) return;
  outcomes_.fail_tensor(
      tensor.id,
      Status(status.code(), fmt::format("tensor '{}': {}", tensor.spec.name, status.cause()))
          .with_peer(peer.describe()));
}

// Who has a link says so over it, after its values.
void MemberExchange::follow(const Roster& roster) {
  const std::pair now(roster.epoch, peers_.lost());
  if (std::exchange(followed_, now) == now) return;
  for (const Member& member : roster.members) {
    const bool left = member.role == Role::kWorker && member.left;
    if (!left || left_.contains(member.node) || peers_.link_to(member.node) != 0) continue;
    on_leave(member);
    for (auto& [id, known] : members_) {  // What it still had to say has been lost with its link.
      if (known.members.place_of(member.node) == collective::kNobody) continue;
      doom(id, known, {.round = known.first_open(), .why = left_.at(member.node)});
    }
  }
}

// Who has gone before it knew a tensor makes no round of it.
void MemberExchange::on_leave(const Member& peer) {
  const Status why = Status(Code::kPeerLost, fmt::format("{} has left the job", peer.describe()))
                         .with_peer(peer.describe());
  left_.emplace(peer.node, why);
  for (auto& [id, known] : members_) {
    const Place place = known.members.place_of(peer.node);
    if (place == collective::kNobody) continue;
    if (known.group != nullptr) known.group->gone.try_emplace(place, why);
    if (!known.ready.contains(place)) doom(id, known, {.round = 1, .why = why});
    if (known.group != nullptr && known.group->sends_with(place)) end_for_sends(id, known, why);
  }
}

// Who waits for this member's sends has to be told; calls that are done here may still be done
// there.
void MemberExchange::end_for_sends(std::uint32_t id, MemberTensor& known, const Status& why) {
  if (!tensors_.find(id)->failed.ok()) return;
  const std::uint64_t first = known.group->first_unfinished();
  tell(known, control::Fault{.why = why, .tensor = id, .round = first});
  known.doom = {.round = first, .why = why};
  outcomes_.fail_tensor(id, why);
}

void MemberExchange::leave() {
  leaving_ = true;
  for (const auto& [id, known] : members_) {
    if (tensors_.find(id)->failed.ok()) tell(known, farewell_to(id, known));
  }
  peers_.tell_all(control::Leave{});
}

// The rounds before may still be done: their sums are on the way.
void MemberExchange::doom(std::uint32_t id, MemberTensor& known, MemberTensor::Doom doom) {
  if (!known.doom || doom.round < known.doom->round) known.doom = std::move(doom);
  const std::uint64_t from = known.doom->round;
  const bool called = known.group != nullptr && known.group->is_open_from(from);
  const bool now = called || std::ranges::any_of(known.parts, [from](const MemberPart& part) {
                     const std::uint64_t begun = part.rounds.begun();
                     const bool open = begun > part.rounds.finished() && begun >= from;
                     return open || (part.held && begun + 1 >= from);
                   });
  if (!now && known.doom->round != 0) return;
  outcomes_.fail_tensor(id, known.doom->why);
}

void MemberExchange::failed(const TensorState& tensor, const Status& why) {
  const auto found = members_.find(tensor.id);
  if (found == members_.end()) return;
  MemberTensor& known = found->second;
  if (known.group != nullptr) known.group->clear();
  for (MemberPart& part : known.parts) {
    part.kept.clear();
    part.early.clear();
    part.unsent = false;
    part.held = false;
  }
  known.held = 0;
  // What another worker has said it has said to all.
  const bool told = known.doom && known.doom->why.text() == why.text();
  if (!told) tell(known, control::Fault{.why = why, .tensor = tensor.id});
}

void MemberExchange::tell(const MemberTensor& known, const control::Message& message) {
  for (const NodeId node : known.members.nodes) {
    const LinkId link = peers_.link_to(node);
    if (link != 0) van_.send_control(link, message);
  }
}

// ---- out

Status MemberExchange::refusal(const TensorState& tensor, const Operation& operation) const {
  if (tensor.is_group) {
    if (operation.call != nullptr) {
      return MemberCalls::refusal(members_.at(tensor.id), *operation.call);
    }
    return {Code::kInvalidArgument, fmt::format("{} is no tensor", tensor.describe())};
  }
  if (operation.kind == Operation::Kind::kPushPull || operation.broadcasts()) return {};
  return {Code::kInvalidArgument,
          fmt::format("tensor '{}' is exchanged among workers ({}), which has push_pull and "
                      "broadcast; declare it with exchange servers for {}",
                      tensor.spec.name, name_of(tensor.spec.options.exchange),
                      name_of(operation.kind))};
}

std::string MemberExchange::missing(const TensorState& tensor, const Operation& operation) const {
  const MemberTensor& known = members_.at(tensor.id);
  if (known.held > 0 && known.members.self != 0) {
    return fmt::format("worker {} has not said by which exchange it goes on",
                       known.members.ranks.front());
  }
  if (operation.call == nullptr) return ExchangeWay::missing(tensor, operation);
  return MemberCalls::missing(known, operation);
}

void MemberExchange::begin(TensorState& tensor, const OperationPtr& operation) {
  MemberTensor& known = members_.at(tensor.id);
  if (known.group != nullptr) return calls_.start({tensor, known}, operation);
  operation->parts_left = static_cast<std::uint32_t>(tensor.parts.size());
  for (std::size_t at = 0; at < known.turns.size(); ++at) {  // A plan changes them, at the last.
    const std::uint32_t part = known.turns[at];
    if (!tensor.failed.ok()) return;
    if (tensor.parts[part].enter(PartState::kShares, operation)) {
      rounds_.start({tensor, known, part});
    }
  }
}

void MemberExchange::advance(TensorState& tensor, const Operation&) {
  MemberTensor& known = members_.at(tensor.id);
  for (std::uint32_t part = 0; part < known.parts.size() && tensor.failed.ok(); ++part) {
    rounds_.start_next({tensor, known, part});
  }
}

// ---- in

std::optional<MemberExchange::Source> MemberExchange::source_of(LinkId link,
                                                                const wire::Header& header) {
  const Member* peer = peers_.find(link);
  const auto found = members_.find(header.key.tensor);
  if (peer == nullptr || found == members_.end()) return {};
  MemberTensor& known = found->second;
  TensorState& tensor = *tensors_.find(header.key.tensor);
  const Place from = known.members.place_of(peer->node);
  const bool of_call = wire::GroupFrame::is_one(header);
  const bool fits =
      of_call == (known.group != nullptr) && (of_call || header.key.part < known.parts.size());
  if (!fits || !tensor.failed.ok() || from == collective::kNobody) return {};
  return Source{.tensor = tensor, .known = known, .from = from};
}

void MemberExchange::on_data(LinkId link, const wire::Header& header, Buffer payload) {
  const std::optional<Source> source = source_of(link, header);
  if (!source) return;
  auto& [tensor, known, from] = *source;
  if (known.group != nullptr) {
    calls_.on_data({tensor, known}, from, header, std::move(payload));
  } else {
    rounds_.on_data({tensor, known, header.key.part}, from, header, std::move(payload));
  }
}

// Slices of a value go straight to where the user wants it.
std::span<std::byte> MemberExchange::landing(LinkId link, const wire::Header& header) {
  const std::optional<Source> source = source_of(link, header);
  if (!source) return {};
  auto& [tensor, known, from] = *source;
  if (known.group != nullptr) return MemberCalls::landing({tensor, known}, from, header);
  return MemberRounds::landing({tensor, known, header.key.part}, from, header);
}

}  // namespace stretto
