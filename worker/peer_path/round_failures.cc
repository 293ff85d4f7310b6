// SPDX-License-Identifier: Apache-2.0
// Which rounds fail, and which members are told.
#include "worker/peer_path/round_failures.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/tensor_spec.h"

namespace stretto {
namespace {

// This worker begins no further rounds of the tensor.
control::Fault farewell_to(std::uint32_t id, const PeerTensor& known) {
  return {.why = {Code::kPeerLost, fmt::format("worker {} has left the job",
                                               known.members.ranks[known.members.self])},
          .tensor = id,
          .round = known.first_open()};
}

// The fault that reports a failure here. Rounds before the first that lacks a departed worker may
// still be completed elsewhere.
control::Fault fault_of(const TensorState& tensor, const PeerTensor& known) {
  const bool from_doom = known.doom && known.doom->why.text() == tensor.failed.text();
  return {.why = tensor.failed, .tensor = tensor.id, .round = from_doom ? known.doom->round : 0};
}

}  // namespace

void RoundFailures::adopt(std::uint32_t id, PeerTensor& known) {
  if (auto told = dooms_.extract(id); !told.empty()) known.doom = std::move(told.mapped());
  if (known.elastic) return;
  for (const auto& [node, why] : left_) {
    const Place place = known.members.place_of(node);
    if (place == collective::kNobody || known.ready.contains(place)) continue;
    known.doom = {.round = 1, .why = why};
  }
}

void RoundFailures::greet(const TensorState& tensor, const PeerTensor& known, LinkId link) const {
  if (!tensor.failed.ok()) {
    peers_.tell(link, fault_of(tensor, known));
  } else if (leaving_ && !known.elastic) {
    peers_.tell(link, farewell_to(tensor.id, known));
  }
}

void RoundFailures::greet(LinkId link) const {
  if (leaving_) peers_.tell(link, control::Leave{});
}

void RoundFailures::on_fault(const Member& peer, const control::Fault& fault) {
  PeerTensor::RoundFailure told{.round = fault.round, .why = fault.why};
  const bool of_another = !told.why.peer().empty() && told.why.peer() != peer.describe();
  if (told.why.peer().empty()) told.why = std::move(told.why).with_peer(peer.describe());
  const auto found = members_.find(fault.tensor);
  if (found != members_.end()) {
    PeerTensor& known = found->second;
    doom(fault.tensor, known, told);
    // A leaving worker still sends its contributions; a worker that lost a peer does not.
    if (known.group == nullptr || !of_another) return;
    const Place place = known.members.place_of(peer.node);
    known.group->gone.try_emplace(place, told.why);
    if (known.group->sends_with(place)) end_for_sends(fault.tensor, known, told.why);
    return;
  }
  if (dooms_.size() < kMaxTensors) dooms_.try_emplace(fault.tensor, std::move(told));
}

// A worker with an open link reports its leave there, after its values.
void RoundFailures::follow(const Roster& roster) {
  const std::pair now(roster.epoch, peers_.lost());
  if (std::exchange(followed_, now) == now) return;
  for (const Member& member : roster.members) {
    const bool left = member.role == Role::kWorker && member.left;
    if (!left || left_.contains(member.node) || peers_.link_to(member.node) != 0) continue;
    on_leave(member);
    for (auto& [id, known] : members_) {  // Its last messages were lost with its link.
      if (known.elastic || known.members.place_of(member.node) == collective::kNobody) continue;
      const std::uint64_t first =
          known.group == nullptr ? known.first_open() : known.group->first_unfinished();
      doom(id, known, {.round = first, .why = left_.at(member.node)});
    }
  }
}

// A worker that left before it knew a tensor makes no round of it.
void RoundFailures::on_leave(const Member& peer) {
  const Status why = Status(Code::kPeerLost, fmt::format("{} has left the job", peer.describe()))
                         .with_peer(peer.describe());
  left_.emplace(peer.node, why);
  for (auto& [id, known] : members_) {
    const Place place = known.members.place_of(peer.node);
    if (known.elastic || place == collective::kNobody) continue;
    if (known.group != nullptr) known.group->gone.try_emplace(place, why);
    if (!known.ready.contains(place)) doom(id, known, {.round = 1, .why = why});
    if (known.group != nullptr && known.group->sends_with(place)) end_for_sends(id, known, why);
  }
}

// Members that wait for this member's sends must be told. Calls that are complete here may be open
// there.
void RoundFailures::end_for_sends(std::uint32_t id, PeerTensor& known, const Status& why) {
  if (is_failed(id)) return;
  const std::uint64_t first = known.group->first_unfinished();
  peers_.tell(known.members.nodes, control::Fault{.why = why, .tensor = id, .round = first});
  known.doom = {.round = first, .why = why};
  outcomes_.fail_tensor(id, why);
}

void RoundFailures::leave() {
  leaving_ = true;
  for (const auto& [id, known] : members_) {
    const TensorState& tensor = *tensors_.find(id);
    if (!tensor.failed.ok()) {  // Its reporter may get through after this leave.
      peers_.tell(known.members.nodes, fault_of(tensor, known));
    } else if (!known.elastic) {
      peers_.tell(known.members.nodes, farewell_to(id, known));
    }
  }
  peers_.tell_all(control::Leave{});
}

// Earlier rounds may still be completed: their sums are in flight.
void RoundFailures::doom(std::uint32_t id, PeerTensor& known, PeerTensor::RoundFailure doom) {
  if (!known.doom || doom.round < known.doom->round) known.doom = std::move(doom);
  const std::uint64_t from = known.doom->round;
  if (!known.waits_from(from) && from != 0) return;
  outcomes_.fail_tensor(id, known.doom->why);
}

void RoundFailures::failed(const TensorState& tensor, const Status& why) {
  const auto found = members_.find(tensor.id);
  if (found == members_.end()) return;
  PeerTensor& known = found->second;
  known.clear();
  // A fault from another worker was sent to all members.
  const bool told = known.doom && known.doom->why.text() == why.text();
  if (!told) {
    peers_.tell(known.members.nodes, control::Fault{.why = why, .tensor = tensor.id});
  }
}

}  // namespace stretto
