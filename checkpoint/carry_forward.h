// SPDX-License-Identifier: Apache-2.0
// A resumed job carries forward the saved parts that it has not used yet to its own checkpoints: no
// server has them in memory, and no data is lost because it was not requested.
#pragma once

#include "checkpoint/checkpoint_store.h"

namespace stretto::checkpoint {

/// True if values saved of one tensor can be loaded for the other: the options that determine the
/// parts' bytes and their meaning are equal.
bool holds_the_same(const TensorSpec& saved, const TensorSpec& now);
/// False if the saved state is useless now: for values of a single round only a codec's residuals
/// are saved, which fit no other codec.
bool is_of_use(const TensorSpec& saved, const TensorSpec& now);

/// Writes the parts of `from` that no file of `to` has to an extra file of `to`, and adds their
/// tensors to it; no file if there are none. Parts of redefined tensors are skipped. `from` is in
/// `source`. All files of `to` have been written, and it has not been committed. Calls block.
Status carry_over(Folder& source, const CheckpointManifest& from, Folder& folder,
                  CheckpointManifest& to);

/// Removes the tensors from a manifest that have no part in its files: a job that resumes from it
/// initialises them again.
Status keep_saved_tensors(Folder& folder, CheckpointManifest& manifest);

}  // namespace stretto::checkpoint
