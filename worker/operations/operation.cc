// SPDX-License-Identifier: Apache-2.0
// Names of operations, and leases on their callers' memory.
#include "worker/operations/operation.h"

#include "van/engine/van.h"
#include "worker/operations/call_plan.h"

namespace stretto {

std::string_view name_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::kPush:
      return "push";
    case Operation::Kind::kPull:
      return "pull";
    case Operation::Kind::kPushPull:
      return "push_pull";
    case Operation::Kind::kBroadcastRoot:
    case Operation::Kind::kBroadcastReceiver:
      return "broadcast";
    case Operation::Kind::kListen:
      return "listen";
    case Operation::Kind::kProbe:
      return "probe";
    case Operation::Kind::kCall:
      return "call";
  }
  return "unknown";
}

std::string_view name_of(const Operation& operation) {
  if (!operation.rejected.ok()) return operation.target.empty() ? "push" : "push_pull";
  if (operation.call == nullptr) return name_of(operation.kind);
  const CallKind kind = operation.call->call.kind;
  if (kind == CallKind::kSend && !operation.target.empty()) return "receive";
  return stretto::name_of(kind);
}

Buffer lease(const OperationPtr& operation, std::span<const std::byte> bytes,
             const std::shared_ptr<Waker>& waker) {
  operation->leases.fetch_add(1);
  // Named, so that they are not const: they move with the function.
  return Buffer::borrow(bytes, [held = operation, loop = waker] {
    if (held->leases.fetch_sub(1) == 1 && held->awaits_leases.load()) loop->wake();
  });
}

}  // namespace stretto
