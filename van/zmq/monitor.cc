// SPDX-License-Identifier: Apache-2.0
// An event has two parts: a 16-bit kind and a 32-bit value, then the endpoint, which we know.
#include "van/zmq/monitor.h"

#include <fmt/core.h>

#include <cstring>

namespace stretto::zmq {

Result<Monitor> Monitor::attach(const ZmqContext& context, const ZmqSocket& socket, int kinds,
                                const std::string& name) {
  const std::string address = fmt::format("inproc://{}", name);
  if (zmq_socket_monitor(socket.get(), address.c_str(), kinds) != 0) {
    return zmq_failure("wanted to watch a libzmq socket", zmq_errno());
  }
  Result<ZmqSocket> events = ZmqSocket::open(context, ZMQ_PAIR);
  if (!events.ok()) return events.status();
  events->set(ZMQ_LINGER, 0);
  events->set(ZMQ_RCVHWM, 0);
  if (zmq_connect(events->get(), address.c_str()) != 0) {
    return zmq_failure("wanted to watch a libzmq socket", zmq_errno());
  }
  Monitor monitor(*std::move(events));
  // A first empty read: libzmq signals a reader only after it has found nothing.
  STRETTO_CHECK(!monitor.next().has_value());
  return monitor;
}

void Monitor::stop_watching(const ZmqSocket& socket) {
  if (home_.is_here()) STRETTO_CHECK(zmq_socket_monitor(socket.get(), nullptr, 0) == 0);
}

std::optional<Monitor::Event> Monitor::next() {
  if (!socket_.receive(part_)) return std::nullopt;
  std::uint16_t kind = 0;
  std::uint32_t value = 0;
  const std::span<std::byte> bytes = part_.bytes();
  STRETTO_CHECK(bytes.size() == sizeof kind + sizeof value && part_.more());
  std::memcpy(&kind, bytes.data(), sizeof kind);
  std::memcpy(&value, bytes.data() + sizeof kind, sizeof value);
  STRETTO_CHECK(socket_.receive(part_));
  return Event{.kind = kind, .value = static_cast<int>(value)};
}

}  // namespace stretto::zmq
