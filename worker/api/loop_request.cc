// SPDX-License-Identifier: Apache-2.0
// Runs a request on the loop.
#include "worker/api/loop_request.h"

#include "worker/node.h"

namespace stretto {

void LoopRequest::operator()(WorkerNode& node) const {
  if (start_ != nullptr) {
    node.work().start(start_);
  } else {
    do_(node);
  }
}

}  // namespace stretto
