// SPDX-License-Identifier: Apache-2.0
// The libfabric transport: frames over RDMA hardware, or over TCP through libfabric where there is
// none. One reliable datagram endpoint for all links; the receiver fetches large payloads from the
// sender's memory. docs/TRANSPORTS.md explains how it keeps the contract of
// van/transport/transport.h.
//
//   auto transport = make_fabric_transport({.provider = "tcp;ofi_rxm"});
//   if (transport.ok()) (*transport)->listen("127.0.0.1:0");
#pragma once

#include <memory>

#include "van/fabric/options.h"
#include "van/transport/transport.h"

namespace stretto {

/// Payloads of more than 3,904 bytes move without a copy of ours. All received payloads are
/// writable, unless the sink chose their place, and aligned to 64 bytes; they may outlive the
/// transport. A place from the sink must stay valid until the frame or the link's end is reported;
/// after close(), until the transport has ended. kUnsupported: this build has no libfabric, or
/// libfabric has no such provider here.
Result<std::unique_ptr<Transport>> make_fabric_transport(const FabricOptions& options);

}  // namespace stretto
