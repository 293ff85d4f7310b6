// SPDX-License-Identifier: Apache-2.0
// Validates a reader's options and derives values from them. Pure, except memory_of_machine().
#pragma once

#include "stretto/input.h"

namespace stretto::input {

/// Errors: kInvalidArgument, with the invalid option and the reason.
Status validate(const Options& options);
/// The nearest valid knobs; the read size is in whole blocks.
Knobs bounded_knobs(const Knobs& knobs);
/// Whether to bypass the page cache.
bool wants_direct(Direct direct, std::uint64_t data_bytes, std::uint64_t machine_bytes);
/// Memory of this machine, in bytes.
std::uint64_t memory_of_machine();

}  // namespace stretto::input
