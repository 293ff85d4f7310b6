// SPDX-License-Identifier: Apache-2.0
// The names of all variables that Stretto has of its own. One that is misspelt says nothing and
// does nothing, so whoever starts a job is told.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

/// What some program or package of Stretto reads; docs/CONFIGURATION.md lists them.
std::span<const std::string_view> known_variables();

/// One that an earlier release read, and what to do instead.
struct RetiredVariable {
  const char* name;
  std::string_view instead;
};
/// Whoever sets one of them is told, and not left to believe that it holds.
std::span<const RetiredVariable> retired_variables();

/// A sentence for each of `names` that begins with STRETTO_ and is none of these, with the one that
/// was probably meant. Kubernetes describes its services in variables; those are left out.
std::vector<std::string> unread_variables(std::span<const std::string> names);

/// Warns of those of this process's environment in the log. Not where the launcher has started it,
/// which has looked itself.
void warn_of_unread_variables();

}  // namespace stretto
