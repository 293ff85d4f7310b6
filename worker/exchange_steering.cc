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
// question has left keeps its part until the answer has come, so that it is not taken for
// another's.
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
  for (Part& part : tensor.parts) std::erase(part.lanes[lane].waiting, operation);
  end(operation, {Code::kCancelled, "it was cancelled"});
  advance(tensor, *operation);
}

}  // namespace stretto
