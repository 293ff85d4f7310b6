// SPDX-License-Identifier: Apache-2.0
// Which machine a process runs on, as far as the network is concerned.
#pragma once

#include <cstdint>
#include <string_view>

namespace stretto {

/// The same for all processes of one machine that share its network (one boot, one network
/// namespace): bytes between them need not pass a network, nor share a link to one. Never 0; two
/// machines have the same only by chance. Thread: any.
std::uint64_t this_machine();
/// That of all processes that were told this name (STRETTO_MACHINE), wherever they run. Never 0.
std::uint64_t machine_named(std::string_view name);

}  // namespace stretto
