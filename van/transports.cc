// SPDX-License-Identifier: Apache-2.0
// The choice of a transport.
#include "van/transports.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/log.h"
#include "van/composite.h"
#include "van/shm/shm_transport.h"
#include "van/zmq/zmq_transport.h"

namespace stretto {
namespace {

constexpr std::size_t kMaxLinks = 2 * std::size_t{kMaxNodes};

std::size_t max_payload(std::size_t part_bytes) {
  return std::max(part_bytes, wire::kMaxControlBytes);
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(std::size_t part_bytes) {
  ZmqOptions options;
  options.max_payload_bytes = max_payload(part_bytes);
  options.max_links = kMaxLinks;
  return make_zmq_transport(options);
}

Result<std::unique_ptr<Transport>> make_transport(const Config& config) {
  Result<std::unique_ptr<Transport>> everywhere = make_transport(config.job.part_bytes);
  if (!everywhere.ok() || config.transport == TransportChoice::kZmq) return everywhere;
  ShmOptions options;
  options.max_payload_bytes = max_payload(config.job.part_bytes);
  options.max_links = kMaxLinks;
  Result<Way> way = shm_way(options);
  if (!way.ok()) {
    if (config.transport == TransportChoice::kShm) return way.status();
    log(Level::kDebug, "no shared memory here: {}", way.status().cause());
    return everywhere;
  }
  std::vector<Way> ways;
  ways.push_back(*std::move(way));
  CompositeOptions choice;
  if (config.transport == TransportChoice::kShm) {
    choice = {.required_way = ways.front().name, .exempt_address = config.scheduler};
  }
  return make_composite_transport(*std::move(everywhere), std::move(ways), std::move(choice));
}

}  // namespace stretto
