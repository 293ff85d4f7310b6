// SPDX-License-Identifier: Apache-2.0
// Folders and files that are their user's alone. Secrets lie there, at paths that others can guess
// in folders that others may write to (/tmp): so nothing is taken by its name alone. What is opened
// is looked at afterwards, links are not followed, and what another user has put there is refused.
#pragma once

#include <string>
#include <vector>

#include "common/descriptor.h"
#include "stretto/status.h"

namespace stretto {

/// Opens the folder at `path`; if `make`, makes it where there is none. Errors: Resource, if there
/// is none, it is a link or no folder, it belongs to somebody else, or others may enter it.
Result<Descriptor> open_private_folder(const std::string& path, bool make);

/// The names in it, at most `most`, without those that begin with a dot; sorted.
std::vector<std::string> names_in(const Descriptor& folder, std::size_t most);

/// The text of a file in it. Errors: Resource, if there is none, or it is a link, no regular file,
/// somebody else's, readable by others or longer than `most`.
Result<std::string> read_private_file(const Descriptor& folder, const std::string& name,
                                      std::size_t most);

/// Writes a file of mode 0600 in it, whole or not at all; replaces one of the same name.
Status write_private_file(const Descriptor& folder, const std::string& name,
                          const std::string& text);

/// True if `path` is a folder of this user in which nobody else can put or move anything.
bool is_own_folder(const std::string& path);

}  // namespace stretto
