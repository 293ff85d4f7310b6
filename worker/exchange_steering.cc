// SPDX-License-Identifier: Apache-2.0
// The exchange of operations whose callers have changed their minds while they go on.
#include "worker/exchange.h"

namespace stretto {

void Exchange::steer(const std::shared_ptr<Operation>& operation, const detail::Change& change) {
  using Kind = detail::Change::Kind;
  if (!operation->under_way) return;  // It has ended.
  TensorState& tensor = tensors_.at(operation->tensor.id);
  switch (change.kind) {
    case Kind::kPriority:
    case Kind::kDeadline:
      if (change.kind == Kind::kPriority) operation->priority = change.priority;
      if (change.kind == Kind::kDeadline) operation->deadline_wanted = change.deadline;
      van_.set_urgency(operation->id, {operation->priority, operation->deadline_wanted});
      return;
    case Kind::kPause:
      operation->paused = true;
      van_.pause(operation->id);
      return;
    case Kind::kResume:
      operation->paused = false;
      van_.resume(operation->id);
      advance(tensor, *operation);
      return;
    case Kind::kCancel:
      cancel(operation);
      return;
  }
}

// Parts that wait for others are given up; so are those whose frames had not left. A pull whose
// question has left leaves its part to shares, which the answer may wait for, and is kept only
// while a codec writes to its memory.
void Exchange::cancel(const std::shared_ptr<Operation>& operation) {
  if (operation->pushes() && van_.queue().untouched(operation->id) < operation->parts_begun) return;
  // What a codec owes and remembers counts on what it has encoded.
  const bool coded = tensors_.at(operation->tensor.id).parts.front().coder != nullptr;
  if (operation->pushes() && coded && operation->parts_begun > 0) return;
  operation->cancelled = true;
  operation->paused = false;
  TensorState& tensor = tensors_.at(operation->tensor.id);
  const LaneName lane = lane_of(tensor, *operation);
  for (const wire::Key& key : van_.cancel(operation->id)) {
    Part& part = tensor.parts[key.part];
    if (part.lanes[lane].current != operation) continue;
    part.lanes[lane].current = nullptr;
    if (!operation->pushes()) continue;
    --part.rounds;
    part.awaiting_done = false;
  }
  for (Part& part : tensor.parts) {
    std::erase(part.lanes[lane].waiting, operation);
    if (part.lanes[lane].current != operation || part.decoding) continue;
    part.lanes[lane].current = nullptr;
    part.lanes[lane].gave_up = true;
  }
  end(operation, {Code::kCancelled, "it was cancelled"});
  advance(tensor, *operation);
}

// Values tell whether they answer a share.
bool Exchange::Lane::answers_given_up(const wire::Header& header) const {
  return gave_up && (header.flags & wire::kWantsValue) == 0;
}

// The answer that nobody wants any more has come: the next question may go.
bool Exchange::take_given_up(TensorState& tensor, const wire::Key& key, LaneName lane) {
  if (!std::exchange(tensor.parts[key.part].lanes[lane].gave_up, false)) return false;
  advance(tensor, key.tensor, key.part, lane);
  return true;
}

// A pull that was given up may wait there for what never comes: that is the end of it, and of
// nothing else. Who waits for the same is told for himself.
void Exchange::on_fault(const wire::Key& key, const Status& why) {
  auto found = tensors_.find(key.tensor);
  const bool known = found != tensors_.end() && key.part < found->second.parts.size();
  const bool in_vain = why.code() == Code::kTimeout || why.code() == Code::kPeerLost;
  if (known && in_vain) {
    for (const LaneName lane : {kShares, kPulls}) {
      if (take_given_up(found->second, key, lane)) return;
    }
  }
  fail_tensor(key.tensor, why);
}

}  // namespace stretto
