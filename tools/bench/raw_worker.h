// SPDX-License-Identifier: Apache-2.0
// The two sides of a raw exchange, whatever it goes over.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "stretto/status.h"
#include "tools/bench/raw_exchange.h"

namespace stretto::bench {

class RawWorker {
 public:
  virtual ~RawWorker() = default;
  /// To the servers' endpoints.
  virtual bool connect(std::span<const std::uint32_t> ports) = 0;
  /// Fills the links, each with its share of the messages, starting where other ranks do not.
  virtual bool fill() = 0;
  /// Goes on for some time; the messages that were answered meanwhile.
  virtual Result<std::uint64_t> exchange(double seconds) = 0;
};

/// A server's endpoint over libfabric: reports its port, and then answers until it is killed. What
/// came goes back, or in its stead as many bytes as the answer has.
int echo_over_fabric(const RawShape& shape, int report_descriptor);
/// Null if there is no libfabric. `shape` must outlive it.
std::unique_ptr<RawWorker> make_fabric_worker(const RawShape& shape, std::uint32_t rank);

}  // namespace stretto::bench
