// SPDX-License-Identifier: Apache-2.0
// The secret of a job, its token: requirements if other hosts can reach the job, and further ones
// if its connections are encrypted.
#pragma once

#include <cstddef>
#include <string>

#include "common/config/config.h"
#include "stretto/status.h"

namespace stretto {

/// Checks the secret of a job that other hosts can reach: long enough that a random one cannot be
/// guessed.
Status check_secret(const std::string& token);

/// For any job: a receiver reads no longer hello before it knows the sender (docs/WIRE.md).
inline constexpr std::size_t kMostTokenBytes = 4096;
Status check_token_length(const std::string& token);

/// Errors if encryption is requested and some data to other hosts would be plain text.
Status check_encryption(const Config& config);

/// Whether a tool connects to schedulers by libzmq, by STRETTO_TRANSPORT.
bool zmq_told(const Environment& environment);

/// Whether a tool must encrypt, by STRETTO_ENCRYPT; an error if that is neither 0 nor 1.
Result<bool> encrypts_told(const Environment& environment);

}  // namespace stretto
