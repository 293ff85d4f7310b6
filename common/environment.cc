// SPDX-License-Identifier: Apache-2.0
// The one place that reads the process's environment.
#include <cstdlib>

#include "common/config.h"

namespace stretto {

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

}  // namespace stretto
