// SPDX-License-Identifier: Apache-2.0
// What of a reader's options can be used, and what follows from them. Pure, but for one question to
// the system.
#pragma once

#include "stretto/input.h"

namespace stretto::input {

/// kInvalidArgument says which option cannot be used, and why.
Status validate(const Options& options);
/// The nearest that can be used; the read size in whole blocks.
Knobs bounded_knobs(const Knobs& knobs);
/// Whether to read past the page cache.
bool wants_direct(Direct direct, std::uint64_t data_bytes, std::uint64_t machine_bytes);
/// Memory of this machine.
std::uint64_t memory_of_machine();

}  // namespace stretto::input
