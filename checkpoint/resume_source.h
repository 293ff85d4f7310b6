// SPDX-License-Identifier: Apache-2.0
// ResumeSource: where the checkpoint lies that a job goes on from: in the folder to which it saves,
// or in another one, which is only read.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/checkpoint_store.h"
#include "common/config/config.h"

namespace stretto::checkpoint {

struct ResumeSource {
  std::string folder;        ///< Empty: the job has none, and begins anew.
  std::uint64_t number = 0;  ///< Of the one that was named; 0: the newest complete one.
  bool is_saved_to = false;  ///< It is the folder to which the job saves.
  bool is_named = false;     ///< By STRETTO_RESUME: begin anew it must not.
};

/// By the settings of any member: a path that ends in "ckpt-" and a number is one checkpoint, and
/// any other a folder of them. Two paths may lead to one folder.
ResumeSource source_of(const CheckpointSettings& settings);

/// Every byte of what is found has been read, and is right. Of a folder that was named one is
/// found, or why not is the error: what was wanted, what is there, what can be done.
Result<Folder::Found> find(Folder& folder, Disk& disk, const ResumeSource& source);

}  // namespace stretto::checkpoint
