// SPDX-License-Identifier: Apache-2.0
// Replaces the transport in builds without libfabric.
#include "van/fabric/fabric_transport.h"

namespace stretto {

Result<std::unique_ptr<Transport>> make_fabric_transport(const FabricOptions&) {
  return Status(Code::kUnsupported,
                "this build has no libfabric transport; install libfabric-dev and build again, or "
                "use another transport");
}

}  // namespace stretto
