// SPDX-License-Identifier: Apache-2.0
// Who knows which tensor, and whose frame it is.
#include "worker/member_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/tensor_spec.h"
#include "worker/settled.h"

namespace stretto {
MemberExchange::MemberExchange(Van& van, Tensors& tensors, PeerLinks& peers, Outcomes outcomes)
    : van_(van),
      tensors_(tensors),
      peers_(peers),
      outcomes_(std::move(outcomes)),
      rounds_(van, peers, outcomes_),
      calls_(van, peers, outcomes_),
      plans_(van, peers, rounds_),
      ends_(peers, tensors, members_, outcomes_),
      view_(van, peers,
            {.stop = [this](bool all) { return stop(all); },
             .go_on = [this](const control::Regroup& decided) { go_on(decided); }}) {
  peers_.set_opened([this](NodeId node) { greet(node); });
  rounds_.set_held([this](TensorState& tensor, MemberTensor& known) {
    peers_.tell(known.members.nodes, plans_.choose(tensor, known));
    plans_.go_on(tensor, known);
  });
}

// ---- who knows what

// Of an elastic job they are those who were chosen last; nobody but this worker before.
Result<MemberPlaces> MemberExchange::places_for(const TensorState& tensor, const Roster& roster,
                                                MemberSelf self, const std::vector<Rank>& group) {
  if (!roster.settings.elastic()) {
    MemberPlaces places = MemberPlaces::of(roster, self.node, group);
    Status status = peers_.want(roster, self.node, places.nodes);
    return status.ok() ? Result<MemberPlaces>(std::move(places)) : status;
  }
  if (tensor.is_group) {
    return Status(Code::kUnsupported,
                  fmt::format("{}: groups are for jobs of fixed size, and this one goes on without "
                              "workers that are lost; use exchange servers",
                              tensor.describe()));
  }
  if (Status status = check_room(tensor); !status.ok()) return status;
  view_.begin();
  roster_ = roster;
  if (Status status = view_.follow(roster, self.node, self.step); !status.ok()) return status;
  std::vector<NodeId> nodes = view_.members();
  if (nodes.empty()) nodes.push_back(self.node);
  return MemberPlaces::of_nodes(roster, self.node, nodes);
}

Status MemberExchange::add(TensorState& tensor, const Roster& roster, MemberSelf self,
                           const std::vector<Rank>& group) {
  Result<MemberPlaces> places = places_for(tensor, roster, self, group);
  if (!places.ok()) return places.status();
  const bool chosen = tensor.spec.options.exchange == Exchange::kAuto;
  const collective::StrategyPlan plan =
      chosen ? first_choice(*places, tensor.spec.bytes(), roster.settings.part_bytes).plan
             : plan_of(tensor.spec.options.exchange);
  const Result<collective::Strategy> strategy = plans_.strategy_for(plan, *places);
  if (!strategy.ok()) return strategy.status();
  if (chosen) plans_.watch(*places);
  MemberTensor& known =
      members_.try_emplace(tensor.id, tensor, *std::move(places), *strategy).first->second;
  if (chosen) known.terms.emplace(plan, *strategy);
  if (tensor.is_group) {
    known.group =
        std::make_unique<GroupState>(*strategy, order_of(tensor.spec), roster.settings.part_bytes);
  }
  for (const NodeId node : known_to_[tensor.id]) known.note_ready(node);
  ends_.adopt(tensor.id, known);
  if (roster.settings.elastic()) {
    known.elastic = true;
    known.stop(true);
    if (view_.goes()) {
      if (Status status = regroup(tensor, known); !status.ok()) return status;
    }
  }
  peers_.tell(known.members.nodes, control::Open{.tensor = tensor.id, .spec = tensor.spec});
  return {};
}

bool MemberExchange::has_tensors() const {
  return std::ranges::any_of(members_, [](const auto& each) { return !each.second.group; });
}

void MemberExchange::greet(NodeId node) {
  const LinkId link = peers_.link_to(node);
  for (const auto& [id, known] : members_) {
    if (known.members.place_of(node) == collective::kNobody) continue;
    const TensorState& tensor = *tensors_.find(id);
    van_.send_control(link, control::Open{.tensor = id, .spec = tensor.spec});
    ends_.greet(tensor, known, link);
  }
  ends_.greet(link);
  view_.greet(node);
}

void MemberExchange::on_control(LinkId link, const Member& peer, const control::Message& message) {
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
    view_.on_said(peer.node, *regroup);
  }
}

void MemberExchange::on_open(const Member& peer, const control::Open& open) {
  const auto found = members_.find(open.tensor);
  if (known_to_.size() < kMaxTensors) known_to_[open.tensor].insert(peer.node);
  if (found == members_.end()) return;
  MemberTensor& known = found->second;
  if (!known.note_ready(peer.node)) return;
  const Place place = known.members.place_of(peer.node);
  TensorState& tensor = *tensors_.find(open.tensor);
  if (!tensor.failed.ok()) return;
  if (known.group != nullptr) return calls_.send_to({tensor, known}, place);
  for (std::uint32_t part = 0; part < known.parts.size(); ++part) {
    const MemberPartAt at{tensor, known, part};
    const bool waits = at.state().unsent && at.state().rounds.reduction().node().parent == place;
    if (waits) rounds_.send_up(at);
  }
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

// ---- with whom

void MemberExchange::follow(const Roster& roster, MemberSelf self) {
  ends_.follow(roster);
  if (!view_.begun()) return;
  if (roster_->epoch != roster.epoch) roster_ = roster;
  const Status status = view_.follow(roster, self.node, self.step);
  if (status.ok()) return;
  for (const auto& [id, known] : members_) outcomes_.fail_tensor(id, status);
}

// After a loss what has been sent and not been taken is of no use.
std::vector<control::Regroup::Finished> MemberExchange::stop(bool all) {
  for (auto& [id, known] : members_) {
    if (!known.elastic) continue;
    for (const PartState& part : tensors_.find(id)->parts) {
      const OperationPtr& operation = part.current(PartState::kShares);
      if (all && operation != nullptr) van_.queue().cancel(operation->id);
    }
    if (known.generation > 0) finished_[id] = known.finished();
    known.stop(all);
  }
  std::vector<control::Regroup::Finished> told;
  for (const auto& [id, finished] : finished_) told.push_back(finished);
  return told;
}

// All that this worker knows of tensors must fit into one message.
Status MemberExchange::check_room(const TensorState& tensor) const {
  std::size_t bytes = tensor.parts.size() + control::Regroup::kTensorBytes;
  for (const auto& [id, known] : members_) {
    bytes += known.parts.size() + control::Regroup::kTensorBytes;
  }
  if (bytes <= control::Regroup::kMostBytes) return {};
  return {Code::kResource,
          fmt::format("{}: the tensors of an elastic job that go among workers have {} parts and "
                      "more, at most about {} are taken; use exchange servers, or larger parts "
                      "(STRETTO_PART_BYTES)",
                      tensor.describe(), bytes, control::Regroup::kMostBytes)};
}

void MemberExchange::go_on(const control::Regroup& decided) {
  for (const control::Regroup::Finished& each : decided.finished) {
    if (finished_.size() < kMaxTensors) finished_[each.tensor] = each;
  }
  for (auto& [id, known] : members_) {
    TensorState& tensor = *tensors_.find(id);
    if (!known.elastic) continue;
    if (!tensor.failed.ok()) {
      for (const NodeId node : decided.members) ends_.greet(tensor, known, peers_.link_to(node));
      continue;
    }
    if (Status status = regroup(tensor, known); !status.ok()) outcomes_.fail_tensor(id, status);
  }
  if (view_.generation() != decided.generation) return;
  for (auto& [key, early] : std::exchange(ahead_, {})) {
    on_data(early.link, early.header, std::move(early.payload));
  }
}

Status MemberExchange::regroup(TensorState& tensor, MemberTensor& known) {
  const std::vector<NodeId> before = known.members.nodes;
  MemberPlaces places = MemberPlaces::of_nodes(*roster_, known.self(), view_.members());
  const Result<collective::Strategy> strategy =
      plans_.strategy_for(plan_of(tensor.spec.options.exchange), places);
  if (!strategy.ok()) return strategy.status();
  known.regroup(std::move(places), *strategy, view_.generation());
  for (const NodeId node : known_to_[tensor.id]) known.note_ready(node);
  for (const NodeId node : known.members.nodes) {
    if (std::ranges::count(before, node) != 0) continue;
    peers_.tell(peers_.link_to(node), control::Open{.tensor = tensor.id, .spec = tensor.spec});
  }
  const auto finished = finished_.find(tensor.id);
  rounds_.resume(tensor, known, *strategy,
                 finished == finished_.end() ? control::Regroup::Finished() : finished->second,
                 view_.holds());
  return {};
}

bool MemberExchange::keep_ahead(NodeId from, LinkId link, const wire::Header& header,
                                const Buffer& payload) {
  const bool is_ahead = view_.begun() && header.kind == wire::Kind::kUp &&
                        !wire::GroupFrame::is_one(header) &&
                        wire::UpFrame::generation_of(header) > view_.generation();
  if (!is_ahead) return false;
  const TensorState* tensor = tensors_.find(header.key.tensor);
  if (tensor == nullptr || header.key.part >= tensor->parts.size()) return true;
  const bool absent = wire::UpFrame::of(header).absent;
  const std::size_t wanted = absent ? 0 : tensor->cut.bytes_of_part(header.key.part);
  if (payload.size() != wanted || !view_.is_wanted(from)) return true;  // It cannot be.
  ahead_[{from, header.key.tensor, header.key.part}] = {link, header, to_keep(payload)};
  return true;
}

// ---- out

Status MemberExchange::refusal(const TensorState& tensor, const Operation& operation) const {
  if (tensor.is_group) {
    if (operation.call != nullptr) {
      return MemberCalls::refusal(members_.at(tensor.id), *operation.call);
    }
    return {Code::kInvalidArgument, fmt::format("{} is no tensor", tensor.describe())};
  }
  const bool elastic = members_.at(tensor.id).elastic;
  if (operation.kind == Operation::Kind::kPushPull) return {};
  if (operation.broadcasts() && !elastic) return {};
  return {Code::kInvalidArgument,
          fmt::format("tensor '{}' is exchanged among workers ({}), which has push_pull{}; declare "
                      "it with exchange servers for {}",
                      tensor.spec.name, name_of(tensor.spec.options.exchange),
                      elastic ? "" : " and broadcast", name_of(operation.kind))};
}

std::string MemberExchange::missing(const TensorState& tensor, const Operation& operation) const {
  const MemberTensor& known = members_.at(tensor.id);
  if (known.elastic && view_.waits()) {
    const Member* decider = roster_->find(view_.decider());
    return fmt::format("{} has not said with whom it goes on",
                       decider == nullptr ? "nobody" : decider->describe());
  }
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
  const Member* peer = peers_.find(link);
  if (peer != nullptr && keep_ahead(peer->node, link, header, payload)) return;
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
