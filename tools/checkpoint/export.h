// SPDX-License-Identifier: Apache-2.0
// Writing a checkpoint's tensors for other programs: as one file of safetensors, or as a folder of
// numpy's files. Part by part, each at its place: tensors may be larger than memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_store.h"
#include "tools/checkpoint/commands.h"
#include "tools/checkpoint/export_plan.h"

namespace stretto::checkpoint {

struct ExportOptions {
  std::string to;                            ///< Nothing is there; npy: or an empty folder.
  std::optional<std::uint64_t> number = {};  ///< Of the checkpoint; none: the newest complete one.
  ExportFormat format = ExportFormat::kSafetensors;
};

/// Exports, and says what was written and what was left out. Nothing is written over, and at an
/// error nothing is left, neither `to` nor what is beside it while it is written (`to`.new).
Status export_checkpoint(Disk& disk, Folder& folder, const ExportOptions& options, const Say& say);

}  // namespace stretto::checkpoint
