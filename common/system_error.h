// SPDX-License-Identifier: Apache-2.0
// Turns the errno of a failed system call into a Status.
#pragma once

#include <string_view>

#include "stretto/status.h"

namespace stretto {

/// "wanted: text of the error", with a remedy if one is known. kResource if the system has run out
/// of something, else kNetwork.
Status failure(std::string_view wanted, int error);

}  // namespace stretto
