// SPDX-License-Identifier: Apache-2.0
// The keys by which processes of one job know one another at the ends of a connection. All of them
// have the job's token, and the keys are derived from it, so no key has to be distributed.
// docs/decisions, 0125 and 0149, tell what the keys protect from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/status.h"

namespace stretto::zmq {

/// Of Curve25519, as libzmq takes it.
using Key = std::array<std::uint8_t, 32>;

struct KeyPair {
  Key open;  ///< The public key.
  Key secret;
};

struct JobKeys {
  KeyPair listener;   ///< Of all ends that listen.
  KeyPair dialer;     ///< Of all ends that connect.
  std::string plain;  ///< The password of links that are not encrypted.
};

/// The same keys for the same token. Resource if the system has no random numbers.
Result<JobKeys> job_keys_from(std::string_view token);

}  // namespace stretto::zmq
