// SPDX-License-Identifier: Apache-2.0
// From the bytes of an extent to a sample, or to why they are none. Pure.
#pragma once

#include "stretto/input.h"

namespace stretto::input {

/// What samples must be like.
struct Rules {
  Format format = Format::kFiles;
  std::uint64_t record_bytes = 0;
  std::uint64_t max_bytes = 0;
  bool check_crc = true;
};

/// Fills in bytes, members and key of `sample`, whose lease, if it has one, keeps `bytes`.
/// kMalformed says what is wrong, without the file's name.
Status check(const Rules& rules, std::span<const std::byte> bytes, Sample& sample);

}  // namespace stretto::input
