// SPDX-License-Identifier: Apache-2.0
// The choice of a transport.
#include "van/transports.h"

#include "van/zmq/zmq_transport.h"

namespace stretto {

Result<std::unique_ptr<Transport>> make_transport() {
  ZmqOptions options;
  options.max_payload_bytes = wire::kMaxPartBytes;
  return make_zmq_transport(options);
}

}  // namespace stretto
