// SPDX-License-Identifier: Apache-2.0
// CheckpointAttempt: one checkpoint that is being made: of whom it is, who has yet to cut and to
// write, and what has come.
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
  /// What the disk's thread has done, and what it has come to.
  struct Work {
    Mutex mutex;
    std::optional<Status> status GUARDED_BY(mutex);
    // Of the disk's thread until there is a status.
    checkpoint::CheckpointManifest manifest;
  };

  /// As workers are told of it.
  control::CheckpointCut cut() const;
  /// One that a scheduler before this one had told of, at this barrier; `settings`: what it is of
  /// besides. All its files are to be told of again.
  static CheckpointAttempt again(const control::CheckpointCut& cut, const control::Barrier& barrier,
                                 const std::set<NodeId>& shards,
                                 checkpoint::CheckpointManifest settings);
  /// A member has written this, or not.
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
