// SPDX-License-Identifier: Apache-2.0
// The ZeroMQ transport: frames as messages of libzmq. docs/TRANSPORTS.md explains how it keeps the
// contract of van/transport/transport.h.
//
//   auto transport = make_zmq_transport({});
//   if (transport.ok()) (*transport)->listen("127.0.0.1:0");
#pragma once

#include <memory>
#include <string_view>

#include "van/transport/transport.h"
#include "van/zmq/options.h"

namespace stretto {

/// Payloads move without a copy from 4 KiB on when sent, from 8 KiB on when received. Received
/// payloads are writable. Destroying the transport ends all of its leases; received payloads may
/// outlive it. kUnsupported if this build has no libzmq, or libzmq lacks CURVE.
Result<std::unique_ptr<Transport>> make_zmq_transport(const ZmqOptions& options);
/// False in a build without libzmq.
bool has_zmq();

}  // namespace stretto
