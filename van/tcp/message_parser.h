// SPDX-License-Identifier: Apache-2.0
// MessageParser: makes messages of the bytes of one connection. It judges each message by its head,
// before it takes memory for the rest.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/memory/buffer.h"
#include "van/tcp/frame_format.h"
#include "van/tcp/greeting.h"

namespace stretto::tcp {

/// Thread: loop. Pure, but for memory.
class MessageParser {
 public:
  enum class Got : std::uint8_t {
    kNothing,   ///< There is no whole message yet; what is left of the bytes is the start of one.
    kGreeting,  ///< The far end's greeting is good: messages follow.
    kFrame,     ///< Headers and payloads of one frame, or of a batch.
    kMalformed  ///< Anything else; nothing can be made of what follows.
  };

  /// `far`: the side of the end that sends these bytes.
  MessageParser(std::size_t max_payload_bytes, Side far)
      : max_payload_bytes_(max_payload_bytes), far_(far) {}
  /// Payloads of later frames may be as large as this.
  void set_limit(std::size_t max_payload_bytes) { max_payload_bytes_ = max_payload_bytes; }

  /// Takes the greeting, or one message, from the start of `bytes`.
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

  /// The rest of a message's payload has yet to come.
  bool has_begun() const { return state_ == State::kLarge; }
  /// What the far end's greeting was found to be.
  GreetingCheck greeting() const { return greeting_; }
  /// Memory for a message that has begun.
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
  std::vector<std::byte> kept_headers_;  // While a large payload comes.
  Buffer large_;
  std::size_t filled_ = 0;  // Of large_.
};

}  // namespace stretto::tcp
