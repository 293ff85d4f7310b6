// SPDX-License-Identifier: Apache-2.0
// The secret of a job, its token: what it must be where other hosts can reach the job, and what is
// wanted besides where its links are encrypted.
#pragma once

#include <cstddef>
#include <string>

#include "common/config/config.h"
#include "stretto/status.h"

namespace stretto {

/// What guards a job where other hosts can reach it: a secret too long to be guessed, if it is a
/// random one.
Status check_secret(const std::string& token);

/// Of any job: a receiver reads no longer hello before it knows the sender (docs/WIRE.md).
inline constexpr std::size_t kMostTokenBytes = 4096;
Status check_token_length(const std::string& token);

/// Nothing that a process says to other hosts is plain where it was told to encrypt.
Status check_encryption(const Config& config);

/// Whether a tool reaches schedulers by libzmq, by STRETTO_TRANSPORT.
bool zmq_told(const Environment& environment);

/// Whether a tool is to encrypt, by STRETTO_ENCRYPT; an error if that is neither 0 nor 1.
Result<bool> encrypts_told(const Environment& environment);

}  // namespace stretto
