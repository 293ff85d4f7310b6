// SPDX-License-Identifier: Apache-2.0
// Which backend.
#include "input/io/backend.h"

namespace stretto::input {

Result<std::unique_ptr<Backend>> open_backend(Method method) {
  if (method == Method::kThreads) return open_threads();
  Result<std::unique_ptr<Backend>> uring = open_uring();
  if (!uring.ok() && method == Method::kAuto) return open_threads();
  return uring;
}

}  // namespace stretto::input
