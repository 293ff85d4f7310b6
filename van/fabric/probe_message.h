// SPDX-License-Identifier: Apache-2.0
// What two ends say over a line once they know each other: "how many of my frames have come?", and
// the answer. A word is 4 KiB long, so that it needs packets as large as those of the traffic that
// it is about: the far end's kernel acknowledges it, or the path loses such packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/status.h"

namespace stretto::fabric {

inline constexpr std::size_t kWordBytes = 4096;
inline constexpr std::size_t kWordHeadBytes = 16;  // That say something.

struct ProbeMessage {
  bool asks = false;       ///< It wants a word back, which does not ask.
  std::uint64_t came = 0;  ///< Frames that have come to the speaker over the fabric.

  friend bool operator==(const ProbeMessage&, const ProbeMessage&) = default;
};

std::array<std::byte, kWordBytes> encode(const ProbeMessage& word);
/// The word that begins so; kMalformed if none does.
Result<ProbeMessage> decode_word(std::span<const std::byte, kWordHeadBytes> bytes);

}  // namespace stretto::fabric
