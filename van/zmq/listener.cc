// SPDX-License-Identifier: Apache-2.0
// The socket calls of who listens.
#include "van/zmq/listener.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/clock.h"
#include "common/failure.h"
#include "common/log.h"
#include "common/network.h"
#include "van/zmq/address.h"
#include "van/zmq/options.h"

namespace stretto::zmq {
namespace {

// Who connects while our loop is busy waits in the kernel. It cuts this to net.core.somaxconn.
constexpr int kBacklog = 4096;

sockaddr* generic_name(sockaddr_in& at) { return reinterpret_cast<sockaddr*>(&at); }

std::string digits_of(const sockaddr_in& at) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &at.sin_addr, text.data(), text.size());
  return text.data();
}

void set(const Descriptor& socket, int level, int option, int value) {
  ::setsockopt(socket.get(), level, option, &value, sizeof value);  // It works without, too.
}

bool is_loopback(const sockaddr_in& at) { return ntohl(at.sin_addr.s_addr) >> 24 == 127; }

AcceptedDescriptor accept_from(const Descriptor& listener) {
  sockaddr_in from{};
  sockaddr_in to{};
  socklen_t size = sizeof from;
  AcceptedDescriptor caller;
  caller.socket = Descriptor(
      ::accept4(listener.get(), generic_name(from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!caller.socket.is_open()) {
    const bool none_left =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    caller.error = none_left ? errno : 0;
    return caller;
  }
  caller.host = digits_of(from);
  size = sizeof to;
  const bool same = ::getsockname(caller.socket.get(), generic_name(to), &size) == 0 &&
                    from.sin_addr.s_addr == to.sin_addr.s_addr;
  caller.local = same || is_loopback(from);
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
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(parsed->port));
  if (::inet_pton(AF_INET, parsed->host.c_str(), &at.sin_addr) != 1) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{}, but '{}' is no IPv4 address; give one of this host, or 0.0.0.0",
                              wanted, parsed->host));
  }
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return failure(wanted, errno);
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  socklen_t size = sizeof at;
  if (::bind(socket.get(), generic_name(at), size) != 0 || ::listen(socket.get(), kBacklog) != 0 ||
      ::getsockname(socket.get(), generic_name(at), &size) != 0) {
    return failure(wanted, errno);
  }
  if (Status status = watch.add(socket.get(), token); !status.ok()) return status;
  std::string reachable =
      reachable_address(fmt::format("{}:{}", digits_of(at), ntohs(at.sin_port)));
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

}  // namespace stretto::zmq
