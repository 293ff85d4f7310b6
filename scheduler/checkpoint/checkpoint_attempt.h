// SPDX-License-Identifier: Apache-2.0
// CheckpointAttempt: a checkpoint in progress: its members, which of them have yet to cut and to
// write, and the collected files.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "common/mutex.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
struct CheckpointAttempt {
  enum class Phase : std::uint8_t { kBegins, kIsSaved, kIsCommitted };
  /// The work of the disk's thread, and its result.
  struct Work {
    Mutex mutex;
    std::optional<Status> status GUARDED_BY(mutex);
    // Owned by the disk's thread until `status` is set.
    checkpoint::CheckpointManifest manifest;
  };

  /// The cut, as sent to workers.
  control::CheckpointCut cut() const;
  /// Resumes an attempt that the previous scheduler announced, at this barrier. `settings`: the
  /// manifest without its files, which all members must report again.
  static CheckpointAttempt again(const control::CheckpointCut& cut, const control::Barrier& barrier,
                                 const std::set<NodeId>& shards,
                                 checkpoint::CheckpointManifest settings);
  /// A member's report that it has written its file, or failed to.
  void add(const control::CheckpointSaved& saved);

  Phase phase = Phase::kBegins;
  checkpoint::CheckpointManifest manifest = {};
  control::Barrier barrier = {};
  std::vector<NodeId> workers = {};
  bool alike = true;
  std::set<NodeId> to_cut = {};
  std::set<NodeId> to_save = {};
  Status why = {};
  std::shared_ptr<Work> work = {};
};

}  // namespace stretto
