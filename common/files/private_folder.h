// SPDX-License-Identifier: Apache-2.0
// Folders and files that only their user may access. Secrets lie there, at paths that others can
// guess in folders that others may write to (/tmp). So opened files are checked after opening,
// links are not followed, and files of other users are rejected.
#pragma once

#include <string>
#include <vector>

#include "common/descriptor.h"
#include "stretto/status.h"

namespace stretto {

/// Opens the folder at `path`; creates it if `make` and it is missing. Errors: Resource, if it is
/// missing, is a link or no folder, belongs to another user, or others may enter it.
Result<Descriptor> open_private_folder(const std::string& path, bool make);

/// The names in it, at most `most`, without those that begin with a dot; sorted.
std::vector<std::string> names_in(const Descriptor& folder, std::size_t most);

/// The text of a file in it. Errors: Resource, if it is missing, a link or no regular file, belongs
/// to another user, is readable by others, or is longer than `most`.
Result<std::string> read_private_file(const Descriptor& folder, const std::string& name,
                                      std::size_t most);

/// Writes a file of mode 0600 in it atomically; replaces one of the same name.
Status write_private_file(const Descriptor& folder, const std::string& name,
                          const std::string& text);

/// True if `path` is a folder of this user in which no other user can put or move files.
bool is_own_folder(const std::string& path);

}  // namespace stretto
