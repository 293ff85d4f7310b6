// SPDX-License-Identifier: Apache-2.0
// Writes as large as the kernel takes; the receiving end measures.
#include "tools/bench/limits/raw_stream.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "tools/bench/limits/preempt_load.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/sockets.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

constexpr std::size_t kWriteBytes = 256 << 10;
constexpr Duration kWarmUp = 250ms;

/// The single connection to `host`.
Result<Descriptor> await_sender(const std::string& host, const TellAddress& tell) {
  const auto listening = listen_at(host);
  if (!listening.ok()) return listening.status();
  const auto& [listener, port] = *listening;
  if (Status status = tell(fmt::format("{}:{}", host, port)); !status.ok()) return status;
  return accept_one(listener);
}

Status receive_stream(const std::string& host, double seconds, const TellAddress& tell,
                      const TellReport& report) {
  const Result<Descriptor> socket = await_sender(host, tell);
  if (!socket.ok()) return socket.status();
  std::vector<std::byte> memory(kWriteBytes);
  const Time start = now() + kWarmUp;
  const Time end = start + duration_of(seconds);
  RateMeter meter;
  std::uint64_t received = 0;
  Time when;
  do {
    const ssize_t got = ::recv(socket->get(), memory.data(), memory.size(), 0);
    if (got <= 0) return refused(Code::kNetwork, "cannot receive the stream");
    received += static_cast<std::uint64_t>(got);
    when = now();
    if (when < start) {
      meter.start(received);
    } else {
      meter.note(when, received);
    }
  } while (when < end || meter.arrivals() < 3);
  return report({.seconds = 1, .gigabytes = meter.gb_per_s()});
}

Status send_stream(std::span<const std::string> addresses) {
  const Result<Descriptor> socket = connect_to(addresses.front());
  if (!socket.ok()) return socket.status();
  const std::string control = congestion_control_of(*socket);
  if (control != "cubic") {
    return {Code::kUnsupported, fmt::format("wanted TCP with cubic, found {}; without it figures "
                                            "of different machines cannot be compared",
                                            control)};
  }
  const std::vector<std::byte> memory(kWriteBytes);
  while (write_all(socket->get(), memory)) {
  }
  return {};  // The receiver has finished.
}

}  // namespace

LabExchange raw_stream(double seconds) {
  return {"raw_tcp",
          [seconds](const std::string& host, const TellAddress& tell, const TellReport& report) {
            return receive_stream(host, seconds, tell, report);
          },
          [](std::span<const std::string> addresses, const TellReport&) {
            return send_stream(addresses);
          }};
}

}  // namespace stretto::bench
