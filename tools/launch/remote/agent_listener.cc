// SPDX-License-Identifier: Apache-2.0
// Plain TCP.
#include "tools/launch/remote/agent_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "common/network/socket_address.h"
#include "tools/launch/remote/tcp.h"

namespace stretto::launch {
namespace {

constexpr Duration kPatience = 10s;  // Connect timeout of one address.

}  // namespace

Gate::~Gate() {
  if (listener_.is_open()) poller_.unwatch(listener_.get());
}

Status Gate::open(const std::string& loopback, std::uint16_t port) {
  const bool is_digits = SocketAddress::from_digits(loopback, port).has_value();
  Result<OpenPort> opened = loopback.empty() ? open_port_to_all(port)
                                             : open_port(is_digits ? loopback : "127.0.0.1", port);
  if (!opened.ok()) return opened.status();
  Result<AdmissionKey> key = AdmissionKey::derived_from(secret_);
  if (!key.ok()) return key.status();
  key_ = *std::move(key);
  listener_ = std::move(opened->socket);
  port_ = opened->port;
  if (!poller_.watch(listener_.get(), EPOLLIN, [this] { accept(); })) {
    return socket_error("no watch on the port for agents");
  }
  return {};
}

void Gate::accept() {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  auto* const generic = reinterpret_cast<sockaddr*>(&from);
  if (strangers_.size() >= kMaxStrangers || !can_open_two()) hang_up_on_oldest();
  Descriptor socket(::accept4(listener_.get(), generic, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) return;
  keep_alive(socket.get());
  Stranger& stranger = strangers_.emplace_back();
  stranger.address = SocketAddress(generic).host();
  stranger.admission.emplace(*key_, port_);
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

// An agent identifies itself at once, so the oldest pending connection has had its time.
void Gate::hang_up_on_oldest() {
  const auto oldest = std::find_if(strangers_.begin(), strangers_.end(),
                                   [](const Stranger& one) { return !one.known; });
  if (oldest != strangers_.end()) strangers_.erase(oldest);
}

void Gate::take(Stranger& stranger, const AgentFrame& frame) const {
  if (stranger.known) return;
  if (!stranger.admission->is_passed()) {
    const Result<std::optional<AgentFrame>> answer = stranger.admission->take(frame);
    if (!answer.ok()) return refuse(stranger);
    if (answer->has_value()) stranger.link->send(**answer);
    return;
  }
  const Result<AgentHello> hello = hello_of(frame);
  if (!hello.ok()) return refuse(stranger);
  stranger.hello = *hello;
  stranger.known = true;
}

void Gate::refuse(Stranger& stranger) {
  stranger.refused = true;
  stranger.link->close();
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
  return SocketAddress::peer_of(socket.get()).host();
}

Result<Descriptor> knock(const std::string& addresses, const Clock& clock) {
  std::string reasons;
  for (std::size_t start = 0; start < addresses.size();) {
    const std::size_t end = std::min(addresses.find(',', start), addresses.size());
    const std::string one = addresses.substr(start, end - start);
    start = end + 1;
    const Result<HostPort> address = parse_host_port(one);
    Result<Descriptor> socket =
        address.ok() ? connect_to(*address, kPatience, clock) : address.status();
    if (socket.ok()) return socket;
    reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : ", ", one, socket.status().cause());
  }
  return Status(Code::kNetwork, fmt::format("the launcher cannot be reached at {}", reasons));
}

}  // namespace stretto::launch
