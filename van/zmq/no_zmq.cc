// SPDX-License-Identifier: Apache-2.0
// Replaces the transport in builds without libzmq.
#include "van/zmq/zmq_transport.h"

namespace stretto {

Result<std::unique_ptr<Transport>> make_zmq_transport(const ZmqOptions&) {
  return Status(Code::kUnsupported,
                "this build of Stretto has no libzmq, so it has neither the zmq transport nor "
                "encryption; build it with -DSTRETTO_ZMQ=ON, or take STRETTO_TRANSPORT=tcp");
}

bool has_zmq() { return false; }

}  // namespace stretto
