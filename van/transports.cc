// SPDX-License-Identifier: Apache-2.0
// The choice of a transport.
#include "van/transports.h"

#include <algorithm>

#include "common/config.h"
#include "van/zmq/zmq_transport.h"

namespace stretto {

Result<std::unique_ptr<Transport>> make_transport(std::size_t part_bytes) {
  ZmqOptions options;
  options.max_payload_bytes = std::max(part_bytes, wire::kMaxControlBytes);
  options.max_links = 2 * std::size_t{kMaxNodes};
  return make_zmq_transport(options);
}

}  // namespace stretto
