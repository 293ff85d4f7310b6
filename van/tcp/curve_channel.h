// SPDX-License-Identifier: Apache-2.0
// What follows the handshake of CURVE, in one direction each: every part of a message is a box,
// which nobody else can read, change, leave out, send again or put elsewhere. A box is
// crypto_box's (XSalsa20, Poly1305), byte by byte; it is made and opened without a copy.
// https://rfc.zeromq.org/spec/26/ is the source.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "van/tcp/curve_keys.h"

namespace stretto::tcp {

/// What a sealed part has besides its bytes, before them: "\x07MESSAGE", the nonce, the
/// authenticator, and its flags, which are sealed too.
inline constexpr std::size_t kSealBytes = 8 + 8 + 16 + 1;

/// Flags of a part.
inline constexpr std::uint8_t kSealedMore = 1;

/// Who sends: an end's nonces are never the other end's, so both may have one key.
enum class CurveSide : std::uint8_t { kDialer, kListener };

/// Seals what leaves. Thread: loop.
class CurveSealer {
 public:
  /// `shared` is crypto_box_beforenm's; the next nonce is `nonce`.
  CurveSealer(const CurveKey& shared, CurveSide sender, std::uint64_t nonce);
  ~CurveSealer();
  CurveSealer(const CurveSealer&) = default;
  CurveSealer& operator=(const CurveSealer&) = default;

  /// Writes the sealed `part`, which is kSealBytes longer than it; they do not overlap.
  void seal(std::uint8_t flags, std::span<const std::byte> part, std::span<std::byte> sealed);

 private:
  CurveKey stream_;
  std::uint64_t nonce_;
};

/// Opens what comes. Thread: loop.
class CurveOpener {
 public:
  /// `last` is the last nonce that has come.
  CurveOpener(const CurveKey& shared, CurveSide sender, std::uint64_t last);
  ~CurveOpener();
  CurveOpener(const CurveOpener&) = default;
  CurveOpener& operator=(const CurveOpener&) = default;

  /// Opens a part of which `start` is what comes before its bytes, and `part` is these: to `into`,
  /// which may be the same memory. Its flags; none if it is not the far end's, was changed, or is
  /// not behind the last one. Then what is in `into` must not be used.
  std::optional<std::uint8_t> open(std::span<const std::byte, kSealBytes> start,
                                   std::span<const std::byte> part, std::span<std::byte> into);

 private:
  CurveKey stream_;
  std::uint64_t last_;
};

}  // namespace stretto::tcp
