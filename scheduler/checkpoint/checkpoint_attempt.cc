// SPDX-License-Identifier: Apache-2.0
// Messages about a checkpoint, and its collected files.
#include "scheduler/checkpoint/checkpoint_attempt.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {

control::CheckpointCut CheckpointAttempt::cut() const {
  const checkpoint::CheckpointId& origin = manifest.origin;
  return {.job = origin.job,
          .number = origin.number,
          .step = origin.step,
          .workers = workers,
          .alike = alike};
}

CheckpointAttempt CheckpointAttempt::again(const control::CheckpointCut& cut,
                                           const control::Barrier& barrier,
                                           const std::set<NodeId>& shards,
                                           checkpoint::CheckpointManifest settings) {
  CheckpointAttempt attempt;
  attempt.phase = Phase::kIsSaved;
  attempt.manifest = std::move(settings);
  attempt.manifest.origin = {.job = cut.job, .number = cut.number, .step = cut.step};
  attempt.barrier = barrier;
  attempt.workers = cut.workers;
  attempt.alike = cut.alike;
  attempt.to_save = shards;
  attempt.to_save.insert(cut.workers.begin(), cut.workers.end());
  return attempt;
}

void CheckpointAttempt::add(const control::CheckpointSaved& saved) {
  std::vector<checkpoint::CheckpointManifest::File>& files = manifest.files;
  const auto is_it = [&saved](const auto& file) { return file.name == saved.file; };
  const bool is_named = saved.file.empty() || (checkpoint::is_file_name(saved.file) &&
                                               std::ranges::none_of(files, is_it));
  Status said = saved.why;
  if (said.ok() && !is_named) {
    said = {Code::kMalformed, fmt::format("a member names its file '{}'", saved.file)};
  }
  if (why.ok()) why = said;
  if (!said.ok() || saved.file.empty()) return;
  files.push_back({.name = saved.file,
                   .seal = {.bytes = saved.bytes, .checksum = saved.seal},
                   .entries = saved.entries});
}

}  // namespace stretto
