// SPDX-License-Identifier: Apache-2.0
// Applies the decisions of GroupView to tensors.
#include "worker/peer_path/elastic_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace stretto {

ElasticGroups::ElasticGroups(const Parts& parts, Frame again)
    : parts_(parts),
      again_(std::move(again)),
      view_(parts.van, parts.peers,
            {.stop = [this](bool open_ones) { return stop(open_ones); },
             .go_on = [this](const control::Regroup& decided) { go_on(decided); }}) {}

Result<Participants> ElasticGroups::places_for(const TensorState& tensor, const Roster& roster,
                                               MemberSelf self) {
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
  return Participants::of_nodes(roster, self.node, nodes);
}

Status ElasticGroups::adopt(TensorState& tensor, PeerTensor& known) {
  known.elastic = true;
  known.stop(true);
  return view_.goes() ? regroup(tensor, known) : Status();
}

void ElasticGroups::follow(const Roster& roster, MemberSelf self) {
  if (!view_.begun()) return;
  if (roster_->epoch != roster.epoch) roster_ = roster;
  const Status status = view_.follow(roster, self.node, self.step);
  if (status.ok()) return;
  for (const auto& [id, known] : parts_.members) parts_.outcomes.fail_tensor(id, status);
}

std::string ElasticGroups::missing() const {
  const Member* decider = roster_->find(view_.decider());
  return fmt::format("{} has not said with whom it goes on",
                     decider == nullptr ? "nobody" : decider->describe());
}

void ElasticGroups::note_knowers(PeerTensor& known, std::uint32_t id) const {
  const auto found = parts_.knowers.find(id);
  if (found == parts_.knowers.end()) return;
  for (const NodeId node : found->second) known.note_ready(node);
}

// After a loss, frames that were sent and not taken are of no use.
std::vector<control::Regroup::Finished> ElasticGroups::stop(bool open_ones) {
  for (auto& [id, known] : parts_.members) {
    if (!known.elastic) continue;
    for (const PartState& part : parts_.tensors.find(id)->parts) {
      const OperationPtr& operation = part.current(PartState::kShares);
      if (open_ones && operation != nullptr) parts_.van.queue().cancel(operation->id);
    }
    if (known.generation > 0) finished_[id] = known.finished();
    known.stop(open_ones);
  }
  std::vector<control::Regroup::Finished> told;
  for (const auto& [id, finished] : finished_) told.push_back(finished);
  return told;
}

// This worker's progress on all tensors must fit into one message.
Status ElasticGroups::check_room(const TensorState& tensor) const {
  std::size_t bytes = tensor.parts.size() + control::Regroup::kTensorBytes;
  for (const auto& [id, known] : parts_.members) {
    bytes += known.parts.size() + control::Regroup::kTensorBytes;
  }
  if (bytes <= control::Regroup::kMostBytes) return {};
  return {Code::kResource,
          fmt::format("{}: the tensors of an elastic job that go among workers have {} parts and "
                      "more, at most about {} are taken; use exchange servers, or larger parts "
                      "(STRETTO_PART_BYTES)",
                      tensor.describe(), bytes, control::Regroup::kMostBytes)};
}

void ElasticGroups::go_on(const control::Regroup& decided) {
  for (const control::Regroup::Finished& each : decided.finished) {
    if (finished_.size() < kMaxTensors) finished_[each.tensor] = each;
  }
  for (auto& [id, known] : parts_.members) {
    TensorState& tensor = *parts_.tensors.find(id);
    if (!known.elastic) continue;
    if (!tensor.failed.ok()) {
      for (const NodeId node : decided.members) {
        parts_.ends.greet(tensor, known, parts_.peers.link_to(node));
      }
      continue;
    }
    const Status status = regroup(tensor, known);
    if (!status.ok()) parts_.outcomes.fail_tensor(id, status);
  }
  if (view_.generation() != decided.generation) return;
  for (auto& [key, early] : std::exchange(ahead_, {})) {
    again_(early.link, early.header, std::move(early.payload));
  }
}

Status ElasticGroups::regroup(TensorState& tensor, PeerTensor& known) {
  const std::vector<NodeId> before = known.members.nodes;
  Participants places = Participants::of_nodes(*roster_, known.self(), view_.members());
  const Result<collective::Strategy> strategy =
      parts_.plans.strategy_for(plan_of(tensor.spec.options.exchange), places);
  if (!strategy.ok()) return strategy.status();
  known.regroup(std::move(places), *strategy, view_.generation());
  note_knowers(known, tensor.id);
  for (const NodeId node : known.members.nodes) {
    if (std::ranges::count(before, node) != 0) continue;
    parts_.peers.tell(parts_.peers.link_to(node),
                      control::Open{.tensor = tensor.id, .spec = tensor.spec});
  }
  const auto finished = finished_.find(tensor.id);
  parts_.rounds.resume(
      tensor, known, *strategy,
      finished == finished_.end() ? control::Regroup::Finished() : finished->second, view_.holds());
  return {};
}

bool ElasticGroups::keep_ahead(NodeId from, LinkId link, const wire::Header& header,
                               const Buffer& payload) {
  const bool is_ahead = view_.begun() && header.kind == wire::Kind::kUp &&
                        !wire::GroupFrame::is_one(header) &&
                        wire::ReduceFrame::generation_of(header) > view_.generation();
  if (!is_ahead) return false;
  const TensorState* tensor = parts_.tensors.find(header.key.tensor);
  if (tensor == nullptr || header.key.part >= tensor->parts.size()) return true;
  const bool absent = wire::ReduceFrame::of(header).absent;
  const std::size_t wanted = absent ? 0 : tensor->cut.bytes_of_part(header.key.part);
  if (payload.size() != wanted || !view_.is_wanted(from)) return true;  // It is invalid.
  // After two reconfigurations the first frame may arrive last: a part's link depends on the number
  // of members.
  FutureFrame& kept = ahead_[{from, header.key.tensor, header.key.part}];
  const bool is_older = kept.link != 0 && wire::ReduceFrame::generation_of(kept.header) >
                                              wire::ReduceFrame::generation_of(header);
  if (!is_older) kept = {link, header, to_keep(payload)};
  return true;
}

}  // namespace stretto
