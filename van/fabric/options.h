// SPDX-License-Identifier: Apache-2.0
// The options of the libfabric transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/types.h"
#include "van/wire/header.h"

namespace stretto {

/// Statistics of a transport, for tests and measurements.
struct FabricCounts {
  std::uint64_t copied_bytes = 0;  ///< Payload copied by us: small ones, once at each end.
  std::uint64_t read_bytes = 0;    ///< Payload fetched from the sender's memory to its final place.
  std::uint64_t strangers = 0;     ///< Messages and connections that belong to no link.
};

struct FabricOptions {
  /// libfabric's name of a provider of reliable datagram endpoints: "tcp;ofi_rxm", "net", "shm",
  /// "verbs;ofi_rxm", "efa". Empty: RDMA hardware if available, else "tcp;ofi_rxm". All endpoints
  /// that connect must use the same provider.
  std::string provider = {};
  /// A frame that announces more ends its link before memory is allocated.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Frames that one link may hold in each direction before try_send returns kFull.
  std::size_t queue_frames = 128;
  /// Accepted and connected links. More are refused.
  std::size_t max_links = 1024;
  /// TCP connections that have not introduced themselves yet. New ones replace the oldest.
  std::size_t max_silent = 128;
  /// The limits for a link to be established, and for a connecting peer to introduce itself. Time
  /// in which the transport was not polled does not count.
  Duration connect_timeout = 5s;
  Duration handshake_timeout = 5s;
  /// Filled in by the loop's thread if given; must outlive the transport.
  FabricCounts* counts = nullptr;
};

}  // namespace stretto
