// SPDX-License-Identifier: Apache-2.0
// Ownership of a message's bytes.
#include "rpc/message.h"

#include <fmt/core.h>

namespace stretto::rpc {
namespace {

template <typename Bytes>
Message holding(Bytes bytes) {
  if (bytes.empty()) return {};
  auto owner = std::make_shared<const Bytes>(std::move(bytes));
  const std::span<const std::byte> view = std::as_bytes(std::span(owner->data(), owner->size()));
  return Message::lent(view, std::move(owner));
}

}  // namespace

Message::Message(std::vector<std::byte> bytes) : Message(holding(std::move(bytes))) {}
Message::Message(std::string text) : Message(holding(std::move(text))) {}

Message Message::copy_of(std::span<const std::byte> bytes) {
  return holding(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

Message Message::lent(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  Message message;
  message.bytes_ = bytes;
  message.owner_ = std::move(owner);
  return message;
}

Buffer to_buffer(const Message& message) {
  if (message.size() == 0) return {};
  return Buffer::borrow(message.bytes(), [owner = message.owner()] {});
}

Message to_message(Buffer buffer) { return holding(std::move(buffer)); }

Status dropped_message(std::size_t bytes) {
  return {Code::kResource,
          fmt::format("a message of {} bytes was dropped: others of this peer of which a part had "
                      "come held what they may; see Options::max_held_bytes",
                      bytes)};
}

}  // namespace stretto::rpc
