// SPDX-License-Identifier: Apache-2.0
// What can be chosen about the libfabric transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/types.h"
#include "van/wire/header.h"

namespace stretto {

/// What a transport has done so far, for tests and measurements.
struct FabricCounts {
  std::uint64_t copied_bytes = 0;  ///< Payload copied by us: small ones, once at each end.
  std::uint64_t read_bytes = 0;    ///< Payload fetched from the sender's memory to where it stays.
  std::uint64_t strangers = 0;     ///< Messages and connections that belong to no link.
};

struct FabricOptions {
  /// libfabric's name of a provider of reliable datagram endpoints: "tcp;ofi_rxm", "net", "shm",
  /// "verbs;ofi_rxm", "efa". Empty: RDMA hardware if there is some, else "tcp;ofi_rxm". All
  /// endpoints that meet must use the same one.
  std::string provider = {};
  /// Frames that announce more end their link before memory is taken for them.
  std::size_t max_payload_bytes = wire::kMaxPayloadBytes;
  /// Frames that one link may hold in each direction before try_send answers kFull.
  std::size_t queue_frames = 128;
  /// Links, accepted and connected. More are refused.
  std::size_t max_links = 1024;
  /// TCP connections that have not introduced themselves yet. The oldest are hung up on for new
  /// ones.
  std::size_t max_silent = 128;
  /// Within which a link must be made, and within which who connects must say who it is. Time in
  /// which the transport was not polled does not count.
  Duration connect_timeout = 5s;
  Duration handshake_timeout = 5s;
  /// Filled in by the loop's thread if given; must outlive the transport.
  FabricCounts* counts = nullptr;
};

}  // namespace stretto
