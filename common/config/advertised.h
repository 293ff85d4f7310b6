// SPDX-License-Identifier: Apache-2.0
// The address by which others reach what listens here.
#pragma once

#include <string>

#include "common/config/config.h"

namespace stretto {

/// The host that others are told: the configured one, or if every address is bound the one towards
/// the scheduler; empty: the one that is bound. kNetwork if none can be found out.
Result<std::string> advertised_host(const Config& config);

}  // namespace stretto
