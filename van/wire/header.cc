// SPDX-License-Identifier: Apache-2.0
// Decoding of a header from a peer: all fields that later code relies on are checked here.
#include "van/wire/header.h"

#include <fmt/core.h>

#include <cstring>

namespace stretto::wire {
namespace {

bool known(Kind kind) { return kind >= Kind::kControl && kind <= Kind::kDown; }

bool carries_payload(const Header& header) {
  switch (header.kind) {
    case Kind::kControl:
    case Kind::kValue:
    case Kind::kMore:
    case Kind::kCall:
    case Kind::kAnswer:
    case Kind::kDown:
      return true;
    case Kind::kUp:
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
  const bool has_elements = header.kind == Kind::kPush || header.kind == Kind::kValue ||
                            header.kind == Kind::kUp || header.kind == Kind::kDown;
  if (!has_elements) return {};
  const std::size_t element = bytes_of(static_cast<Dtype>(header.dtype));
  if (header.codec != 0) {  // Its decoder checks the length.
    if (header.dtype == static_cast<std::uint8_t>(Dtype::kF32)) return {};
    return malformed(
        fmt::format("codec {} of dtype {}; codecs are for f32", header.codec, header.dtype));
  }
  if (payload_bytes != 0 && (element == 0 || header.whole_bytes() % element != 0)) {
    return malformed(fmt::format("{} bytes are no whole number of elements of dtype {}",
                                 header.whole_bytes(), header.dtype));
  }
  return {};
}

// A first slice is smaller than its frame. Later slices lie inside the frame and are not empty,
// unless they abandon it.
Status check_slice(const Header& header) {
  const bool ends = (header.flags & kAbandoned) != 0;
  bool good = header.offset == 0 && header.total == 0 && !ends;
  if (header.kind == Kind::kMore) {
    const bool inside = !ends && header.total > 0 && header.bytes > 0 && header.offset > 0 &&
                        header.offset < header.total &&
                        header.bytes <= header.total - header.offset;
    good = inside || (ends && header.bytes == 0);
  } else if (header.total != 0) {
    good = !ends && header.offset == 0 && header.bytes > 0 && header.bytes < header.total &&
           header.kind != Kind::kControl && carries_payload(header);
  }
  if (good && header.total <= kMaxPayloadBytes) return {};
  return malformed(fmt::format("a slice of {} bytes at {} of {}, kind {}, flags {:#x}",
                               header.bytes, header.offset, header.total,
                               static_cast<int>(header.kind), header.flags));
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
  const bool codec_known = header.codec <= static_cast<std::uint8_t>(Codec::kDithering);
  if ((header.flags & ~kKnownFlags) != 0 || !codec_known || header.memory != 0) {
    return malformed(fmt::format("flags {:#x}, codec {}, memory {}: not known to protocol {}",
                                 header.flags, header.codec, header.memory, kProtocol));
  }
  if (Status status = check_payload(header, payload_bytes); !status.ok()) return status;
  if (Status status = check_slice(header); !status.ok()) return status;
  return header;
}

}  // namespace stretto::wire
