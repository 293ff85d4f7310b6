// SPDX-License-Identifier: Apache-2.0
// The TCP transport: frames over its own sockets, on the loop's thread. docs/TRANSPORTS.md explains
// how it keeps the contract of van/transport/transport.h.
//
//   auto transport = make_tcp_transport({});
//   if (transport.ok()) (*transport)->listen("127.0.0.1:0");
#pragma once

#include <memory>

#include "van/tcp/options.h"
#include "van/transport/transport.h"

namespace stretto {

/// Payloads move without a copy from 4 KiB on when sent, from 8 KiB on when received. Received
/// payloads are writable. Destroying the transport ends all leases
/// that it holds; received payloads may outlive it.
Result<std::unique_ptr<Transport>> make_tcp_transport(const TcpOptions& options);

}  // namespace stretto
