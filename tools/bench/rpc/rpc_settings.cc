// SPDX-License-Identifier: Apache-2.0
// The flags of rpc, and their limits.
#include "tools/bench/rpc/rpc_settings.h"

#include "stretto/rpc.h"

namespace stretto::bench {
namespace {

constexpr std::uint64_t kMaxInflight = 1024;                           // As an endpoint's default.
constexpr std::uint64_t kMaxInflightBytes = std::uint64_t{512} << 20;  // Half of its default.

constexpr std::pair<std::string_view, std::string_view> kCallTransports[] = {
    {"shm", "shm"}, {"tcp", "tcp"}, {"zmq", "zmq"}, {"fabric", "fabric"}};

}  // namespace

std::uint32_t many_calls(std::uint64_t bytes) { return bytes >= 1 << 20 ? 4 : 64; }

std::vector<CallShape> shapes_of(const RpcSettings& settings, double seconds) {
  std::vector<CallShape> shapes;
  for (const std::uint64_t bytes : settings.bytes) {
    std::vector<std::uint64_t> inflight = settings.inflight;
    if (inflight.empty()) inflight = {1, many_calls(bytes)};
    for (const std::uint64_t calls : inflight) {
      shapes.push_back(
          {.bytes = bytes, .inflight = static_cast<std::uint32_t>(calls), .seconds = seconds});
    }
  }
  return shapes;
}

std::vector<Flag> rpc_flags(RpcSettings& settings) {
  Flag transport =
      choices_flag<std::string_view>("transport", kCallTransports, settings.transports);
  transport.take = [&settings, take = std::move(transport.take)](const std::string& text) {
    settings.all_transports = false;
    return take(text);
  };
  return {{"bytes", false,
           [&settings](const std::string& text) {
             return read_list(text, 1, rpc::kMaxMessageBytes, settings.bytes);
           }},
          {"inflight", false,
           [&settings](const std::string& text) {
             return read_list(text, 1, kMaxInflight, settings.inflight);
           }},
          std::move(transport)};
}

Status check_rpc(const RpcSettings& settings) {
  for (const CallShape& shape : shapes_of(settings, 0)) {
    const std::uint64_t bytes = shape.bytes * shape.inflight;
    if (bytes <= kMaxInflightBytes) continue;
    return invalid(
        fmt::format("--bytes {} with {} calls in flight is {} bytes, at most {} are "
                    "taken; --inflight sets that",
                    shape.bytes, shape.inflight, bytes, kMaxInflightBytes));
  }
  return {};
}

}  // namespace stretto::bench
