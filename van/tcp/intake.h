// SPDX-License-Identifier: Apache-2.0
// Intake: the bytes of one connection become messages. It takes no more than it was told
// to expect: a message has one part or two, and the size of each is judged by its head, before any
// memory is taken for it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/buffer.h"
#include "van/tcp/curve_channel.h"
#include "van/tcp/frames.h"
#include "van/tcp/zmtp.h"

namespace stretto::tcp {

/// Thread: loop. Pure, but for memory.
class Intake {
 public:
  enum class Got : std::uint8_t {
    kNothing,   ///< There is no whole message yet; what is left of the bytes is the start of one.
    kGreeting,  ///< The far end speaks ZMTP as we do.
    kOtherMechanism,  ///< It speaks ZMTP, and does not encrypt as we do; nothing else follows.
    kCommand,   ///< Of CURVE's handshake: command() has its body. secure_by() ends the handshake.
    kReady,     ///< Its handshake is done: messages follow.
    kHello,     ///< A message of one empty part.
    kFrame,     ///< Header and payload of one frame, or of a batch.
    kMalformed  ///< Anything else; nothing is to be made of what follows.
  };

  /// `far_type`: which type of socket the far end must be; it outlives this.
  Intake(std::size_t max_payload_bytes, std::string_view far_type,
         Mechanism mechanism = Mechanism::kNull)
      : max_payload_bytes_(max_payload_bytes),
        far_type_(far_type),
        mechanism_(mechanism),
        far_mechanism_(mechanism) {}
  /// Payloads of later frames may be as large as this.
  void set_limit(std::size_t max_payload_bytes) { max_payload_bytes_ = max_payload_bytes; }

  /// What follows is sealed, each part by itself.
  void secure_by(const CurveOpener& opener);

  /// Takes one message, or a step of the handshake, from the start of `bytes`.
  Got take(std::span<const std::byte>& bytes);

  /// Where the next bytes of a large payload belong; empty: there is none begun. They may be
  /// received right there.
  std::span<std::byte> gap();
  /// So many bytes have been put into the gap; kFrame, kMalformed or kNothing.
  Got filled(std::size_t bytes);

  /// Of the command that was got, until its bytes go.
  std::span<const std::byte> command() const { return command_; }

  // Of the frame that was got, until the next call. Headers may lie in the bytes that were taken.
  std::span<const std::byte> headers() const { return headers_; }
  std::size_t frames() const { return headers_.size() / wire::kHeaderBytes; }
  /// Of a batch: lengths and payloads.
  std::span<const std::byte> payloads() const { return payloads_; }
  /// Of one frame.
  Buffer take_payload();

  /// The rest of a message's payload is still to come.
  bool has_begun() const { return state_ == State::kLarge || state_ == State::kSealedPayload; }
  /// Of what is malformed: it is not as the far end has sealed it.
  bool was_changed() const { return changed_; }
  /// What the far end's greeting wants, where that is another mechanism.
  Mechanism far_mechanism() const { return far_mechanism_; }
  /// Memory for a message that has begun.
  std::size_t held_bytes() const {
    return large_.size() + kept_headers_.capacity() + small_.capacity();
  }

 private:
  enum class State : std::uint8_t {
    kGreeting,
    kReady,  // Or commands of CURVE.
    kMessages,
    kSealedPayload,  // The first part is open, the second wanted.
    kLarge,
    kOver
  };

  Got take_greeting(std::span<const std::byte>& bytes);
  Got take_ready(std::span<const std::byte>& bytes);
  Got take_command(std::span<const std::byte>& bytes);
  Got take_message(std::span<const std::byte>& bytes);
  Got take_sealed_headers(std::span<const std::byte>& bytes);
  Got take_sealed_payload(std::span<const std::byte>& bytes);
  Got begin_large(std::span<const std::byte>& bytes, std::size_t size);
  Got take_payload_of(std::span<const std::byte>& bytes, std::span<const std::byte> headers,
                      std::size_t at);
  Got checked();
  Got over(bool changed = false);

  std::size_t max_payload_bytes_;
  std::string_view far_type_;
  Mechanism mechanism_;
  Mechanism far_mechanism_;
  std::optional<CurveOpener> opener_;
  State state_ = State::kGreeting;
  std::span<const std::byte> command_;
  std::span<const std::byte> headers_;
  std::span<const std::byte> payloads_;
  std::vector<std::byte> kept_headers_;       // While a large payload comes, or that were sealed.
  std::vector<std::byte> small_;              // A payload that was sealed.
  std::array<std::byte, kSealBytes> seal_{};  // Of a large payload.
  Buffer large_;
  bool changed_ = false;
  std::size_t filled_ = 0;  // Of large_.
};

}  // namespace stretto::tcp
