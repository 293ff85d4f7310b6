// SPDX-License-Identifier: Apache-2.0
// The layout of a word: sixteen bytes, then zeros.
#include "van/fabric/probe_message.h"

#include <cstring>
#include <type_traits>

#include "van/fabric/message.h"

namespace stretto::fabric {
namespace {

struct WordLayout {
  std::uint32_t magic = kMagic;
  std::uint32_t asks = 0;
  std::uint64_t came = 0;
};
static_assert(sizeof(WordLayout) == kWordHeadBytes && std::is_trivially_copyable_v<WordLayout>);

}  // namespace

std::array<std::byte, kWordBytes> encode(const ProbeMessage& word) {
  WordLayout layout;
  layout.asks = word.asks ? 1 : 0;
  layout.came = word.came;
  std::array<std::byte, kWordBytes> bytes{};
  std::memcpy(bytes.data(), &layout, sizeof layout);
  return bytes;
}

Result<ProbeMessage> decode_word(std::span<const std::byte, kWordHeadBytes> bytes) {
  WordLayout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.magic != kMagic || layout.asks > 1) {
    return Status(Code::kMalformed, "the far end said what is no word of ours");
  }
  return ProbeMessage{.asks = layout.asks == 1, .came = layout.came};
}

}  // namespace stretto::fabric
