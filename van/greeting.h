// SPDX-License-Identifier: Apache-2.0
// What any hello says, and what must hold of it at whoever is greeted.
#pragma once

#include <string>
#include <string_view>

#include "common/config.h"
#include "common/token.h"
#include "stretto/status.h"
#include "van/control.h"

namespace stretto {

/// What everybody says of themselves: protocol, token, role, host and release.
control::Hello introduction(Role role, const std::string& token);

/// Protocol and token; the refusal names both values (of a token, only that it differs).
Status check_greeting(const control::Hello& hello, const std::string& token);

}  // namespace stretto
