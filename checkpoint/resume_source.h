// SPDX-License-Identifier: Apache-2.0
// ResumeSource: where the checkpoint is from which a job resumes: in the folder to which it saves,
// or in another one, which is only read.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/checkpoint_store.h"
#include "common/config/config.h"

namespace stretto::checkpoint {

struct ResumeSource {
  std::string folder;        ///< Empty: none, and the job starts without one.
  std::uint64_t number = 0;  ///< Of the named checkpoint; 0: the newest complete one.
  bool is_saved_to = false;  ///< It is the folder to which the job saves.
  bool is_named = false;     ///< By STRETTO_RESUME: without a checkpoint the job must fail.
};

/// From any member's settings: a path that ends in "ckpt-" and a number is one checkpoint; other
/// paths are folders of them. Two paths may lead to one folder.
ResumeSource source_of(const CheckpointSettings& settings);

/// Finds the checkpoint, and reads and checks every byte of it. If the folder was named, a missing
/// checkpoint is an error, which states the request, the available ones and the remedy.
Result<Folder::Found> find(Folder& folder, Disk& disk, const ResumeSource& source);

}  // namespace stretto::checkpoint
