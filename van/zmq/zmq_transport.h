// SPDX-License-Identifier: Apache-2.0
// The ZeroMQ transport: frames over TCP as ZMTP has them. For each link that we connect, a DEALER
// of libzmq; those who connect to us are served by code of our own. docs/TRANSPORTS.md tells how it
// keeps the contract of van/transport.h.
//
//   auto transport = make_zmq_transport({});
//   if (transport.ok()) (*transport)->listen("127.0.0.1:0");
#pragma once

#include <memory>

#include "van/transport.h"
#include "van/zmq/options.h"

namespace stretto {

/// Payloads move without a copy from 512 bytes on when sent, from 8 KiB on when received. Received
/// payloads are aligned to 8 bytes at least, and writable. Destroying the transport ends all leases
/// that it holds; received payloads may outlive it.
Result<std::unique_ptr<Transport>> make_zmq_transport(const ZmqOptions& options);

}  // namespace stretto
