// SPDX-License-Identifier: Apache-2.0
// What the operating system refused, in words.
#pragma once

#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// "wanted: what the system said", and what to do about it where that is known. Resource if
/// something has run out, else Network.
Status failure(std::string_view wanted, int error);

}  // namespace stretto
