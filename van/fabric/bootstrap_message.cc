// SPDX-License-Identifier: Apache-2.0
// The layout of an introduction.
#include "van/fabric/bootstrap_message.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "common/check.h"
#include "van/fabric/message.h"

namespace stretto::fabric {
namespace {

constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kMostQueueFrames = 1 << 20;

struct Layout {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t link = 0;
  std::uint32_t queue_frames = 0;
  std::uint64_t secret = 0;
  std::uint32_t provider_bytes = 0;
  std::uint32_t name_bytes = 0;
  std::array<char, kMaxProviderBytes> provider{};
  std::array<char, kMaxNameBytes> name{};
  std::array<char, 64> reserved{};
};
static_assert(sizeof(Layout) == kIntroductionBytes && std::is_trivially_copyable_v<Layout>);

struct BannerLayout {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
};

template <std::size_t N>
std::string text(const std::array<char, N>& from, std::uint32_t bytes) {
  return {from.data(), bytes};
}

}  // namespace

Banner banner() { return std::bit_cast<Banner>(BannerLayout{}); }

IntroductionBytes encode(const BootstrapMessage& introduction) {
  STRETTO_CHECK(introduction.provider.size() <= kMaxProviderBytes);
  STRETTO_CHECK(introduction.name.size() <= kMaxNameBytes);
  Layout layout;
  layout.link = introduction.link;
  layout.queue_frames = introduction.queue_frames;
  layout.secret = introduction.secret;
  layout.provider_bytes = static_cast<std::uint32_t>(introduction.provider.size());
  layout.name_bytes = static_cast<std::uint32_t>(introduction.name.size());
  std::ranges::copy(introduction.provider, layout.provider.begin());
  std::ranges::copy(introduction.name, layout.name.begin());
  return std::bit_cast<IntroductionBytes>(layout);
}

Result<BootstrapMessage> decode(std::span<const std::byte, kIntroductionBytes> bytes) {
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  const bool ours = layout.magic == kMagic && layout.version == kVersion;
  const bool whole = layout.provider_bytes >= 1 && layout.provider_bytes <= kMaxProviderBytes &&
                     layout.name_bytes >= 1 && layout.name_bytes <= kMaxNameBytes;
  if (!ours || !whole || layout.link == 0 || layout.queue_frames == 0 ||
      layout.queue_frames > kMostQueueFrames) {
    return Status(Code::kMalformed, "what came is no introduction of this version");
  }
  return BootstrapMessage{.provider = text(layout.provider, layout.provider_bytes),
                          .name = text(layout.name, layout.name_bytes),
                          .link = layout.link,
                          .secret = layout.secret,
                          .queue_frames = layout.queue_frames};
}

}  // namespace stretto::fabric
