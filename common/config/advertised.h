// SPDX-License-Identifier: Apache-2.0
// The address by which peers reach the listeners of this process.
#pragma once

#include <string>

#include "common/config/config.h"

namespace stretto {

/// The host to advertise: the configured host; empty for a specific bind address; for a wildcard,
/// the source address towards the scheduler. Errors: kNetwork if no address is found.
Result<std::string> advertised_host(const Config& config);

}  // namespace stretto
