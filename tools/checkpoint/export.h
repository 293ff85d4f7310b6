// SPDX-License-Identifier: Apache-2.0
// Exports a checkpoint's tensors for other programs: as one safetensors file, or as a folder of
// numpy files. Writes each part at its offset: tensors may be larger than memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_store.h"
#include "tools/checkpoint/commands.h"
#include "tools/checkpoint/export_plan.h"

namespace stretto::checkpoint {

struct ExportOptions {
  std::string to;                            ///< Must not exist; npy: may be an empty folder.
  std::optional<std::uint64_t> number = {};  ///< Of the checkpoint; none: the newest complete one.
  ExportFormat format = ExportFormat::kSafetensors;
};

/// Exports, and reports what was written and skipped. Existing files are never overwritten. After
/// an error neither `to` nor its temporary file (`to`.new) remains.
Status export_checkpoint(Disk& disk, Folder& folder, const ExportOptions& options, const Say& say);

}  // namespace stretto::checkpoint
