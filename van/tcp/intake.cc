// SPDX-License-Identifier: Apache-2.0
// One function for each step of a connection's life.
#include "van/tcp/intake.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "van/tcp/curve.h"

namespace stretto::tcp {
namespace {

constexpr std::size_t kMostHeadersBytes = kMostBatched * wire::kHeaderBytes;

bool are_headers(const Head& head) {
  return !head.malformed && !head.command && head.more && head.size > 0 &&
         head.size <= kMostHeadersBytes && head.size % wire::kHeaderBytes == 0;
}

// libzmq's are messages, and by the letter of ZMTP they are commands.
bool is_sealed(const Head& head, std::size_t most_bytes) {
  return !head.malformed && !head.more && head.size >= kSealBytes &&
         head.size - kSealBytes <= most_bytes;
}

bool is_hello(const Head& head) {
  return !head.malformed && !head.command && !head.more && head.size == 0;
}

}  // namespace

Intake::Got Intake::over(bool changed) {
  changed_ = changed;
  state_ = State::kOver;
  return Got::kMalformed;
}

Intake::Got Intake::take(std::span<const std::byte>& bytes) {
  switch (state_) {
    case State::kGreeting:
      return take_greeting(bytes);
    case State::kReady:
      return mechanism_ == Mechanism::kCurve ? take_command(bytes) : take_ready(bytes);
    case State::kMessages:
      return opener_ ? take_sealed_headers(bytes) : take_message(bytes);
    case State::kSealedPayload:
      return take_sealed_payload(bytes);
    case State::kLarge: {
      const std::span<std::byte> room = gap();
      const std::size_t count = std::min(bytes.size(), room.size());
      if (count == 0) return Got::kNothing;
      std::memcpy(room.data(), bytes.data(), count);
      bytes = bytes.subspan(count);
      return filled(count);
    }
    case State::kOver:
      break;
  }
  return Got::kMalformed;
}

Intake::Got Intake::take_greeting(std::span<const std::byte>& bytes) {
  if (bytes.size() < kGreetingBytes) return Got::kNothing;
  const std::optional<Mechanism> wanted = mechanism_of(bytes.first<kGreetingBytes>());
  if (!wanted) return over();
  if (*wanted != mechanism_) {
    far_mechanism_ = *wanted;
    state_ = State::kOver;
    return Got::kOtherMechanism;
  }
  bytes = bytes.subspan(kGreetingBytes);
  state_ = State::kReady;
  return Got::kGreeting;
}

Intake::Got Intake::take_ready(std::span<const std::byte>& bytes) {
  const auto head = read_head(bytes);
  if (!head) return Got::kNothing;
  if (head->malformed || !head->command || head->size > kMostReadyBytes) return over();
  const auto size = static_cast<std::size_t>(head->size);
  if (bytes.size() < head->length + size) return Got::kNothing;
  if (!is_ready(bytes.subspan(head->length, size), far_type_)) return over();
  bytes = bytes.subspan(head->length + size);
  state_ = State::kMessages;
  return Got::kReady;
}

Intake::Got Intake::take_command(std::span<const std::byte>& bytes) {
  const auto head = read_head(bytes);
  if (!head) return Got::kNothing;
  if (head->malformed || !head->command || head->size > kMostCurveCommandBytes) return over();
  const auto size = static_cast<std::size_t>(head->size);
  if (bytes.size() < head->length + size) return Got::kNothing;
  command_ = bytes.subspan(head->length, size);
  bytes = bytes.subspan(head->length + size);
  return Got::kCommand;
}

void Intake::secure_by(const CurveOpener& opener) {
  STRETTO_CHECK(mechanism_ == Mechanism::kCurve && state_ == State::kReady);
  opener_ = opener;
  state_ = State::kMessages;
}

Intake::Got Intake::take_message(std::span<const std::byte>& bytes) {
  large_ = Buffer();
  const auto head = read_head(bytes);
  if (!head) return Got::kNothing;
  if (is_hello(*head)) {
    bytes = bytes.subspan(head->length);
    return Got::kHello;
  }
  if (!are_headers(*head)) return over();
  const auto size = static_cast<std::size_t>(head->size);
  if (bytes.size() < head->length + size) return Got::kNothing;
  return take_payload_of(bytes, bytes.subspan(head->length, size), head->length + size);
}

// The second part, whose head is at `at`.
Intake::Got Intake::take_payload_of(std::span<const std::byte>& bytes,
                                    std::span<const std::byte> headers, std::size_t at) {
  const auto head = read_head(bytes.subspan(at));
  if (!head) return Got::kNothing;
  const std::size_t most =
      headers.size() == wire::kHeaderBytes ? max_payload_bytes_ : kMostBatchPart;
  if (head->malformed || head->command || head->more || head->size > most) return over();
  const auto size = static_cast<std::size_t>(head->size);
  std::span<const std::byte> rest = bytes.subspan(at + head->length);
  if (size < kLeastTaken) {
    if (rest.size() < size) return Got::kNothing;
    headers_ = headers;
    payloads_ = rest.first(size);
    bytes = rest.subspan(size);
    return checked();
  }
  kept_headers_.assign(headers.begin(), headers.end());
  bytes = rest;
  return begin_large(bytes, size);
}

Intake::Got Intake::begin_large(std::span<const std::byte>& bytes, std::size_t size) {
  large_ = Buffer::allocate(size);
  filled_ = 0;
  state_ = State::kLarge;
  return take(bytes);
}

// The first part, or a hello. A sealed part is its head, its seal and its bytes.
Intake::Got Intake::take_sealed_headers(std::span<const std::byte>& bytes) {
  large_ = Buffer();
  const auto head = read_head(bytes);
  if (!head) return Got::kNothing;
  // Heads are not sealed: one that cannot be may be somebody else's.
  if (!is_sealed(*head, kMostHeadersBytes)) return over(true);
  const auto size = static_cast<std::size_t>(head->size) - kSealBytes;
  if (bytes.size() < head->length + kSealBytes + size) return Got::kNothing;
  const std::span<const std::byte> sealed = bytes.subspan(head->length);
  kept_headers_.resize(size);
  const auto flags =
      opener_->open(sealed.first<kSealBytes>(), sealed.subspan(kSealBytes, size), kept_headers_);
  bytes = sealed.subspan(kSealBytes + size);
  if (!flags) return over(true);
  if (flags == 0 && size == 0) return Got::kHello;
  if (flags != kSealedMore || size == 0 || size % wire::kHeaderBytes != 0) return over();
  state_ = State::kSealedPayload;
  return take(bytes);
}

Intake::Got Intake::take_sealed_payload(std::span<const std::byte>& bytes) {
  const auto head = read_head(bytes);
  if (!head) return Got::kNothing;
  const std::size_t most =
      kept_headers_.size() == wire::kHeaderBytes ? max_payload_bytes_ : kMostBatchPart;
  if (!is_sealed(*head, most)) return over(true);
  const auto size = static_cast<std::size_t>(head->size) - kSealBytes;
  if (bytes.size() < head->length + kSealBytes) return Got::kNothing;
  const auto seal = bytes.subspan(head->length).first<kSealBytes>();
  std::span<const std::byte> rest = bytes.subspan(head->length + kSealBytes);
  if (size >= kLeastTaken) {
    std::memcpy(seal_.data(), seal.data(), seal.size());
    bytes = rest;
    return begin_large(bytes, size);
  }
  if (rest.size() < size) return Got::kNothing;
  small_.resize(size);
  const auto flags = opener_->open(seal, rest.first(size), small_);
  if (!flags) return over(true);
  if (*flags != 0) return over();
  bytes = rest.subspan(size);
  state_ = State::kMessages;
  headers_ = kept_headers_;
  payloads_ = small_;
  return checked();
}

std::span<std::byte> Intake::gap() {
  if (state_ != State::kLarge) return {};
  return large_.writable().subspan(filled_);
}

Intake::Got Intake::filled(std::size_t bytes) {
  STRETTO_CHECK(state_ == State::kLarge && bytes <= large_.size() - filled_);
  filled_ += bytes;
  if (filled_ < large_.size()) return Got::kNothing;
  if (opener_) {
    const auto flags = opener_->open(seal_, large_.bytes(), large_.writable());
    if (!flags) return over(true);
    if (*flags != 0) return over();
  }
  state_ = State::kMessages;
  headers_ = kept_headers_;
  payloads_ = large_.bytes();
  return checked();
}

Intake::Got Intake::checked() {
  return fits(headers_, payloads_, max_payload_bytes_) ? Got::kFrame : over();
}

Buffer Intake::take_payload() {
  STRETTO_CHECK(frames() == 1);
  if (payloads_.empty()) return {};
  if (payloads_.data() == large_.data()) return std::exchange(large_, {});
  return Buffer::copy_of(payloads_);
}

}  // namespace stretto::tcp
