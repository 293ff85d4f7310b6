// SPDX-License-Identifier: Apache-2.0
// Codecs: encode a part's f32 elements as fewer bytes, and decode them. Pure: the same numbers,
// spec and stream give the same bytes on every machine. A part's size depends only on the spec and
// the number of elements, so a receiver knows it in advance. docs/WIRE.md has the layouts.
//
//   std::vector<std::byte> small(ops::encoded_bytes(spec, numbers.size()));
//   ops::encode(spec, numbers, {.stream = ops::stream_of(...)}, small);
//   if (Status status = ops::check_encoded(spec, n, small); !status.ok()) ...   // From the wire.
//   ops::decode(spec, small, sum, ops::Then::kAdd);
//
// NaN and Inf are not hidden: the decoded part, block or element is not finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/sum.h"
#include "stretto/codec.h"

namespace stretto::ops {

/// Encoded size of `count` elements. Throughout this file the spec is lossy and has passed check().
/// Thread: any, as for the whole file.
std::size_t encoded_bytes(const CodecSpec& spec, std::size_t count);

/// True if kTopk or kRandomk would need more bytes than `count` unencoded elements: then these are
/// sent losslessly under the same codec.
bool is_plain(const CodecSpec& spec, std::size_t count);

/// Number of elements of `count` that kTopk and kRandomk keep: at least 1.
std::size_t kept_of(const CodecSpec& spec, std::size_t count);

/// Parameters of an encoding apart from the numbers.
struct Encoding {
  /// Random stream of kRandomk and kDithering. Contributions to one round should share it for
  /// kRandomk (then their sum has as many elements as each), and differ for kDithering (then
  /// errors average out).
  std::uint64_t stream = 0;
  /// kRandomk: scale kept elements, so that the mean over all streams is exact. Not with error
  /// feedback, which requires that no element grows.
  bool unbiased = false;
  Level level = best_level();
};

/// A stream for one encoding: the seed mixed with its identity.
std::uint64_t stream_of(std::uint64_t seed, std::uint64_t tensor, std::uint64_t part,
                        std::uint64_t round, std::uint64_t rank);

/// The part, tensor and round that are encoded.
struct PartRound {
  std::uint64_t tensor = 0;  ///< The same in every run: name_hash().
  std::uint32_t part = 0;
  std::uint64_t round = 0;
};
std::uint64_t name_hash(std::string_view name);

inline constexpr std::uint64_t kServersTurn = ~std::uint64_t{0};
/// The stream of a worker's contribution, by its rank, or of the servers' value: with kRandomk all
/// of a round share one.
std::uint64_t stream_for(const CodecSpec& spec, const PartRound& what, std::uint64_t who);

/// Encodes into `out`, of encoded_bytes(). At most 2^31 elements.
void encode(const CodecSpec& spec, std::span<const float> numbers, const Encoding& how,
            std::span<std::byte> out);

/// Ok if `encoded` can be `count` elements; kMalformed for a wrong length and for indices that are
/// not ascending or out of range. All other bytes are numbers of any value.
Status check_encoded(const CodecSpec& spec, std::size_t count, std::span<const std::byte> encoded);

/// How decoded elements are applied.
enum class Then : std::uint8_t { kAssign, kAdd, kSubtract };

/// target = decoded, target += decoded, or target -= decoded, in one pass. `encoded` has passed
/// check_encoded().
void decode(const CodecSpec& spec, std::span<const std::byte> encoded, std::span<float> target,
            Then then, Level level = best_level());

}  // namespace stretto::ops
