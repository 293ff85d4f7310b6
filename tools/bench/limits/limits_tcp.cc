// SPDX-License-Identifier: Apache-2.0
// Plain sockets over loopback, one connection: a thread that writes and one that reads.
#include <fmt/core.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/descriptor.h"
#include "tools/bench/limits/limits.h"
#include "tools/bench/support/sockets.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

struct LoopbackPair {
  Descriptor near;
  Descriptor far;
};

Result<LoopbackPair> connect_loopback() {
  const std::string host = "127.0.0.1";
  const auto listening = listen_at(host);
  if (!listening.ok()) return listening.status();
  const auto& [listener, port] = *listening;
  Result<Descriptor> near = connect_to(fmt::format("{}:{}", host, port));
  if (!near.ok()) return near.status();
  Result<Descriptor> far = accept_one(listener);
  if (!far.ok()) return far.status();
  return LoopbackPair{*std::move(near), *std::move(far)};
}

// One direction, in GB/s, until the peer has read the last byte.
Result<double> tcp_stream(std::size_t bytes, Duration time) {
  Result<LoopbackPair> made = connect_loopback();
  if (!made.ok()) return made.status();
  const Time start = now();
  double received = 0;
  Duration elapsed{};
  std::jthread reader([&] {
    std::vector<std::byte> memory(bytes);
    for (ssize_t got = 1; got > 0; received += static_cast<double>(got)) {
      got = ::recv(made->far.get(), memory.data(), memory.size(), 0);
    }
    elapsed = now() - start;
  });
  const std::vector<std::byte> memory(bytes);
  bool fine = true;
  while (fine && now() - start < time) fine = write_all(made->near.get(), memory);
  ::shutdown(made->near.get(), SHUT_WR);
  reader.join();
  if (!fine) return refused(Code::kNetwork, "cannot write over loopback");
  return received / seconds(elapsed) / 1e9;
}

// The median round trip in microseconds.
Result<double> tcp_ping(Duration time) {
  Result<LoopbackPair> made = connect_loopback();
  if (!made.ok()) return made.status();
  const std::jthread echo([descriptor = made->far.get()] {
    std::array<std::byte, kPingBytes> bytes{};
    while (read_all(descriptor, bytes) && write_all(descriptor, bytes)) {
    }
  });
  std::array<std::byte, kPingBytes> bytes{};
  const double median = median_round_trip_us(time, [&, near = made->near.get()] {
    return write_all(near, bytes) && read_all(near, bytes);
  });
  ::shutdown(made->near.get(), SHUT_RDWR);
  if (median < 0) return refused(Code::kNetwork, "cannot exchange over loopback");
  return median;
}

}  // namespace

std::vector<Limit> tcp_limits() {
  std::vector<Limit> limits;
  for (const std::size_t bytes : {std::size_t{256} << 10, std::size_t{1} << 20}) {
    limits.push_back(
        {"tcp", bytes, false, [bytes](Duration time) { return tcp_stream(bytes, time); }});
  }
  limits.push_back({"tcp", kPingBytes, true, tcp_ping});
  return limits;
}

}  // namespace stretto::bench
