// SPDX-License-Identifier: Apache-2.0
// Which worker knows which tensor, and which tensor a frame belongs to.
#include "worker/peer_path/peer_exchange.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/tensor_spec.h"
#include "worker/peer_state/exchange_selection.h"

namespace stretto {
PeerExchange::PeerExchange(Van& van, Tensors& tensors, PeerLinks& peers, OperationEvents outcomes)
    : van_(van),
      tensors_(tensors),
      peers_(peers),
      outcomes_(std::move(outcomes)),
      rounds_(van, peers, outcomes_),
      quorums_(van, peers, outcomes_),
      hosts_(van, peers, outcomes_),
      calls_(van, peers, outcomes_),
      plans_(van, peers, rounds_),
      ends_(peers, tensors, members_, outcomes_),
      elastic_({.van = van,
                .tensors = tensors,
                .peers = peers,
                .members = members_,
                .knowers = known_to_,
                .rounds = rounds_,
                .plans = plans_,
                .ends = ends_,
                .outcomes = outcomes_},
               [this](LinkId link, const wire::Header& header, Buffer payload) {
                 on_data(link, header, std::move(payload));
               }) {
  peers_.set_opened([this](NodeId node) { greet(node); });
  rounds_.set_held([this](TensorState& tensor, PeerTensor& known) {
    peers_.tell(known.members.nodes, plans_.choose(tensor, known));
    plans_.go_on(tensor, known);
  });
}

// ---- workers that know a tensor

Result<Participants> PeerExchange::places_for(const TensorState& tensor, const Roster& roster,
                                              MemberSelf self, const std::vector<Rank>& group) {
  if (!roster.settings.elastic()) {
    Participants places = Participants::of(roster, self.node, group);
    Status status = peers_.want(roster, self.node, places.nodes);
    return status.ok() ? Result<Participants>(std::move(places)) : status;
  }
  return elastic_.places_for(tensor, roster, self);
}

Status PeerExchange::add(TensorState& tensor, const Roster& roster, MemberSelf self,
                         const std::vector<Rank>& group) {
  Result<Participants> places = places_for(tensor, roster, self, group);
  if (!places.ok()) return places.status();
  const bool chosen = tensor.spec.options.exchange == Exchange::kAuto;
  const collective::StrategyPlan plan =
      chosen ? first_choice(*places, tensor.spec.bytes(), roster.settings.part_bytes).plan
             : plan_of(tensor.spec.options.exchange);
  const Result<collective::Strategy> strategy = plans_.strategy_for(plan, *places);
  if (!strategy.ok()) return strategy.status();
  if (chosen) plans_.watch(*places);
  PeerTensor& known =
      members_.try_emplace(tensor.id, tensor, *std::move(places), *strategy).first->second;
  if (chosen) known.terms.emplace(plan, *strategy);
  if (tensor.is_group) {
    using collective::Primitive;
    const Primitive primitive = strategy->primitive();
    const bool direct = primitive == Primitive::kDirect || primitive == Primitive::kHierarchical;
    known.group = std::make_unique<GroupState>(
        *strategy, order_of(tensor.spec), roster.settings.part_bytes,
        direct ? known.members.machines : std::vector<std::uint32_t>());
  }
  if (!tensor.spec.options.close.waits_for_all()) QuorumExchange::prepare(tensor, known);
  for (const NodeId node : known_to_[tensor.id]) known.note_ready(node);
  ends_.adopt(tensor.id, known);
  if (roster.settings.elastic()) {
    if (Status status = elastic_.adopt(tensor, known); !status.ok()) return status;
  }
  HostExchange::prepare(tensor, known);
  peers_.tell(known.members.nodes, control::Open{.tensor = tensor.id, .spec = tensor.spec});
  return {};
}

bool PeerExchange::has_tensors() const {
  return std::ranges::any_of(members_, [](const auto& each) { return !each.second.group; });
}

void PeerExchange::greet(NodeId node) {
  const LinkId link = peers_.link_to(node);
  for (const auto& [id, known] : members_) {
    if (known.members.place_of(node) == collective::kNobody) continue;
    const TensorState& tensor = *tensors_.find(id);
    van_.send_control(link, control::Open{.tensor = id, .spec = tensor.spec});
    ends_.greet(tensor, known, link);
  }
  ends_.greet(link);
  elastic_.greet(node);
}

void PeerExchange::on_control(LinkId link, const Member& peer, const control::Message& message) {
  if (const auto* open = std::get_if<control::Open>(&message)) {
    on_open(peer, *open);
  } else if (const auto* fault = std::get_if<control::Fault>(&message)) {
    ends_.on_fault(peer, *fault);
  } else if (const auto* plan = std::get_if<control::TermPlan>(&message)) {
    on_plan(peer, *plan);
  } else if (const auto* rate = std::get_if<control::Rate>(&message)) {
    plans_.note(peer.node, static_cast<double>(rate->bytes_per_second));
  } else if (control::is<control::Leave>(message)) {
    ends_.on_leave(peer);
    peers_.note_leaving(link);
  } else if (const auto* regroup = std::get_if<control::Regroup>(&message)) {
    elastic_.on_said(peer.node, *regroup);
  }
}

void PeerExchange::on_open(const Member& peer, const control::Open& open) {
  const auto found = members_.find(open.tensor);
  if (known_to_.size() < kMaxTensors) known_to_[open.tensor].insert(peer.node);
  if (found == members_.end()) return;
  PeerTensor& known = found->second;
  if (!known.note_ready(peer.node)) return;
  const Place place = known.members.place_of(peer.node);
  TensorState& tensor = *tensors_.find(open.tensor);
  if (!tensor.failed.ok()) return;
  if (known.group != nullptr) return calls_.send_to({tensor, known}, place);
  if (!known.closing.empty()) return quorums_.on_ready(tensor, known, place);
  if (!known.host.empty()) return hosts_.on_ready(tensor, known, place);
  for (std::uint32_t part = 0; part < known.parts.size(); ++part) {
    const PeerPartRef at{tensor, known, part};
    const bool waits = at.state().unsent && at.state().rounds.reduction().node().parent == place;
    if (waits) rounds_.send_up(at);
  }
}

void PeerExchange::on_plan(const Member& peer, const control::TermPlan& told) {
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

void PeerExchange::tick() {
  plans_.tick();
  quorums_.tick();
  hosts_.tick();
  calls_.to_all().tick();
}

void PeerExchange::follow(const Roster& roster, MemberSelf self) {
  ends_.follow(roster);
  elastic_.follow(roster, self);
}

// ---- out

Status PeerExchange::refusal(const TensorState& tensor, const Operation& operation) const {
  if (tensor.is_group) {
    if (operation.call != nullptr) {
      return GroupCalls::refusal(members_.at(tensor.id), *operation.call);
    }
    return {Code::kInvalidArgument, fmt::format("{} is no tensor", tensor.describe())};
  }
  const bool elastic = members_.at(tensor.id).elastic;
  if (operation.kind == Operation::Kind::kPushPull) return {};
  if (operation.listens() && elastic) return {};  // A joined worker without a value yet.
  const bool closes = !tensor.spec.options.close.waits_for_all();
  if (closes) {
    return {Code::kInvalidArgument,
            fmt::format("tensor '{}' has rounds that end before all have contributed, which only "
                        "push_pull has; declare another tensor for {}",
                        tensor.spec.name, name_of(operation.kind))};
  }
  if (operation.broadcasts() && !elastic) return {};
  return {Code::kInvalidArgument,
          fmt::format("tensor '{}' is exchanged among workers ({}), which has push_pull{}; declare "
                      "it with exchange servers for {}",
                      tensor.spec.name, name_of(tensor.spec.options.exchange),
                      elastic ? "" : " and broadcast", name_of(operation.kind))};
}

std::string PeerExchange::missing(const TensorState& tensor, const Operation& operation) const {
  const PeerTensor& known = members_.at(tensor.id);
  if (known.elastic && elastic_.waits()) return elastic_.missing();
  if (known.held > 0 && known.members.self != 0) {
    return fmt::format("worker {} has not said by which exchange it goes on",
                       known.members.ranks.front());
  }
  if (!known.closing.empty()) return QuorumExchange::missing(known);
  if (!known.host.empty()) return HostExchange::missing(known);
  if (operation.call == nullptr) return ExchangeBackend::missing(tensor, operation);
  return GroupCalls::missing(known, operation);
}

void PeerExchange::begin(TensorState& tensor, const OperationPtr& operation) {
  PeerTensor& known = members_.at(tensor.id);
  if (known.group != nullptr) return calls_.start({tensor, known}, operation);
  operation->parts_left = static_cast<std::uint32_t>(tensor.parts.size());
  for (std::size_t at = 0; at < known.turns.size(); ++at) {  // A plan may change them.
    const std::uint32_t part = known.turns[at];
    if (!tensor.failed.ok()) return;
    if (!tensor.parts[part].enter(PartState::kShares, operation)) continue;
    const PeerPartRef begun{tensor, known, part};
    if (!known.host.empty()) {
      hosts_.start(begun);
    } else {
      known.closing.empty() ? rounds_.start(begun) : quorums_.start(begun);
    }
  }
}

void PeerExchange::advance(TensorState& tensor, const Operation&) {
  PeerTensor& known = members_.at(tensor.id);
  if (known.group != nullptr) return calls_.to_all().go_on();
  for (std::uint32_t part = 0; part < known.parts.size() && tensor.failed.ok(); ++part) {
    const PeerPartRef free{tensor, known, part};
    if (!known.host.empty()) {
      hosts_.go_on(free);
    } else {
      known.closing.empty() ? rounds_.start_next(free) : quorums_.start_next(free);
    }
  }
}

// ---- in

std::optional<PeerExchange::Source> PeerExchange::source_of(LinkId link,
                                                            const wire::Header& header) {
  const Member* peer = peers_.find(link);
  const auto found = members_.find(header.key.tensor);
  if (peer == nullptr || found == members_.end()) return {};
  PeerTensor& known = found->second;
  TensorState& tensor = *tensors_.find(header.key.tensor);
  const Place from = known.members.place_of(peer->node);
  const bool of_call = wire::GroupFrame::is_one(header);
  const bool fits =
      of_call == (known.group != nullptr) && (of_call || header.key.part < known.parts.size());
  if (!fits || !tensor.failed.ok() || from == collective::kNobody) return {};
  return Source{.tensor = tensor, .known = known, .from = from};
}

void PeerExchange::on_data(LinkId link, const wire::Header& header, Buffer payload) {
  const Member* peer = peers_.find(link);
  if (peer != nullptr && elastic_.keep_ahead(peer->node, link, header, payload)) return;
  const std::optional<Source> source = source_of(link, header);
  if (!source) return;
  auto& [tensor, known, from] = *source;
  if (known.group != nullptr) {
    calls_.on_data({tensor, known}, from, header, std::move(payload));
  } else if (!known.closing.empty()) {
    quorums_.on_data({tensor, known, header.key.part}, from, header, payload);
  } else if (!known.host.empty()) {
    hosts_.on_data({tensor, known, header.key.part}, from, header, payload);
  } else {
    rounds_.on_data({tensor, known, header.key.part}, from, header, std::move(payload));
  }
}

// Slices of a value go straight to the user's target.
std::span<std::byte> PeerExchange::landing(LinkId link, const wire::Header& header) {
  const std::optional<Source> source = source_of(link, header);
  if (!source) return {};
  auto& [tensor, known, from] = *source;
  if (known.group != nullptr) return GroupCalls::landing({tensor, known}, from, header);
  if (!known.host.empty()) return {};
  if (!known.closing.empty()) return {};  // Values may be of rounds that have not begun here.
  return PeerPartRef{tensor, known, header.key.part}.landing(from, header);
}

}  // namespace stretto
