// SPDX-License-Identifier: Apache-2.0
// Reads small messages into shared memory, and large payloads directly into their place.
#include "van/tcp/connection.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "common/network/network.h"
#include "van/tcp/greeting.h"

namespace stretto::tcp {
namespace {

constexpr int kReadsATurn = 16;
// Bytes read beyond a large payload by the call that completes it: heads and small frames.
constexpr std::size_t kBeyondPayload = 4096;
// Messages after a large payload that are read in the same way.
constexpr int kNearLarge = 8;
constexpr std::size_t kLeastLarge = 32 << 10;
// Memory that a connection keeps for partial messages.
constexpr std::size_t kMostKept = 4096;
// Reads that discard bytes when the connection closes.
constexpr int kMostDrains = 256;

}  // namespace

Connection::Connection(LinkId id, AcceptedSocket caller, Time now, std::size_t max_payload_bytes)
    : link(id),
      address(std::move(caller.host)),
      ours(false),
      since(now),
      local(caller.local),
      batch(local),
      stage_(Stage::kGreeting),
      socket_(std::move(caller.socket)),
      parser_(max_payload_bytes, Side::kConnector) {
  greeting_.add(greeting_of(Side::kListener));
}

// The sink knows it from the start, and the user has chosen to trust it.
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
      parser_(max_payload_bytes, Side::kListener) {
  greeting_.add(greeting_of(Side::kConnector));
}

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
}

void Connection::open() {
  STRETTO_CHECK(stage_ == Stage::kGreeting);
  stage_ = Stage::kOpen;
}

void Connection::begin(std::span<std::byte> scratch) {
  // After an exception in the last turn its unparsed bytes are lost.
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

MessageParser::Got Connection::next() {
  using enum MessageParser::Got;
  for (;;) {
    MessageParser::Got got = unread_.empty() ? kNothing : parser_.take(unread_);
    if (got == kFrame && near_large_ > 0) --near_large_;
    if (got != kNothing) return got;
    if (drained_ || reads_left_-- == 0) return kNothing;
    got = receive();
    if (got != kNothing) return got;
    ended_ = finished_;
    if (ended_) return kNothing;
  }
}

MessageParser::Got Connection::receive() {
  using enum MessageParser::Got;
  if (!unread_.empty()) {
    std::memmove(scratch_.data(), unread_.data(), unread_.size());
    unread_ = scratch_.first(unread_.size());
  }
  const std::span<std::byte> gap = parser_.gap();
  std::span<std::byte> room = scratch_.subspan(unread_.size());
  // Only the part of a large payload that arrived with its head is copied.
  if (gap.size() >= kLeastLarge) near_large_ = kNearLarge;
  const bool small_is_begun = gap.empty() && !unread_.empty();
  if (near_large_ > 0 && !small_is_begun) room = room.first(std::min(room.size(), kBeyondPayload));
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
  return placed == 0 ? kNothing : parser_.filled(placed);
}

bool Connection::flush() {
  batched = false;
  if (batch.empty()) return false;
  output_.add(batch);
  return true;
}

bool Connection::write() {
  int error = greeting_.write(socket_.get());
  if (error == 0 && stage_ == Stage::kOpen) error = output_.write(socket_.get());
  if (error == EAGAIN) return false;
  if (error != 0) {
    greeting_.clear();
    output_.clear();
    broken = true;
  }
  return true;
}

Status Connection::why_refused() const {
  const std::string far = ours ? fmt::format("what listens at {}", address) : address;
  const GreetingCheck greeting = parser_.greeting();
  if (greeting == GreetingCheck::kZeroMq) {
    return {Code::kMalformed,
            fmt::format("wanted a node of this job over tcp, and {} speaks ZeroMQ: give every "
                        "process the same STRETTO_TRANSPORT and STRETTO_ENCRYPT, and check the "
                        "address",
                        far)};
  }
  if (greeting == GreetingCheck::kOtherVersion) {
    return {Code::kMalformed,
            fmt::format("wanted version {} of the framing, and {} has another: install the same "
                        "version of Stretto on every host",
                        kFramingVersion, far)};
  }
  const std::string_view sent = greeting == GreetingCheck::kGood ? "a message that is no frame"
                                                                 : "something else than a greeting";
  return {Code::kMalformed, fmt::format("{} sent {}", address, sent)};
}

Status Connection::why_ended() const {
  if (!why_.ok()) return why_;
  if (ours && stage() == Stage::kGreeting) {  // A libzmq listener may send nothing.
    return {Code::kLinkBroken,
            fmt::format("the connection to {} has ended without a greeting; is it a Stretto node "
                        "with the same STRETTO_TRANSPORT?",
                        address)};
  }
  return {Code::kLinkBroken,
          fmt::format("the connection {} {} has ended", ours ? "to" : "from", address)};
}

void Connection::hang_up() {
  if (!socket_.is_open()) return;
  greeting_.clear();
  output_.clear();
  // Not SHUT_RDWR: that keeps the window closed, and a peer waiting for the window would learn of
  // the end only by its own timeout.
  ::shutdown(socket_.get(), SHUT_WR);
  std::array<std::byte, 4096> ignored;
  for (int i = 0; i < kMostDrains; ++i) {
    if (::recv(socket_.get(), ignored.data(), ignored.size(), MSG_DONTWAIT) <= 0) break;
  }
  socket_.close();
}

}  // namespace stretto::tcp
