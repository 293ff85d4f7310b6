// SPDX-License-Identifier: Apache-2.0
// The keys of a job whose links are encrypted. They are made of the secret that its processes have
// anyway, its token, so nothing has to be handed around: all of them know who may be at either end
// of a link. docs/decisions, 0125, tells what that protects from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stretto/status.h"

namespace stretto::tcp {

/// Of Curve25519, or a shared one that was made of two.
using CurveKey = std::array<std::uint8_t, 32>;

struct CurveKeyPair {
  CurveKey open;  ///< The one that others are to know.
  CurveKey secret;
};

/// The long-term keys of all ends that listen, and of all that connect.
struct CurveIdentity {
  CurveKeyPair listener;
  CurveKeyPair dialer;
};

/// The same for the same secret, which is of 16 bytes or longer and is random: who guesses it has
/// the keys. Resource if the system has no random numbers.
Result<CurveIdentity> curve_identity_from(std::string_view secret);

}  // namespace stretto::tcp
