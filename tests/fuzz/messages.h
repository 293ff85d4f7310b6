// SPDX-License-Identifier: Apache-2.0
// Control messages made from a fuzzer's input: well-formed bytes, with any values in fields.
#pragma once

#include <string>

#include "tests/fuzz/input.h"
#include "van/control/control.pb.h"
#include "van/control/control_codec.h"
#include "van/wire/header.h"

namespace stretto::fuzz {

inline constexpr std::uint32_t kPartBytes = 64;

/// The encoded message, valid or not.
Buffer bytes_of(const wire::Control& message);
/// One of our messages in its Protobuf form, whose fields a target then changes.
wire::Control to_bend(const control::Message& message);

/// A message of any type, or with no body at all.
wire::Control control_from(Input& input);
/// Mostly a valid declaration, with one of a few names, so that declarations collide.
wire::TensorSpec spec_from(Input& input);
/// Valid settings for a job in virtual time.
JobSettings job_settings();

}  // namespace stretto::fuzz
