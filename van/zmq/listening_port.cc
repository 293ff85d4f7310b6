// SPDX-License-Identifier: Apache-2.0
// The kernel's side of listening, and libzmq's.
#include "van/zmq/listening_port.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "common/network.h"
#include "common/socket_address.h"
#include "van/zmq/address.h"
#include "van/zmq/connected_link.h"

namespace stretto::zmq {
namespace {

// Who connects while libzmq accepts nobody waits in the kernel. It cuts this to net.core.somaxconn.
constexpr int kBacklog = 4096;

}  // namespace

Result<ListeningPort> ListeningPort::open(std::string_view address) {
  const Result<SocketAddress> at = listening_address(address);
  if (!at.ok()) return at.status();
  const std::string wanted = fmt::format("wanted to listen at '{}'", address);
  Descriptor listener = listen_at(*at, kBacklog);
  const SocketAddress bound =
      listener.is_open() ? SocketAddress::own_of(listener.get()) : SocketAddress();
  if (!bound.is_known()) return zmq_failure(wanted, errno);
  const bool local = bound.is_loopback();
  if (local) {  // Accepted sockets inherit it.
    ::setsockopt(listener.get(), SOL_SOCKET, SO_SNDBUF, &kLocalSendBuffer, sizeof kLocalSendBuffer);
  }
  return ListeningPort(std::move(listener), bound.text(), reachable_address(bound.text()), local);
}

Status ListeningPort::resume(ZmqSocket& socket) {
  const std::string wanted = fmt::format("wanted to accept connections at {}", address_);
  if (Status status = need_descriptors(2, wanted); !status.ok()) return status;
  const int copy = ::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return zmq_failure(wanted, errno);
  socket.set(ZMQ_USE_FD, copy);  // libzmq closes it, also where it cannot bind.
  if (zmq_bind(socket.get(), ("tcp://" + bound_).c_str()) != 0) {
    return zmq_failure(wanted, zmq_errno());
  }
  std::array<char, 256> endpoint{};
  std::size_t size = endpoint.size();
  STRETTO_CHECK(zmq_getsockopt(socket.get(), ZMQ_LAST_ENDPOINT, endpoint.data(), &size) == 0);
  endpoint_ = endpoint.data();
  return {};
}

void ListeningPort::pause(ZmqSocket& socket) {
  if (endpoint_.empty()) return;
  const std::string endpoint = std::exchange(endpoint_, {});
  STRETTO_CHECK(zmq_unbind(socket.get(), endpoint.c_str()) == 0);
}

}  // namespace stretto::zmq
