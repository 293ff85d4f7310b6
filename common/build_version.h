// SPDX-License-Identifier: Apache-2.0
// The version of this build with its commit, as --version prints it and hosts compare it.
#pragma once

#include <string>
#include <string_view>

namespace stretto {

/// Such as "0.1.0 (9a89f44b1c2d)". The commit comes from ../share/stretto/commit beside the folder
/// of the running program, so that a commit does not relink programs. Without that file: "0.1.0".
std::string build_version();

/// `version`, with the commit if the text holds one. Pure.
std::string version_text(std::string_view version, std::string_view commit);

/// True if both texts name the same version and the same commit. A text without a commit equals any
/// commit of its version.
bool is_same_build(std::string_view one, std::string_view two);

}  // namespace stretto
