// SPDX-License-Identifier: Apache-2.0
// What must hold of any hello, at the scheduler and at a shard alike. Pure.
#pragma once

#include <string>
#include <string_view>

#include "stretto/status.h"
#include "van/control.pb.h"

namespace stretto {

/// Compares without telling by its time where two tokens differ.
bool same_token(std::string_view a, std::string_view b);

/// Protocol and token; the refusal names both values (of a token, only that it differs).
Status check_greeting(const wire::Hello& hello, const std::string& token);

}  // namespace stretto
