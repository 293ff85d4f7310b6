// SPDX-License-Identifier: Apache-2.0
// From a new connection to a link.
#include "van/shm/acceptor.h"

#include <cstring>
#include <optional>
#include <utility>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"

namespace stretto::shm {
namespace {

constexpr int kMostAccepted = 16;  // Per call.
// The listener pauses for this long while no descriptor is free.
constexpr Duration kPause = 1s;

}  // namespace

Status Acceptor::listen(std::string name) {
  STRETTO_CHECK(!listens());
  Result<Descriptor> listener = listen_at(name);
  if (!listener.ok()) return listener.status();
  if (Status status = watch_.add(listener->get(), kToken); !status.ok()) return status;
  listener_ = *std::move(listener);
  name_ = std::move(name);
  return {};
}

void Acceptor::accept(std::size_t room) {
  using What = Accepted::What;
  for (int i = 0; i < kMostAccepted; ++i) {
    Accepted accepted = accept_from(listener_);
    if (accepted.what == What::kNobody) return;
    if (accepted.what == What::kNoDescriptor) return pause(accepted.error);
    if (accepted.what != What::kPeer || room == 0) continue;
    if (greet(ids_.next(), std::move(accepted.socket))) --room;
  }
}

// A listener that stays readable would keep the loop from waiting.
void Acceptor::pause(int error) {
  watch_.remove(listener_.get());
  const Time now = SteadyClock().now();
  listen_again_ = now + kPause;
  if (!lack_.due(now)) return;
  log(Level::kWarning,
      "somebody of this host wants to connect to shm:{}, but: {}; raise the limit (ulimit -n)",
      name_, std::strerror(error));
}

void Acceptor::hear(LinkId id) {
  std::optional<Descriptor> stranger = strangers_.take(id);
  if (!stranger) return;
  watch_.remove(stranger->get());
  greet(id, *std::move(stranger));
}

// Reads the first message of a new connection; usually it has arrived already. True if the
// connection has become a link.
bool Acceptor::greet(LinkId id, Descriptor socket) {
  const Received hello = shm::hear(socket);
  if (hello.what == Received::What::kNothing) {
    if (!watch_.add(socket.get(), id).ok()) return false;
    const LinkId oldest = strangers_.add(id, std::move(socket));
    if (oldest != 0) watch_.remove(strangers_.take(oldest)->get());
    return false;
  }
  Result<std::shared_ptr<Line>> line = Line::accept(std::move(socket), hello);
  const Status status = line.ok() ? admit_(id, *std::move(line)) : line.status();
  if (!status.ok()) strangers_.note_refused(status);
  return status.ok();
}

void Acceptor::tick() {
  if (listen_again_ != Time() && SteadyClock().now() >= listen_again_) {
    const bool on = watch_.add(listener_.get(), kToken).ok();
    listen_again_ = on ? Time() : SteadyClock().now() + kPause;
  }
  for (const LinkId id : strangers_.expired()) {
    if (const auto gone = strangers_.take(id)) watch_.remove(gone->get());
  }
}

}  // namespace stretto::shm
