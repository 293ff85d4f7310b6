// SPDX-License-Identifier: Apache-2.0
// The keys by which processes of one job authenticate each other. All keys are derived from the
// job's token, which every process has, so no key must be distributed. docs/decisions, 0125 and
// 0149, describe what the keys protect against.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto::zmq {

/// A Curve25519 key in libzmq's format.
using Key = std::array<std::uint8_t, 32>;

struct KeyPair {
  Key open;  ///< The public key.
  Key secret;
};

struct JobKeys {
  KeyPair listener;   ///< For all listening ends.
  KeyPair dialer;     ///< For all connecting ends.
  std::string plain;  ///< The password of unencrypted links.
};

/// The same keys for the same token. kResource if the system has no random numbers.
Result<JobKeys> job_keys_from(std::string_view token);

}  // namespace stretto::zmq
