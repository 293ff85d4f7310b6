// SPDX-License-Identifier: Apache-2.0
// Control messages made from a fuzzer's input: well-formed bytes, with fields that may say
// anything.
#pragma once

#include <string>

#include "tests/fuzz/input.h"
#include "van/control/control.pb.h"
#include "van/control/control_codec.h"
#include "van/wire/header.h"

namespace stretto::fuzz {

inline constexpr std::uint32_t kPartBytes = 64;

/// A message's bytes, whatever is wrong with it.
Buffer bytes_of(const wire::Control& message);
/// A message of ours as Protobuf has it, to be bent.
wire::Control to_bend(const control::Message& message);

/// A message of any type, or with no body at all.
wire::Control control_from(Input& input);
/// Mostly a tensor that can be declared; its name is one of few, so that they meet.
wire::TensorSpec spec_from(Input& input);
/// Settings that make sense, for a job in virtual time.
JobSettings job_settings();

}  // namespace stretto::fuzz
