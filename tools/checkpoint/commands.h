// SPDX-License-Identifier: Apache-2.0
// Commands of stretto-checkpoint on a folder of checkpoints, except the export (export.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_store.h"

namespace stretto::checkpoint {

/// Receives a line for the user, without its end. It may contain text from files: the receiver must
/// make it printable.
using Say = std::function<void(std::string_view line)>;

/// The numbers of all checkpoints, complete or not, ascending. An empty list is an error that names
/// the expected folder.
Result<std::vector<std::uint64_t>> checkpoints_in(Disk& disk, Folder& folder);
/// Warns if LATEST names a checkpoint that is newer than all existing ones.
void say_if_newest_is_lost(Folder& folder, const Say& say);

/// Describes each checkpoint and its content. With `json` the output is one line with an object.
Status inspect(Disk& disk, Folder& folder, bool json, const Say& say);

/// Reads every byte of each checkpoint that has a manifest, and reports whether it is valid.
/// Returns the first error, with file and position or with the attachment; kMalformed also if there
/// is no checkpoint to read.
Status verify(Disk& disk, Folder& folder, const Say& say);

/// Calls Folder::prune(), and reports removed and remaining checkpoints, also after an error.
Status prune(Disk& disk, Folder& folder, std::size_t keep, const Say& say);

}  // namespace stretto::checkpoint
