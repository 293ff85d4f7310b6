// SPDX-License-Identifier: Apache-2.0
// The names of all variables of Stretto. A misspelt variable has no effect, so Stretto warns of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

/// Variables that some program or package of Stretto reads; docs/CONFIGURATION.md lists them.
std::span<const std::string_view> known_variables();

/// A variable of an earlier release, and its replacement.
struct RetiredVariable {
  const char* name;
  std::string_view instead;
};
/// Stretto warns of each one that is set, since it has no effect.
std::span<const RetiredVariable> retired_variables();

/// A sentence for each of `names` that begins with STRETTO_ and is unknown, with the most similar
/// known name. Variables of Kubernetes for its services are left out.
std::vector<std::string> unread_variables(std::span<const std::string> names);

/// Logs a warning for such variables of this process. Not for processes of the launcher, which
/// warns of them.
void warn_of_unread_variables();

}  // namespace stretto
