// SPDX-License-Identifier: Apache-2.0
// Defaults of all backends.
#include "worker/operations/exchange_backend.h"

#include <fmt/core.h>

namespace stretto {

std::string ExchangeBackend::missing(const TensorState& tensor, const Operation& operation) const {
  return fmt::format("{} of {} parts are missing", operation.parts_left, tensor.parts.size());
}

}  // namespace stretto
