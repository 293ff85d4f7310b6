// SPDX-License-Identifier: Apache-2.0
// Plain TCP over IPv4.
#include "tools/launch/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/config.h"

namespace stretto::launch {
namespace {

constexpr Duration kPatience = 10s;  // For one address to answer.

Status no_socket(std::string_view what) {
  return {Code::kNetwork, fmt::format("{}: {}", what, ::strerror(errno))};
}

// In a time that says nothing about how much of it was right.
bool same(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

// A host that is switched off is noticed within about a minute.
void keep_alive(int descriptor) {
  const int on = 1;
  const int idle_seconds = 20;
  const int interval_seconds = 10;
  const int tries = 4;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string text_of(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return text.data();
}

Result<Descriptor> connect_to(const HostPort& address, const Clock& clock) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  if (::inet_pton(AF_INET, address.host.c_str(), &to.sin_addr) != 1) {
    return Status(Code::kInvalidArgument, fmt::format("'{}' is no address", address.host));
  }
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return no_socket("no socket");
  int error = 0;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    error = errno;
  }
  for (const Time until = clock.now() + kPatience; error == EINPROGRESS || error == EINTR;) {
    pollfd look{socket.get(), POLLOUT, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now()).count();
    if (left <= 0) {
      error = ETIMEDOUT;
    } else if (::poll(&look, 1, static_cast<int>(left)) > 0) {
      socklen_t size = sizeof error;
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  errno = error;
  if (error != 0) return no_socket("no connection");
  keep_alive(socket.get());
  return socket;
}

}  // namespace

Gate::~Gate() {
  if (listener_.is_open()) poller_.unwatch(listener_.get());
}

Status Gate::open(bool loopback_only) {
  listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  if (!listener_.is_open() || ::bind(listener_.get(), address, size) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.get(), address, &size) != 0 ||
      !poller_.watch(listener_.get(), EPOLLIN, [this] { accept(); })) {
    return no_socket("no port to listen at for agents");
  }
  port_ = ntohs(own.sin_port);
  return {};
}

void Gate::accept() {
  sockaddr_in from{};
  socklen_t size = sizeof from;
  if (strangers_.size() >= kMaxStrangers || !can_open_two()) hang_up_on_oldest();
  Descriptor socket(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &size,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) return;
  keep_alive(socket.get());
  Stranger& stranger = strangers_.emplace_back();
  stranger.address = text_of(from);
  stranger.link =
      std::make_unique<AgentLink>(poller_, std::move(socket), Descriptor(), false, kMaxHello);
  stranger.link->start([this, &stranger](const AgentFrame& frame) { take(stranger, frame); },
                       [&stranger](const Status&) { stranger.refused = true; });
}

// A link takes two descriptors.
bool Gate::can_open_two() const {
  const Descriptor one(::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0));
  const Descriptor two(::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0));
  return one.is_open() && two.is_open();
}

// An agent says at once who it is: who is still a stranger when room is short has had its time.
void Gate::hang_up_on_oldest() {
  const auto oldest = std::find_if(strangers_.begin(), strangers_.end(),
                                   [](const Stranger& one) { return !one.known; });
  if (oldest != strangers_.end()) strangers_.erase(oldest);
}

void Gate::take(Stranger& stranger, const AgentFrame& frame) const {
  if (stranger.known) return;
  const Result<AgentHello> hello = hello_of(frame);
  if (!hello.ok() || !same(hello->secret, secret_)) {
    stranger.refused = true;
    stranger.link->close();
    return;
  }
  stranger.hello = *hello;
  stranger.known = true;
}

std::vector<Gate::Arrival> Gate::take_arrivals() {
  std::vector<Arrival> arrivals;
  for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
    if (stranger->known && !stranger->refused) {
      stranger->hello.own_address = stranger->address;
      arrivals.push_back({std::move(stranger->link), stranger->hello});
    }
    const bool gone = stranger->known || stranger->refused;
    stranger = gone ? strangers_.erase(stranger) : std::next(stranger);
  }
  return arrivals;
}

std::string far_address(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return text_of(address);
}

Result<Descriptor> knock(const std::string& addresses, const Clock& clock) {
  std::string reasons;
  for (std::size_t start = 0; start < addresses.size();) {
    const std::size_t end = std::min(addresses.find(',', start), addresses.size());
    const std::string one = addresses.substr(start, end - start);
    start = end + 1;
    const Result<HostPort> address = parse_host_port(one);
    Result<Descriptor> socket = address.ok() ? connect_to(*address, clock) : address.status();
    if (socket.ok()) return socket;
    reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : ", ", one, socket.status().cause());
  }
  return Status(Code::kNetwork, fmt::format("the launcher cannot be reached at {}", reasons));
}

}  // namespace stretto::launch
