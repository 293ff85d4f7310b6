// SPDX-License-Identifier: Apache-2.0
// The messages that two endpoints exchange over TCP before they use the fabric: 256 bytes each. The
// listener first sends a banner of 8 bytes, which identifies it to the connecting end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "stretto/status.h"

namespace stretto::fabric {

inline constexpr std::size_t kBannerBytes = 8;
inline constexpr std::size_t kIntroductionBytes = 256;
inline constexpr std::size_t kMaxNameBytes = 128;
inline constexpr std::size_t kMaxProviderBytes = 32;

using Banner = std::array<std::byte, kBannerBytes>;
using IntroductionBytes = std::array<std::byte, kIntroductionBytes>;

struct BootstrapMessage {
  std::string provider;            ///< libfabric's name for it.
  std::string name;                ///< The endpoint's name in the fabric, in the provider's format.
  std::uint32_t link = 0;          ///< How messages to the sender must name this link,
  std::uint64_t secret = 0;        ///< and prove that they belong to it.
  std::uint32_t queue_frames = 0;  ///< Frames that the sender can queue.
};

Banner banner();
/// Provider and name must be within their limits.
IntroductionBytes encode(const BootstrapMessage& introduction);
/// kMalformed if the bytes are no introduction, or one of another version.
Result<BootstrapMessage> decode(std::span<const std::byte, kIntroductionBytes> bytes);

}  // namespace stretto::fabric
