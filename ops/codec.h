// SPDX-License-Identifier: Apache-2.0
// Codecs: a part's f32 elements to fewer bytes and back. Pure: the same numbers, spec and stream
// give the same bytes on every machine. How many bytes a part takes follows from the spec and the
// number of elements alone, so a receiver knows it before it looks. docs/WIRE.md has the layouts.
//
//   std::vector<std::byte> small(ops::encoded_bytes(spec, numbers.size()));
//   ops::encode(spec, numbers, {.stream = ops::stream_of(...)}, small);
//   if (Status status = ops::check_encoded(spec, n, small); !status.ok()) ...   // From the wire.
//   ops::decode(spec, small, sum, ops::Then::kAdd);
//
// NaN and Inf are not hidden: what is decoded for their part, block or element is not finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/sum.h"
#include "stretto/codec.h"

namespace stretto::ops {

/// Bytes that `count` elements are encoded as. The spec has passed check() and is lossy, as for all
/// of this file. Thread: any, as all of this file.
std::size_t encoded_bytes(const CodecSpec& spec, std::size_t count);

/// True if kTopk or kRandomk would make more bytes of so many elements than they have: then the
/// elements travel as they are, without loss, and of the same codec.
bool is_plain(const CodecSpec& spec, std::size_t count);

/// Elements of `count` that kTopk and kRandomk keep: at least 1, at most all.
std::size_t kept_of(const CodecSpec& spec, std::size_t count);

/// What an encoding depends on beside the numbers.
struct Encoding {
  /// Where kRandomk and kDithering take their chance from. Shares of one round should have the same
  /// one for kRandomk (then their sum has no more elements than each), and others for kDithering
  /// (then errors average out).
  std::uint64_t stream = 0;
  /// kRandomk: multiply what is kept, so that the mean over all streams is the truth. Not with
  /// error feedback, which wants that nothing is larger than it was.
  bool unbiased = false;
  Level level = best_level();
};

/// A stream for one encoding: the seed mixed with what tells it from others.
std::uint64_t stream_of(std::uint64_t seed, std::uint64_t tensor, std::uint64_t part,
                        std::uint64_t round, std::uint64_t rank);

/// Which part of which tensor is encoded, and in which round.
struct PartRound {
  std::uint64_t tensor = 0;  ///< The same in every run: name_hash().
  std::uint32_t part = 0;
  std::uint64_t round = 0;
};
std::uint64_t name_hash(std::string_view name);

inline constexpr std::uint64_t kServersTurn = ~std::uint64_t{0};
/// The stream of a worker's share, by its rank, or of the servers' value: with kRandomk all of a
/// round have the same.
std::uint64_t stream_for(const CodecSpec& spec, const PartRound& what, std::uint64_t who);

/// Encodes into `out`, of encoded_bytes(). At most 2^31 elements.
void encode(const CodecSpec& spec, std::span<const float> numbers, const Encoding& how,
            std::span<std::byte> out);

/// Why `encoded` cannot be `count` elements, or ok: kMalformed for a wrong length and for places
/// that are not ascending or lie outside. All else in it is numbers, and any bits are some.
Status check_encoded(const CodecSpec& spec, std::size_t count, std::span<const std::byte> encoded);

/// What becomes of decoded elements.
enum class Then : std::uint8_t { kAssign, kAdd, kSubtract };

/// target = decoded, target += decoded, or target -= decoded, in one pass. `encoded` has passed
/// check_encoded().
void decode(const CodecSpec& spec, std::span<const std::byte> encoded, std::span<float> target,
            Then then, Level level = best_level());

}  // namespace stretto::ops
