// SPDX-License-Identifier: Apache-2.0
// Listening in the kernel and in libzmq.
#include "van/zmq/listening_port.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "common/network/network.h"
#include "common/network/socket_address.h"
#include "van/transport/tcp_sockets.h"
#include "van/zmq/connected_link.h"

namespace stretto::zmq {
namespace {

// libzmq's thread accepts immediately. Connections in the backlog are accepted during a pause, too.
constexpr int kBacklog = 256;

}  // namespace

Result<ListeningPort> ListeningPort::open(std::string_view address) {
  const Result<SocketAddress> at = listening_address(address);
  if (!at.ok()) return at.status();
  Descriptor listener = listen_at(*at, kBacklog);
  const SocketAddress bound =
      listener.is_open() ? SocketAddress::own_of(listener.get()) : SocketAddress();
  if (!bound.is_known())
    return zmq_failure(fmt::format("wanted to listen at '{}'", address), errno);
  if (bound.is_loopback()) {  // Accepted sockets inherit it.
    ::setsockopt(listener.get(), SOL_SOCKET, SO_SNDBUF, &kLocalSendBuffer, sizeof kLocalSendBuffer);
  }
  return ListeningPort(std::move(listener), bound.text(), reachable_address(bound.text()));
}

Status ListeningPort::accept_by(ZmqSocket& socket) {
  const std::string wanted = fmt::format("wanted to listen at '{}'", address_);
  const int copy = ::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return zmq_failure(wanted, errno);
  socket.set(ZMQ_USE_FD, copy);  // libzmq closes it, even if the bind fails.
  if (zmq_bind(socket.get(), ("tcp://" + bound_).c_str()) == 0) return {};
  return zmq_failure(wanted, zmq_errno());
}

// Both the first packet of a connection and the last of TCP's handshake pass the listener's filter.
// So no accepted socket inherits this filter.
void ListeningPort::pause() {
  sock_filter drop = {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const sock_fprog program = {.len = 1, .filter = &drop};
  paused_ =
      ::setsockopt(listener_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void ListeningPort::resume() {
  const int unused = 0;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
  paused_ = false;
}

}  // namespace stretto::zmq
