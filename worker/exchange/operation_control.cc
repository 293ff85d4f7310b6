// SPDX-License-Identifier: Apache-2.0
// Changes affect only what has not been sent.
#include "worker/exchange/operation_control.h"

namespace stretto {

bool Steering::steer(const OperationPtr& operation, const detail::Change& change) {
  using Kind = detail::Change::Kind;
  if (!operation->in_flight) return false;  // It has ended.
  switch (change.kind) {
    case Kind::kPriority:
    case Kind::kDeadline:
      if (change.kind == Kind::kPriority) operation->priority = change.priority;
      if (change.kind == Kind::kDeadline) operation->deadline_wanted = change.deadline;
      van_.queue().set_urgency(operation->id, {operation->priority, operation->deadline_wanted});
      return false;
    case Kind::kPause:
      operation->paused = true;
      van_.queue().pause(operation->id);
      return false;
    case Kind::kResume:
      operation->paused = false;
      van_.queue().resume(operation->id);
      return true;
    case Kind::kCancel:
      return cancel(operation);
  }
  return false;
}

// A push that has partly left must be completed. A codec's momentum and error feedback also rely on
// what it has encoded.
bool Steering::may_cancel(const Operation& operation) const {
  if (!operation.pushes()) return true;
  const bool by_servers = tensors_.of(operation).spec.options.exchange == Exchange::kServers;
  if (!by_servers && operation.parts_begun > 0) return false;  // Other workers' sums may have it.
  if (van_.queue().backlog().untouched(operation.id) < operation.parts_begun) return false;
  const bool coded = tensors_.of(operation).parts.front().codec.coder != nullptr;
  return !coded || operation.parts_begun == 0;
}

// Queued parts are abandoned, and parts whose frames have not left. A pull whose request has left
// frees its part for pushes, which the answer may wait for. It is kept only while a codec writes to
// its memory.
bool Steering::cancel(const OperationPtr& operation) {
  if (!may_cancel(*operation)) return false;
  operation->cancelled = true;
  operation->paused = false;
  TensorState& tensor = tensors_.of(*operation);
  const PartState::LaneName lane = tensor.lane_of(*operation);
  for (const wire::Key& key : van_.queue().cancel(operation->id)) {
    tensor.parts[key.part].take_back(lane, operation);
  }
  for (PartState& part : tensor.parts) part.give_up(lane, operation);
  operations_.end(operation, {Code::kCancelled, "it was cancelled"});
  return true;
}

}  // namespace stretto
