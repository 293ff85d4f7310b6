// SPDX-License-Identifier: Apache-2.0
// Any 128 bytes as a frame header: wire::decode accepts only headers that later code can rely on.
// Input: a mask of the fields made valid, the length that the transport reports, the header.
#include <cstring>

#include "common/check.h"
#include "tests/fuzz/input.h"
#include "van/wire/header.h"

namespace stretto {
namespace {

using wire::Header;
using wire::Kind;

enum Valid : unsigned { kGreeting = 1, kReserved = 2, kLength = 4, kType = 8 };

wire::HeaderBytes header_from(fuzz::Input& input, unsigned valid, std::size_t payload_bytes) {
  auto header = input.take<Header>();
  if ((valid & kGreeting) != 0) {
    header.magic = wire::kMagic;
    header.protocol = wire::kProtocol;
  }
  if ((valid & kReserved) != 0) header.codec = header.memory = 0;
  if ((valid & kLength) != 0) header.bytes = static_cast<std::uint32_t>(payload_bytes);
  if ((valid & kType) != 0) {
    const auto kind = static_cast<std::uint8_t>(header.kind);
    header.kind = static_cast<Kind>(1 + kind % static_cast<std::uint8_t>(Kind::kDown));
    header.flags = static_cast<std::uint16_t>(header.flags & wire::kKnownFlags);
    header.dtype = static_cast<std::uint8_t>(1 + header.dtype % 8);
  }
  return wire::encode(header);
}

void check_accepted(const Header& header, std::size_t payload_bytes) {
  STRETTO_CHECK(header.magic == wire::kMagic && header.protocol == wire::kProtocol);
  STRETTO_CHECK(header.kind >= Kind::kControl && header.kind <= Kind::kDown);
  STRETTO_CHECK((header.flags & ~wire::kKnownFlags) == 0);
  STRETTO_CHECK(header.codec <= static_cast<int>(Codec::kDithering) && header.memory == 0);
  STRETTO_CHECK(header.bytes == payload_bytes && payload_bytes <= wire::kMaxPayloadBytes);
  if (header.kind == Kind::kControl) STRETTO_CHECK(payload_bytes <= wire::kMaxControlBytes);
  if (header.kind == Kind::kPull || header.kind == Kind::kDone || header.kind == Kind::kCredit) {
    STRETTO_CHECK(payload_bytes == 0);
  }
  if (header.total != 0 && payload_bytes != 0) {
    STRETTO_CHECK(header.kind != Kind::kControl && header.offset < header.total);
    STRETTO_CHECK(payload_bytes <= header.total - header.offset);
  }
  const bool contributes = header.kind == Kind::kPush || header.kind == Kind::kUp;
  if (!contributes && header.kind != Kind::kValue && header.kind != Kind::kDown) return;
  if ((header.flags & wire::kAbsent) != 0 && contributes) STRETTO_CHECK(payload_bytes == 0);
  if (header.codec != 0) STRETTO_CHECK(header.dtype == static_cast<int>(Dtype::kF32));
  if (payload_bytes == 0 || header.codec != 0) return;
  const std::size_t element = bytes_of(static_cast<Dtype>(header.dtype));
  STRETTO_CHECK(element != 0 && header.whole_bytes() % element == 0);
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned valid = input.byte();
  const std::size_t payload_bytes = input.take<std::uint32_t>();
  // A header may lie at any address: here an odd one, in memory of exactly its size.
  std::array<std::byte, wire::kHeaderBytes + 1> memory{};
  const wire::HeaderBytes bytes = header_from(input, valid, payload_bytes);
  std::memcpy(memory.data() + 1, bytes.data(), bytes.size());
  const wire::HeaderView view(memory.data() + 1, wire::kHeaderBytes);
  const Result<wire::Header> header = wire::decode(view, payload_bytes);
  if (!header.ok()) {
    const Code code = header.status().code();
    STRETTO_CHECK(code == Code::kMalformed || code == Code::kRefused);
    STRETTO_CHECK(!header.status().cause().empty());
    return;
  }
  check_accepted(*header, payload_bytes);
  STRETTO_CHECK(wire::encode(*header) == bytes);
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
