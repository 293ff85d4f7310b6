// SPDX-License-Identifier: Apache-2.0
// How a role gets a transport without knowing which kinds there are.
#pragma once

#include <memory>
#include <string>

#include "common/config.h"
#include "van/transport.h"

namespace stretto {

/// The transport for servers and workers, as `config.transport` says: TCP, and shared
/// memory towards endpoints of this host that offer it. Frames with a larger payload than a control
/// message or a part end their link: until somebody has been admitted, that is all the memory that
/// a connection can take.
Result<std::unique_ptr<Transport>> make_transport(const Config& config);
/// TCP alone, for a role that has only control to send, or for parts of `part_bytes`. With a
/// secret, links are encrypted by keys that are made of it; empty: they are not.
Result<std::unique_ptr<Transport>> make_transport(std::size_t part_bytes,
                                                  const std::string& secret = {});

}  // namespace stretto
