// SPDX-License-Identifier: Apache-2.0
// Addresses as the project writes them: host:port.
#pragma once

#include <string>
#include <string_view>

#include "common/config.h"
#include "stretto/status.h"

namespace stretto::tcp {

/// Where to listen for `address`, such as "127.0.0.1:0".
Result<HostPort> to_listen(std::string_view address);
/// What to connect to for `address`.
Result<HostPort> to_connect(std::string_view address);

}  // namespace stretto::tcp
