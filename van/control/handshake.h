// SPDX-License-Identifier: Apache-2.0
// The fields and checks that all hellos have in common.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/config/config.h"
#include "common/config/job_secret.h"
#include "common/token.h"
#include "stretto/status.h"
#include "van/control/control.h"

namespace stretto {

/// Largest control message that is decoded before its link is admitted: token, padding, and the
/// other fields of a hello.
inline constexpr std::size_t kMaxGreetingBytes = std::size_t{12} << 10;

/// Padding of the handshakes between members, in bytes: more than a packet carries. A path that
/// loses large packets completes no handshake, so no link over it is established or reconnected.
/// Links to the scheduler have none: they carry small messages.
inline constexpr std::size_t kPathProofBytes = 4096;
static_assert(kMostTokenBytes + kPathProofBytes + 2048 <= kMaxGreetingBytes);

/// The common fields of a hello: protocol, token, role, host and release.
control::Hello introduction(Role role, const std::string& token);

/// Checks protocol and token; the error names both values (for a token, only that they differ).
Status check_greeting(const control::Hello& hello, const std::string& token);

/// Whether a control frame's payload may be decoded before its link is admitted: a Hello or a
/// Resume of at most kMaxGreetingBytes, or, on a link that this side opened, a Welcome or a Fault.
/// Only the first bytes are read, so a rejection costs the same at any length. kMalformed: the link
/// ends. Thread: any.
Status check_unadmitted(std::span<const std::byte> payload, bool ours);

}  // namespace stretto
