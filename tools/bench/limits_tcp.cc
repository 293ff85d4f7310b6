// SPDX-License-Identifier: Apache-2.0
// Plain sockets over loopback, one connection: a thread that writes and one that reads.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <span>
#include <thread>

#include "tools/bench/limits.h"
#include "tools/bench/statistics.h"
#include "tools/launch/descriptor.h"

namespace stretto::bench {
namespace {

constexpr std::size_t kPingBytes = 64;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
Time now() { return std::chrono::steady_clock::now(); }

Status refused(std::string_view what) {
  return {Code::kNetwork, fmt::format("cannot {} over loopback: {}", what, ::strerror(errno))};
}

struct Connection {
  launch::Descriptor near;
  launch::Descriptor far;
};

Result<Connection> connect_loopback() {
  const launch::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), any, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), any, &size) != 0) {
    return refused("listen");
  }
  Connection made;
  made.near = launch::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(made.near.get(), any, size) != 0) return refused("connect");
  made.far = launch::Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!made.far.open()) return refused("accept");
  const int on = 1;
  for (const launch::Descriptor* end : {&made.near, &made.far}) {
    ::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return made;
}

bool read_all(int descriptor, std::span<std::byte> bytes) {
  return ::recv(descriptor, bytes.data(), bytes.size(), MSG_WAITALL) ==
         static_cast<ssize_t>(bytes.size());
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

// One direction, in GB/s: what has arrived until the far end has read the last byte.
Result<double> stream(std::size_t bytes, Duration time) {
  Result<Connection> made = connect_loopback();
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
  if (!fine) return refused("write");
  return received / seconds(elapsed) / 1e9;
}

// There and back, in microseconds: the median.
Result<double> ping(Duration time) {
  Result<Connection> made = connect_loopback();
  if (!made.ok()) return made.status();
  const std::jthread echo([descriptor = made->far.get()] {
    std::array<std::byte, kPingBytes> bytes{};
    while (read_all(descriptor, bytes) && write_all(descriptor, bytes)) {
    }
  });
  std::array<std::byte, kPingBytes> bytes{};
  std::vector<double> round_trips;
  bool fine = true;
  for (const Time start = now(); fine && now() - start < time;) {
    const Time sent = now();
    fine = write_all(made->near.get(), bytes) && read_all(made->near.get(), bytes);
    round_trips.push_back(1e6 * seconds(now() - sent));
  }
  ::shutdown(made->near.get(), SHUT_RDWR);
  if (!fine) return refused("exchange");
  return median_of(std::move(round_trips));
}

}  // namespace

std::vector<Limit> tcp_limits() {
  std::vector<Limit> limits;
  for (const std::size_t bytes : {std::size_t{256} << 10, std::size_t{1} << 20}) {
    limits.push_back({"tcp", bytes, false, [bytes](Duration time) { return stream(bytes, time); }});
  }
  limits.push_back({"tcp", kPingBytes, true, ping});
  return limits;
}

}  // namespace stretto::bench
