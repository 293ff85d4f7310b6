// SPDX-License-Identifier: Apache-2.0
// What stretto-checkpoint does with a folder of checkpoints, but for exporting (export.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_store.h"

namespace stretto::checkpoint {

/// Takes a line that is for the user, without its end; it may hold text of files: whoever shows it
/// makes it printable.
using Say = std::function<void(std::string_view line)>;

/// The numbers of all checkpoints, complete or not, ascending. None at all is an error, which says
/// what folder was wanted.
Result<std::vector<std::uint64_t>> checkpoints_in(Disk& disk, Folder& folder);
/// If LATEST names one that is newer than all that are there.
void say_if_newest_is_lost(Folder& folder, const Say& say);

/// Says of each checkpoint whether it is complete, and what is in it. Of `json` one line, an
/// object.
Status inspect(Disk& disk, Folder& folder, bool json, const Say& say);

/// Reads every byte of each checkpoint that has a manifest, and says of each whether it is right.
/// The error is the first one's that is not, with file and place, or with what is attached;
/// kMalformed also if there is none to read.
Status verify(Disk& disk, Folder& folder, const Say& say);

/// Folder::prune(), and says what went and what stays, also after an error.
Status prune(Disk& disk, Folder& folder, std::size_t keep, const Say& say);

}  // namespace stretto::checkpoint
