// SPDX-License-Identifier: Apache-2.0
// MessageParser: splits the bytes of one connection into messages. It checks each message by its
// header before it allocates memory for the rest.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/memory/buffer.h"
#include "van/tcp/frame_format.h"
#include "van/tcp/greeting.h"

namespace stretto::tcp {

/// Thread: loop. Pure, except for memory.
class MessageParser {
 public:
  enum class Got : std::uint8_t {
    kNothing,   ///< No whole message yet; the remaining bytes are the start of one.
    kGreeting,  ///< The peer's greeting is good: messages follow.
    kFrame,     ///< Headers and payloads of one frame, or of a batch.
    kMalformed  ///< Anything else; the bytes that follow cannot be parsed.
  };

  /// `far`: the side of the end that sends these bytes.
  MessageParser(std::size_t max_payload_bytes, Side far)
      : max_payload_bytes_(max_payload_bytes), far_(far) {}
  /// The size limit for payloads of later frames.
  void set_limit(std::size_t max_payload_bytes) { max_payload_bytes_ = max_payload_bytes; }

  /// Takes the greeting, or one message, from the start of `bytes`.
  Got take(std::span<const std::byte>& bytes);

  /// Where the next bytes of a large payload belong; empty if no large payload is partial. They may
  /// be received into it directly.
  std::span<std::byte> gap();
  /// Records that `bytes` bytes were put into the gap; returns kFrame, kMalformed or kNothing.
  Got filled(std::size_t bytes);

  // The frame of the last call, until the next one. Headers may lie in the bytes that were taken.
  std::span<const std::byte> headers() const { return headers_; }
  std::size_t frames() const { return headers_.size() / wire::kHeaderBytes; }
  /// The lengths and payloads of a batch.
  std::span<const std::byte> payloads() const { return payloads_; }
  /// The payload of a single frame.
  Buffer take_payload();

  /// A message's payload is partial.
  bool has_begun() const { return state_ == State::kLarge; }
  /// The result of the check of the peer's greeting.
  GreetingCheck greeting() const { return greeting_; }
  /// Memory held for a partial message.
  std::size_t held_bytes() const { return large_.size() + kept_headers_.capacity(); }

 private:
  enum class State : std::uint8_t { kGreeting, kMessages, kLarge, kOver };

  Got take_greeting(std::span<const std::byte>& bytes);
  Got take_message(std::span<const std::byte>& bytes);
  Got check_frames();
  Got fail();

  std::size_t max_payload_bytes_;
  const Side far_;
  State state_ = State::kGreeting;
  GreetingCheck greeting_ = GreetingCheck::kIncomplete;
  std::span<const std::byte> headers_;
  std::span<const std::byte> payloads_;
  std::vector<std::byte> kept_headers_;  // While a large payload arrives.
  Buffer large_;
  std::size_t filled_ = 0;  // Bytes of large_.
};

}  // namespace stretto::tcp
