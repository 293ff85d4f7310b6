// SPDX-License-Identifier: Apache-2.0
// The release, as --version and greetings say it.
#pragma once

namespace stretto {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace stretto
