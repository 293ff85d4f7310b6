// SPDX-License-Identifier: Apache-2.0
// Intake: the bytes of one connection become messages. It takes no more than it was told
// to expect: a message has one part or two, and the size of each is judged by its head, before any
// memory is taken for it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "common/buffer.h"
#include "van/zmq/frames.h"

namespace stretto::zmq {

/// Thread: loop. Pure, but for memory.
class Intake {
 public:
  enum class Got : std::uint8_t {
    kNothing,   ///< There is no whole message yet; what is left of the bytes is the start of one.
    kGreeting,  ///< The far end speaks ZMTP as we do.
    kReady,     ///< Its handshake is done: messages follow.
    kHello,     ///< A message of one empty part.
    kFrame,     ///< Header and payload of one frame, or of a batch.
    kMalformed  ///< Anything else; nothing is to be made of what follows.
  };

  /// `far_type`: which type of socket the far end must be; it outlives this.
  Intake(std::size_t max_payload_bytes, std::string_view far_type)
      : max_payload_bytes_(max_payload_bytes), far_type_(far_type) {}
  /// Payloads of later frames may be as large as this.
  void set_limit(std::size_t max_payload_bytes) { max_payload_bytes_ = max_payload_bytes; }

  /// Takes one message, or a step of the handshake, from the start of `bytes`.
  Got take(std::span<const std::byte>& bytes);

  /// Where the next bytes of a large payload belong; empty: there is none begun. They may be
  /// received right there.
  std::span<std::byte> gap();
  /// So many bytes have been put into the gap; kFrame, kMalformed or kNothing.
  Got filled(std::size_t bytes);

  // Of the frame that was got, until the next call. Headers may lie in the bytes that were taken.
  std::span<const std::byte> headers() const { return headers_; }
  std::size_t frames() const { return headers_.size() / wire::kHeaderBytes; }
  /// Of a batch: lengths and payloads.
  std::span<const std::byte> payloads() const { return payloads_; }
  /// Of one frame.
  Buffer take_payload();

  /// The rest of a message's payload is still to come.
  bool has_begun() const { return state_ == State::kLarge; }
  /// Memory for a message that has begun.
  std::size_t held_bytes() const { return large_.size() + kept_headers_.capacity(); }

 private:
  enum class State : std::uint8_t { kGreeting, kReady, kMessages, kLarge, kOver };

  Got take_greeting(std::span<const std::byte>& bytes);
  Got take_ready(std::span<const std::byte>& bytes);
  Got take_message(std::span<const std::byte>& bytes);
  Got take_payload_of(std::span<const std::byte>& bytes, std::span<const std::byte> headers,
                      std::size_t at);
  Got checked();
  Got over();

  std::size_t max_payload_bytes_;
  std::string_view far_type_;
  State state_ = State::kGreeting;
  std::span<const std::byte> headers_;
  std::span<const std::byte> payloads_;
  std::vector<std::byte> kept_headers_;  // While a large payload comes.
  Buffer large_;
  std::size_t filled_ = 0;  // Of large_.
};

}  // namespace stretto::zmq
