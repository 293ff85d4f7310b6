// SPDX-License-Identifier: Apache-2.0
// What a process that moves parts all the time asks of malloc.
#pragma once

#include <cstdint>

namespace stretto {

/// Parts come and go at a steady rate. malloc keeps their memory (up to 64 MiB that is free at the
/// moment) instead of returning it to the system, which would map it anew, page by page, for each.
/// Holds for the whole process. Thread: any.
void keep_freed_memory();

/// Memory of this process that is resident; 0 if the system does not tell.
std::uint64_t resident_bytes();

}  // namespace stretto
