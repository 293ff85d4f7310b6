// SPDX-License-Identifier: Apache-2.0
// The socket calls of who listens.
#include "van/tcp/listener.h"

#include <fmt/core.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/clock.h"
#include "common/failure.h"
#include "common/log.h"
#include "common/network.h"
#include "common/socket_address.h"
#include "van/tcp/address.h"
#include "van/tcp/options.h"

namespace stretto::tcp {
namespace {

// Who connects while our loop is busy waits in the kernel. It cuts this to net.core.somaxconn.
constexpr int kBacklog = 4096;

void set(const Descriptor& socket, int level, int option, int value) {
  ::setsockopt(socket.get(), level, option, &value, sizeof value);  // It works without, too.
}

AcceptedDescriptor accept_from(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  AcceptedDescriptor caller;
  caller.socket =
      Descriptor(::accept4(listener.get(), generic, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!caller.socket.is_open()) {
    const bool none_left =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    caller.error = none_left ? errno : 0;
    return caller;
  }
  const SocketAddress from(generic);
  const SocketAddress to = SocketAddress::own_of(caller.socket.get());
  caller.host = from.host();
  caller.local = from.is_loopback() || from.has_host_of(to);
  set(caller.socket, IPPROTO_TCP, TCP_NODELAY, 1);
  if (caller.local) set(caller.socket, SOL_SOCKET, SO_SNDBUF, kLocalSendBuffer);
  return caller;
}

}  // namespace

Result<ListeningSocket> ListeningSocket::open(std::string_view address, Watch& watch,
                                              std::uint64_t token) {
  const Result<HostPort> parsed = to_listen(address);
  if (!parsed.ok()) return parsed.status();
  const std::string wanted = fmt::format("wanted to listen at '{}'", address);
  const auto at = SocketAddress::from_digits(parsed->host, parsed->port);
  if (!at) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{}, but '{}' is no address; give one of this host in digits, or "
                              "0.0.0.0, or [::]",
                              wanted, parsed->host));
  }
  Descriptor socket = listen_at(*at, kBacklog);
  const SocketAddress bound =
      socket.is_open() ? SocketAddress::own_of(socket.get()) : SocketAddress();
  if (!bound.is_known()) return failure(wanted, errno);
  if (Status status = watch.add(socket.get(), token); !status.ok()) return status;
  std::string reachable = reachable_address(bound.text());
  return ListeningSocket(std::move(socket), std::move(reachable), watch, token);
}

void ListeningSocket::listen_again() {
  if (!listening_) listening_ = watch_->add(socket_.get(), token_).ok();
}

AcceptedDescriptor ListeningSocket::accept() {
  AcceptedDescriptor caller = accept_from(socket_);
  if (caller.error == 0) return caller;
  watch_->remove(socket_.get());
  listening_ = false;
  if (!lack_.due(SteadyClock().now())) return caller;
  log(Level::kWarning, "somebody wants to connect to {}, but: {}; raise the limit (ulimit -n)",
      address_, std::strerror(caller.error));
  return caller;
}

}  // namespace stretto::tcp
