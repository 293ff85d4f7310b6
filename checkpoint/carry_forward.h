// SPDX-License-Identifier: Apache-2.0
// What a job that goes on from a checkpoint has not touched yet is carried over to its own ones: no
// server has it in memory, and nothing is lost because nobody has asked for it.
#pragma once

#include "checkpoint/checkpoint_store.h"

namespace stretto::checkpoint {

/// True if what was saved of one tensor can be loaded for the other: what decides which bytes a
/// part has, and what they mean, is the same.
bool holds_the_same(const TensorSpec& saved, const TensorSpec& now);
/// Of values that are of their round alone nothing is saved but what a codec owes, which is worth
/// nothing for another codec: then false.
bool is_of_use(const TensorSpec& saved, const TensorSpec& now);

/// Writes the parts of `from` that no file of `to` has, unless their tensor is another one now, to
/// a file of `to` of their own, which is added to it with the tensors that it lacks; no file if
/// there are none. `from` lies in `source`. All files of `to` have been written, and it has not
/// been committed. Calls block.
Status carry_over(Folder& source, const CheckpointManifest& from, Folder& folder,
                  CheckpointManifest& to);

/// Takes those tensors from a manifest of which none of its files has a part: a job that goes on
/// from it begins them anew.
Status keep_saved_tensors(Folder& folder, CheckpointManifest& manifest);

}  // namespace stretto::checkpoint
