// SPDX-License-Identifier: Apache-2.0
// Converts the bytes of an extent to a sample, or returns the error in them. Pure.
#pragma once

#include "stretto/input.h"

namespace stretto::input {

/// Requirements on samples.
struct Rules {
  Format format = Format::kFiles;
  std::uint64_t record_bytes = 0;
  std::uint64_t max_bytes = 0;
  bool check_crc = true;
};

/// Fills in bytes, members and key of `sample`, whose lease, if any, keeps `bytes` alive. Errors:
/// kMalformed with the cause, without the file's name.
Status check(const Rules& rules, std::span<const std::byte> bytes, Sample& sample);

}  // namespace stretto::input
