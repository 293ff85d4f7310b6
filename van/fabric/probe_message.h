// SPDX-License-Identifier: Apache-2.0
// Messages over a line after the introductions: the question how many frames have arrived, and the
// answer. A word is 4 KiB long, so that it needs packets as large as those of the traffic. The
// peer's kernel acknowledges it, or the path loses such packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/status.h"

namespace stretto::fabric {

inline constexpr std::size_t kWordBytes = 4096;
inline constexpr std::size_t kWordHeadBytes = 16;  // The bytes in use.

struct ProbeMessage {
  bool asks = false;       ///< It asks for a word in return; the answer does not ask.
  std::uint64_t came = 0;  ///< Frames that the sender of the word has received over the fabric.

  friend bool operator==(const ProbeMessage&, const ProbeMessage&) = default;
};

std::array<std::byte, kWordBytes> encode(const ProbeMessage& word);
/// The word with this head; kMalformed if there is none.
Result<ProbeMessage> decode_word(std::span<const std::byte, kWordHeadBytes> bytes);

}  // namespace stretto::fabric
