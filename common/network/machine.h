// SPDX-License-Identifier: Apache-2.0
// Which machine a process runs on, as far as the network is concerned.
#pragma once

#include <cstdint>
#include <string_view>

namespace stretto {

/// The machine id, equal for all processes of one boot and network namespace: bytes between them
/// use no network link. Never 0; two machines have equal ids only by chance. Thread: any.
std::uint64_t this_machine();
/// The machine id of processes configured with this name (STRETTO_MACHINE), on any host. Never 0.
std::uint64_t machine_named(std::string_view name);

}  // namespace stretto
