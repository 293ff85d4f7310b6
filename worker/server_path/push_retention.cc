// SPDX-License-Identifier: Apache-2.0
// Retransmits pushes to another server.
#include "worker/server_path/push_retention.h"

namespace stretto {

bool PushRetention::is_in_place(const Operation& operation) const {
  const std::byte* source = operation.source.data();
  const std::byte* target = operation.target.data();
  return keeps_ && operation.pushes() && source < target + operation.target.size() &&
         target < source + operation.source.size();
}

bool PushRetention::send_again(const TensorState& tensor, std::uint32_t part,
                               const SendTerms& terms) const {
  const PartState& state = tensor.parts[part];
  if (!has(state)) return false;
  wire::PushFrame push = state.sent.push;
  push.again = true;
  van_.send(state.link(), push.header(), state.sent.bytes, terms);
  return true;
}

}  // namespace stretto
