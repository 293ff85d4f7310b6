// SPDX-License-Identifier: Apache-2.0
// Handshake checks: a peer with another protocol or another job's token is rejected.
#include "van/control/handshake.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "common/version.h"
#include "van/wire/header.h"

namespace stretto {
namespace {

// Field numbers of van/control/control.proto.
constexpr std::uint64_t kHello = 1;
constexpr std::uint64_t kWelcome = 2;
constexpr std::uint64_t kFault = 3;
constexpr std::uint64_t kResume = 22;
constexpr unsigned kTypeBits = 3;
constexpr std::uint64_t kLengthDelimited = 2;

// Removes a Protobuf varint from the front of `bytes`. A tag or length has at most 5 bytes.
std::optional<std::uint64_t> take_number(std::span<const std::byte>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 5); ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
    value |= (byte & 127) << (7 * i);
    if (byte > 127) continue;
    bytes = bytes.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

// The message's only field; 0: trailing bytes follow, or the message is not of this encoding.
std::uint64_t only_field(std::span<const std::byte> payload) {
  const std::optional<std::uint64_t> tag = take_number(payload);
  const std::optional<std::uint64_t> length = take_number(payload);
  const bool is_message = tag && length && *tag % (1U << kTypeBits) == kLengthDelimited;
  return is_message && *length == payload.size() ? *tag >> kTypeBits : 0;
}

}  // namespace

control::Hello introduction(Role role, const std::string& token) {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  control::Hello hello;
  hello.protocol = wire::kProtocol;
  hello.token = token;
  hello.role = role;
  hello.host = fmt::format("{}:{}", host, getpid());
  hello.version = kVersion;
  return hello;
}

Status check_greeting(const control::Hello& hello, const std::string& token) {
  if (hello.protocol != wire::kProtocol) {
    return {Code::kRefused,
            fmt::format("{} speaks protocol {} (release {}), this side speaks {} (release {}); "
                        "install the same release everywhere",
                        hello.host, hello.protocol, hello.version, wire::kProtocol, kVersion)};
  }
  if (!same_token(hello.token, token)) {
    return {Code::kRefused,
            fmt::format("{} came with {} job token, this job has {}; is STRETTO_JOB_TOKEN the same "
                        "for every process, and this the right job's scheduler?",
                        hello.host, hello.token.empty() ? "no" : "another",
                        token.empty() ? "none" : "a different one")};
  }
  return {};
}

Status check_unadmitted(std::span<const std::byte> payload, bool ours) {
  const std::uint64_t field = only_field(payload);
  const bool greets =
      ours ? field == kWelcome || field == kFault : field == kHello || field == kResume;
  if (!greets) {
    return {Code::kMalformed, "a control message other than the greeting came before it"};
  }
  if (!ours && payload.size() > kMaxGreetingBytes) {
    return {Code::kMalformed, fmt::format("a greeting of {} bytes came, at most {} are read",
                                          payload.size(), kMaxGreetingBytes)};
  }
  return {};
}

}  // namespace stretto
