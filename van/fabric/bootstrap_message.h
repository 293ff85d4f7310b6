// SPDX-License-Identifier: Apache-2.0
// What two endpoints tell each other over TCP before they talk over the fabric: 256 bytes from each
// side. Who listens says a banner of 8 bytes first, so that who connects knows whom it has reached.
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
  std::string provider;            ///< As libfabric names it.
  std::string name;                ///< The endpoint's name in the fabric: bytes of the provider's.
  std::uint32_t link = 0;          ///< How messages to the speaker must name this link,
  std::uint64_t secret = 0;        ///< and prove that they belong to it.
  std::uint32_t queue_frames = 0;  ///< Frames that the speaker has room for.
};

Banner banner();
/// Provider and name must be within their limits.
IntroductionBytes encode(const BootstrapMessage& introduction);
/// kMalformed if it is none, or of another version.
Result<BootstrapMessage> decode(std::span<const std::byte, kIntroductionBytes> bytes);

}  // namespace stretto::fabric
