// SPDX-License-Identifier: Apache-2.0
// A build without liburing.
#include "input/io/backend.h"

namespace stretto::input {

Result<std::unique_ptr<Backend>> open_uring() {
  return Status(Code::kUnsupported,
                "this build has no io_uring; install liburing-dev and build again, or choose "
                "threads");
}

}  // namespace stretto::input
