// SPDX-License-Identifier: Apache-2.0
// The 16 bytes: 8 for the protocol's name, 2 for the version, 1 for the side, 5 reserved.
#include "van/tcp/greeting.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace stretto::tcp {
namespace {

constexpr std::string_view kName("stretto\0", 8);
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kSideAt = 10;
constexpr std::byte kZmtpSignature{0xFF};

}  // namespace

std::array<std::byte, kGreetingBytes> greeting_of(Side side) {
  std::array<std::byte, kGreetingBytes> bytes{};
  std::memcpy(bytes.data(), kName.data(), kName.size());
  std::memcpy(bytes.data() + kVersionAt, &kFramingVersion, sizeof kFramingVersion);
  bytes[kSideAt] = static_cast<std::byte>(side);
  return bytes;
}

GreetingCheck check_greeting(std::span<const std::byte> bytes, Side side) {
  using enum GreetingCheck;
  if (bytes.empty()) return kIncomplete;
  const std::size_t named = std::min(bytes.size(), kName.size());
  if (std::memcmp(bytes.data(), kName.data(), named) != 0) {
    return bytes[0] == kZmtpSignature ? kZeroMq : kForeign;
  }
  if (bytes.size() < kGreetingBytes) return kIncomplete;
  std::uint16_t version = 0;
  std::memcpy(&version, bytes.data() + kVersionAt, sizeof version);
  if (version != kFramingVersion) return kOtherVersion;
  return bytes[kSideAt] == static_cast<std::byte>(side) ? kGood : kForeign;
}

}  // namespace stretto::tcp
