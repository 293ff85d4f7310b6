// SPDX-License-Identifier: Apache-2.0
// Reading into shared memory what is small, and right into its place what is large.
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
#include "common/network.h"
#include "van/tcp/zmtp.h"

namespace stretto::tcp {
namespace {

constexpr int kReadsATurn = 16;
// Read beyond a large payload by the call that ends it: heads and small frames that follow.
constexpr std::size_t kBeyondPayload = 4096;
// Messages after a large payload that are read like its neighbours.
constexpr int kNearLarge = 8;
constexpr std::size_t kLeastLarge = 32 << 10;
// Memory that a connection keeps for the starts of messages.
constexpr std::size_t kMostKept = 4096;
// Reads of what is thrown away when we hang up.
constexpr int kMostDrains = 256;

Mechanism mechanism_by(const CurveIdentity* identity) {
  return identity == nullptr ? Mechanism::kNull : Mechanism::kCurve;
}

std::string_view kind_of(Mechanism mechanism) {
  if (mechanism == Mechanism::kNull) return "a plain connection (NULL)";
  return mechanism == Mechanism::kCurve ? "an encrypted connection (CURVE)"
                                        : "a connection of another mechanism";
}

}  // namespace

Connection::Connection(LinkId id, AcceptedDescriptor caller, Time now,
                       std::size_t max_payload_bytes, const CurveIdentity* identity)
    : link(id),
      address(std::move(caller.host)),
      ours(false),
      since(now),
      local(caller.local),
      batch(local),
      stage_(Stage::kGreeting),
      socket_(std::move(caller.socket)),
      identity_(identity),
      intake_(max_payload_bytes, kDealer, mechanism_by(identity)),
      outlet_(identity != nullptr) {
  opening_.add(our_greeting(mechanism_by(identity), true));
}

// The sink knows of it from the beginning, and its user has chosen to trust it.
Connection::Connection(LinkId id, std::string_view to, Time now, std::size_t max_payload_bytes,
                       const CurveIdentity* identity)
    : link(id),
      address(to),
      ours(true),
      since(now),
      local(is_own_host(to)),
      announced(true),
      admitted(true),
      batch(local),
      stage_(Stage::kLookingUp),
      identity_(identity),
      intake_(max_payload_bytes, kRouter, mechanism_by(identity)),
      outlet_(identity != nullptr) {}

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
  opening_.add(our_greeting(mechanism_by(identity_), false));
}

void Connection::introduce_ourselves() {
  STRETTO_CHECK(stage_ == Stage::kGreeting);
  if (identity_ == nullptr) return opening_.add(our_ready(ours ? kDealer : kRouter));
  handshake_ =
      ours ? std::make_unique<CurveHandshake>(*identity_, CurveSide::kDialer, kDealer, kRouter)
           : std::make_unique<CurveHandshake>(*identity_, CurveSide::kListener, kRouter, kDealer);
  if (ours) opening_.add(handshake_->begin());
}

bool Connection::shake_hands() {
  STRETTO_CHECK(stage_ == Stage::kGreeting && handshake_ != nullptr);
  std::vector<std::byte> answer;
  const CurveHandshake::Step step = handshake_->take(intake_.command(), answer);
  if (!answer.empty()) opening_.add(answer);
  if (step != CurveHandshake::Step::kDone) return step == CurveHandshake::Step::kGoesOn;
  sealer_ = handshake_->sealer();
  outlet_.seal_by(&*sealer_);
  intake_.secure_by(handshake_->opener());
  handshake_.reset();
  open();
  return true;
}

void Connection::open() {
  STRETTO_CHECK(stage_ == Stage::kGreeting);
  stage_ = Stage::kOpen;
  if (!ours) return;
  if (!sealer_) return opening_.add(our_hello());
  std::vector<std::byte> hello = message_head(kSealBytes);
  hello.resize(hello.size() + kSealBytes);
  sealer_->seal(0, {}, std::span(hello).last(kSealBytes));
  opening_.add(hello);
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
    if (got == kFrame && near_large_ > 0) --near_large_;
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
  // Of a large payload only what comes with its head is copied.
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

Status Connection::why_refused() const {
  constexpr std::string_view kAlike =
      "give every process the same STRETTO_ENCRYPT and STRETTO_JOB_TOKEN, as stretto-launch "
      "--encrypt does, and check the address";
  const std::string who = ours ? fmt::format("what listens at {}", address) : address;
  if (intake_.far_mechanism() != mechanism_by(identity_)) {
    return {Code::kMalformed,
            fmt::format("wanted {}, and {} wants {}: {}", kind_of(mechanism_by(identity_)), who,
                        kind_of(intake_.far_mechanism()), kAlike)};
  }
  if (handshake_ != nullptr) {
    return {Code::kMalformed,
            fmt::format("wanted a connection that is encrypted by this job's key, and {} has "
                        "another key, or what it said was changed on the way: {}",
                        who, kAlike)};
  }
  if (intake_.was_changed()) {  // As what a checksum finds: another link brings what was lost.
    return {Code::kLinkBroken,
            fmt::format("what {} sent was changed, repeated or left out on the way", address)};
  }
  return {Code::kMalformed, fmt::format("{} sent a message that is no frame", address)};
}

Status Connection::why_ended() const {
  if (!why_.ok()) return why_;
  if (ours && handshake_ != nullptr) {
    return {Code::kMalformed,
            fmt::format("what listens at {} ended the connection while it was being encrypted: it "
                        "has another key, or was too busy; is STRETTO_JOB_TOKEN the same for every "
                        "process, and this the right job's address?",
                        address)};
  }
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

}  // namespace stretto::tcp
