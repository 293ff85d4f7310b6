// SPDX-License-Identifier: Apache-2.0
// Reading a header that came from outside: every field that later code relies on is checked here.
#include "van/wire.h"

#include <fmt/format.h>

#include <cstring>

namespace stretto::wire {
namespace {

bool known(Kind kind) { return kind >= Kind::kControl && kind <= Kind::kCredit; }

bool carries_payload(const Header& header) {
  switch (header.kind) {
    case Kind::kControl:
    case Kind::kValue:
      return true;
    case Kind::kPush:
      return (header.flags & kAbsent) == 0;
    default:
      return false;
  }
}

Status malformed(std::string cause) { return {Code::kMalformed, std::move(cause)}; }

Status check_payload(const Header& header, std::size_t payload_bytes) {
  if (header.bytes != payload_bytes) {
    return malformed(
        fmt::format("the header announces {} bytes, {} came", header.bytes, payload_bytes));
  }
  const std::size_t limit = header.kind == Kind::kControl ? kMaxControlBytes : kMaxPayloadBytes;
  if (payload_bytes > limit) {
    return malformed(
        fmt::format("{} bytes of payload, at most {} are taken", payload_bytes, limit));
  }
  if (payload_bytes != 0 && !carries_payload(header)) {
    return malformed(
        fmt::format("a frame of kind {} with flags {:#x} carries {} bytes, wanted none",
                    static_cast<int>(header.kind), header.flags, payload_bytes));
  }
  if (header.kind != Kind::kPush && header.kind != Kind::kValue) return {};
  const std::size_t element = bytes_of(static_cast<Dtype>(header.dtype));
  if (payload_bytes != 0 && (element == 0 || payload_bytes % element != 0)) {
    return malformed(fmt::format("{} bytes are no whole number of elements of dtype {}",
                                 payload_bytes, header.dtype));
  }
  return {};
}

}  // namespace

Result<Header> decode(HeaderView bytes, std::size_t payload_bytes) {
  HeaderBytes copy;
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  const auto header = std::bit_cast<Header>(copy);
  if (header.magic != kMagic) {
    return malformed(fmt::format("magic {:#x}, wanted {:#x}", header.magic, kMagic));
  }
  if (header.protocol != kProtocol) {
    return Status(Code::kRefused,
                  fmt::format("protocol {}, this side speaks {}", header.protocol, kProtocol));
  }
  if (!known(header.kind)) {
    return malformed(fmt::format("frame kind {} is not known", static_cast<int>(header.kind)));
  }
  if ((header.flags & ~kKnownFlags) != 0 || header.codec != 0 || header.memory != 0) {
    return malformed(fmt::format("flags {:#x}, codec {}, memory {}: not known to protocol {}",
                                 header.flags, header.codec, header.memory, kProtocol));
  }
  if (Status status = check_payload(header, payload_bytes); !status.ok()) return status;
  return header;
}

}  // namespace stretto::wire
