// SPDX-License-Identifier: Apache-2.0
// The one place that reads the process's environment.
#include <unistd.h>

#include <cstdlib>

#include "common/config/config.h"
#include "common/config/variables.h"
#include "common/log.h"

namespace stretto {

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

void warn_of_unread_variables() {
  if (std::getenv("STRETTO_ROLE") != nullptr) return;
  std::vector<std::string> names;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& sentence : unread_variables(names)) log(Level::kWarning, "{}", sentence);
}

}  // namespace stretto
