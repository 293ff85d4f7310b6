// SPDX-License-Identifier: Apache-2.0
// The bytes of ZMTP. Numbers are in network order.
#include "van/tcp/zmtp.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace stretto::tcp {
namespace {

enum HeadFlags : std::uint8_t { kMore = 1, kLong = 2, kCommand = 4, kAllFlags = 7 };

constexpr std::size_t kVersionAt = 10;
constexpr std::size_t kMechanismAt = 12;
constexpr std::size_t kMechanismBytes = 20;
constexpr std::size_t kAsServerAt = 32;
constexpr std::string_view kNullName = "NULL";
constexpr std::string_view kCurveName = "CURVE";
constexpr std::string_view kReadyName = "\x05READY";
constexpr std::string_view kSocketType = "Socket-Type";

std::uint8_t number(std::byte byte) { return std::to_integer<std::uint8_t>(byte); }

std::uint64_t number(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | number(byte);
  return value;
}

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::array<std::byte, kGreetingBytes> our_greeting(Mechanism mechanism, bool listens) {
  const std::string_view name = mechanism == Mechanism::kCurve ? kCurveName : kNullName;
  std::array<std::byte, kGreetingBytes> bytes{};
  bytes[0] = std::byte{0xFF};
  bytes[9] = std::byte{0x7F};
  bytes[kVersionAt] = std::byte{3};
  std::memcpy(bytes.data() + kMechanismAt, name.data(), name.size());
  if (mechanism == Mechanism::kCurve && listens) bytes[kAsServerAt] = std::byte{1};
  return bytes;
}

std::optional<Mechanism> mechanism_of(std::span<const std::byte, kGreetingBytes> bytes) {
  if (number(bytes[0]) != 0xFF || (number(bytes[9]) & 1) != 1 || number(bytes[kVersionAt]) < 3) {
    return std::nullopt;
  }
  std::string_view name = text(bytes.subspan(kMechanismAt, kMechanismBytes));
  name = name.substr(0, name.find_last_not_of('\0') + 1);
  if (name == kNullName) return Mechanism::kNull;
  return name == kCurveName ? Mechanism::kCurve : Mechanism::kOther;
}

std::vector<std::byte> our_metadata(std::string_view type) {
  std::string bytes("\x0bSocket-Type\0\0\0", 15);
  bytes += static_cast<char>(type.size());
  bytes += type;
  bytes += std::string_view("\x08Identity\0\0\0\0", 13);
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

std::vector<std::byte> message_head(std::size_t size) {
  std::array<std::byte, kMostHeadBytes> head{};
  const std::size_t length = write_head(head, size, false);
  return {head.begin(), head.begin() + static_cast<std::ptrdiff_t>(length)};
}

std::vector<std::byte> command_head(std::size_t size) {
  std::vector<std::byte> head = message_head(size);
  head[0] |= std::byte{kCommand};
  return head;
}

std::vector<std::byte> our_ready(std::string_view type) {
  const std::vector<std::byte> metadata = our_metadata(type);
  std::vector<std::byte> bytes = command_head(kReadyName.size() + metadata.size());
  const auto name = std::as_bytes(std::span(kReadyName));
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.insert(bytes.end(), metadata.begin(), metadata.end());
  return bytes;
}

std::array<std::byte, 2> our_hello() { return {}; }

bool is_ready(std::span<const std::byte> body, std::string_view type) {
  return text(body).starts_with(kReadyName) && is_metadata(body.subspan(kReadyName.size()), type);
}

bool is_metadata(std::span<const std::byte> metadata, std::string_view type) {
  std::span<const std::byte> left = metadata;
  bool found = false;
  while (!left.empty()) {
    const std::size_t name_bytes = number(left[0]);
    if (left.size() < 1 + name_bytes + 4) return false;
    const std::string_view name = text(left.subspan(1, name_bytes));
    const std::uint64_t value_bytes = number(left.subspan(1 + name_bytes, 4));
    left = left.subspan(1 + name_bytes + 4);
    if (left.size() < value_bytes) return false;
    if (name == kSocketType) found = text(left.first(value_bytes)) == type;
    left = left.subspan(value_bytes);
  }
  return found;
}

std::optional<Head> read_head(std::span<const std::byte> bytes) {
  if (bytes.empty()) return std::nullopt;
  const std::uint8_t flags = number(bytes[0]);
  Head head;
  head.more = (flags & kMore) != 0;
  head.command = (flags & kCommand) != 0;
  head.malformed = (flags & ~kAllFlags) != 0 || (head.more && head.command);
  const std::size_t size_bytes = (flags & kLong) != 0 ? 8 : 1;
  head.length = 1 + size_bytes;
  if (bytes.size() < head.length) return std::nullopt;
  head.size = number(bytes.subspan(1, size_bytes));
  return head;
}

std::size_t write_head(std::span<std::byte, kMostHeadBytes> at, std::uint64_t size, bool more) {
  const bool is_long = size > 0xFF;
  at[0] = static_cast<std::byte>((more ? kMore : 0) | (is_long ? kLong : 0));
  if (!is_long) {
    at[1] = static_cast<std::byte>(size);
    return 2;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    at[1 + i] = static_cast<std::byte>(size >> (8 * (7 - i)));
  }
  return kMostHeadBytes;
}

}  // namespace stretto::tcp
