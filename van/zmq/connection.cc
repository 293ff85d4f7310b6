// SPDX-License-Identifier: Apache-2.0
// Reading into shared memory what is small, and right into its place what is large.
#include "van/zmq/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "common/network.h"
#include "van/zmq/zmtp.h"

namespace stretto::zmq {
namespace {

constexpr int kReadsATurn = 16;
// Read beyond a large payload by the call that ends it: heads and small frames that follow.
constexpr std::size_t kBeyondPayload = 16 << 10;
// Memory that a connection keeps for the starts of messages.
constexpr std::size_t kMostKept = 4096;
// Reads of what is thrown away when we hang up.
constexpr int kMostDrains = 256;

}  // namespace

Connection::Connection(LinkId id, AcceptedDescriptor caller, Time now,
                       std::size_t max_payload_bytes)
    : link(id),
      address(std::move(caller.host)),
      ours(false),
      since(now),
      local(caller.local),
      batch(local),
      stage_(Stage::kGreeting),
      socket_(std::move(caller.socket)),
      intake_(max_payload_bytes, kDealer) {
  opening_.add(our_greeting());
}

// The sink knows of it from the beginning, and its user has chosen to trust it.
Connection::Connection(LinkId id, std::string_view to, Time now, std::size_t max_payload_bytes)
    : link(id),
      address(to),
      ours(true),
      since(now),
      local(is_own_host(to)),
      announced(true),
      admitted(true),
      batch(local),
      stage_(Stage::kLookingUp),
      intake_(max_payload_bytes, kRouter) {}

void Connection::connect_by(Descriptor socket) {
  STRETTO_CHECK(ours && stage_ == Stage::kLookingUp);
  socket_ = std::move(socket);
  stage_ = Stage::kConnecting;
}

void Connection::fail(Status why) {
  STRETTO_CHECK(ours && stage_ < Stage::kGreeting);
  why_ = std::move(why);
  broken = true;
}

void Connection::greet(Time now) {
  STRETTO_CHECK(stage_ == Stage::kConnecting);
  stage_ = Stage::kGreeting;
  since = now;
  opening_.add(our_greeting());
}

void Connection::introduce_ourselves() {
  STRETTO_CHECK(stage_ == Stage::kGreeting);
  opening_.add(our_ready(ours ? kDealer : kRouter));
}

void Connection::open() {
  STRETTO_CHECK(stage_ == Stage::kGreeting);
  stage_ = Stage::kOpen;
  if (ours) opening_.add(our_hello());
}

void Connection::begin(std::span<std::byte> scratch) {
  // Where an exception left the last turn in the middle, what was read is lost with it.
  const bool torn = !scratch_.empty();
  STRETTO_CHECK(torn || (unread_.empty() && kept_.size() <= scratch.size()));
  scratch_ = scratch;
  reads_left_ = kReadsATurn;
  drained_ = torn;
  if (torn) {
    ended_ = true;
    unread_ = {};
    kept_.clear();
  }
  if (kept_.empty()) return;
  std::memcpy(scratch.data(), kept_.data(), kept_.size());
  unread_ = scratch.first(kept_.size());
  kept_.clear();
  if (kept_.capacity() > kMostKept) kept_.shrink_to_fit();
}

void Connection::keep() {
  kept_.assign(unread_.begin(), unread_.end());
  unread_ = {};
  scratch_ = {};
}

Intake::Got Connection::next() {
  using enum Intake::Got;
  for (;;) {
    Intake::Got got = unread_.empty() ? kNothing : intake_.take(unread_);
    if (got != kNothing) return got;
    if (drained_ || reads_left_-- == 0) return kNothing;
    got = receive();
    if (got != kNothing) return got;
    ended_ = finished_;
    if (ended_) return kNothing;
  }
}

Intake::Got Connection::receive() {
  using enum Intake::Got;
  if (!unread_.empty()) {
    std::memmove(scratch_.data(), unread_.data(), unread_.size());
    unread_ = scratch_.first(unread_.size());
  }
  const std::span<std::byte> gap = intake_.gap();
  std::span<std::byte> room = scratch_.subspan(unread_.size());
  if (!gap.empty()) room = room.first(std::min(room.size(), kBeyondPayload));
  STRETTO_CHECK(!room.empty() && (gap.empty() || unread_.empty()));
  std::array<iovec, 2> into = {iovec{gap.data(), gap.size()}, iovec{room.data(), room.size()}};
  msghdr message{};
  message.msg_iov = into.data();
  message.msg_iovlen = into.size();
  const ssize_t result = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  if (result < 0 && errno == EINTR) return kNothing;
  if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    drained_ = true;
    finished_ = broken;
    return kNothing;
  }
  if (result <= 0) {
    finished_ = drained_ = true;
    return kNothing;
  }
  const auto count = static_cast<std::size_t>(result);
  received_bytes_ += count;
  drained_ = count < gap.size() + room.size();
  const std::size_t placed = std::min(count, gap.size());
  unread_ = scratch_.first(unread_.size() + count - placed);
  return placed == 0 ? kNothing : intake_.filled(placed);
}

bool Connection::flush() {
  batched = false;
  if (batch.empty()) return false;
  outlet_.add(batch);
  return true;
}

bool Connection::write() {
  int error = opening_.write(socket_.get());
  if (error == 0 && stage_ == Stage::kOpen) error = outlet_.write(socket_.get());
  if (error == EAGAIN) return false;
  if (error != 0) {
    opening_.clear();
    outlet_.clear();
    broken = true;
  }
  return true;
}

Status Connection::why_ended() const {
  if (!why_.ok()) return why_;
  return {Code::kLinkBroken,
          fmt::format("the connection {} {} has ended", ours ? "to" : "from", address)};
}

void Connection::hang_up() {
  if (!socket_.is_open()) return;
  opening_.clear();
  outlet_.clear();
  // Not SHUT_RDWR: that keeps a window shut, and a far end that waits for it to open would hear of
  // the end from nothing but its own patience.
  ::shutdown(socket_.get(), SHUT_WR);
  std::array<std::byte, 4096> ignored;
  for (int i = 0; i < kMostDrains; ++i) {
    if (::recv(socket_.get(), ignored.data(), ignored.size(), MSG_DONTWAIT) <= 0) break;
  }
  socket_.close();
}

}  // namespace stretto::zmq
