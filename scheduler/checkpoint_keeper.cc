// SPDX-License-Identifier: Apache-2.0
// From a barrier to a manifest.
#include "scheduler/checkpoint_keeper.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "checkpoint/carry_over.h"
#include "common/log.h"
#include "common/version.h"

namespace stretto {
namespace {

std::string wall_time() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

// What nobody has touched since the last one is in it too. If that cannot be had the older ones
// stay, which may have it.
Status carried_and_committed(checkpoint::Folder& folder, std::uint64_t last,
                             checkpoint::CheckpointManifest& manifest) {
  Status carried;
  if (last != 0) {
    const Result<checkpoint::CheckpointManifest> from = folder.open(last);
    carried = from.ok() ? checkpoint::carry_over(folder, *from, manifest) : from.status();
  }
  Status committed = folder.commit(manifest);
  if (!carried.ok()) {
    log(Level::kWarning,
        "what no worker has used since checkpoint {} is not in checkpoint {}, and no older one is "
        "removed: {}",
        last, manifest.origin.number, carried.cause());
    return committed;
  }
  const Status pruned = committed.ok() ? folder.prune() : Status();
  if (!pruned.ok()) log(Level::kWarning, "an old checkpoint stays: {}", pruned.cause());
  return committed;
}

}  // namespace

Status go_on_from_newest(Config& config, Disk& disk) {
  if (config.checkpoint.folder.empty()) return {};
  checkpoint::Folder folder(disk, config.checkpoint.folder);
  if (Status status = folder.make(); !status.ok()) return status;
  if (!config.checkpoint.resumes) return {};
  const Result<checkpoint::Folder::Found> found = folder.newest();
  if (!found.ok()) return found.status();
  for (const checkpoint::Folder::Refused& refused : found->refused) {
    log(Level::kWarning, "checkpoint {} is passed over: {}", refused.number, refused.why.cause());
  }
  if (!found->newest) return {};
  const checkpoint::CheckpointManifest& newest = *found->newest;
  config.job.restored = newest.origin.number;
  config.job.restored_step = newest.origin.step;
  config.job.part_bytes = newest.part_bytes;
  log(Level::kInfo, "the job goes on from checkpoint {} of step {}, made at {} by {} workers",
      newest.origin.number, newest.origin.step, newest.made_at, newest.workers);
  return {};
}

CheckpointKeeper::CheckpointKeeper(const Config& config, const Files& files, Ways ways)
    : config_(config), files_(files), ways_(std::move(ways)), last_(config.job.restored) {
  if (files_.disk != nullptr && !config.checkpoint.folder.empty()) {
    folder_.emplace(*files_.disk, config.checkpoint.folder);
  }
}

Result<std::uint64_t> CheckpointKeeper::begin_folder() {
  if (folder_) return folder_->begin();
  return Status(Code::kUnsupported,
                "this job has no folder for checkpoints; start it with stretto-launch "
                "--checkpoint DIR (STRETTO_CHECKPOINT)");
}

void CheckpointKeeper::begin(control::Barrier barrier, std::uint64_t step, const Job& job) {
  if (active_) {
    barrier.checkpoint = active_->barrier.checkpoint;
    return ways_.open(barrier);
  }
  barrier.checkpoint = ++attempts_;
  Result<std::uint64_t> number = begin_folder();
  if (number.ok() && job.shards.empty()) {
    number = Status(Code::kUnsupported,
                    "this job has no servers, and checkpoints are of what servers hold");
  }
  active_.emplace();
  active_->barrier = barrier;
  if (!number.ok()) {
    ways_.open(barrier);
    return end(number.status());
  }
  active_->manifest = {.origin = {.job = job.id, .number = *number, .step = step},
                       .release = kVersion,
                       .workers = job.workers,
                       .part_bytes = config_.job.part_bytes};
  active_->to_cut = active_->to_save = job.shards;
  const checkpoint::Origin& origin = active_->manifest.origin;
  for (const NodeId shard : job.shards) {
    ways_.tell_shard(shard, {.job = origin.job, .number = origin.number, .step = origin.step});
  }
}

void CheckpointKeeper::on_cut(NodeId shard, const control::CheckpointCut& cut) {
  if (!active_ || cut.number != active_->manifest.origin.number) return;
  if (active_->to_cut.erase(shard) == 0 || !active_->to_cut.empty()) return;
  ways_.open(active_->barrier);
}

void CheckpointKeeper::on_saved(NodeId shard, control::CheckpointSaved saved) {
  if (!active_ || saved.number != active_->manifest.origin.number) return;
  if (active_->to_save.erase(shard) == 0) return;
  on_cut(shard, {.number = saved.number});  // One that refuses does not cut.
  if (saved.why.ok() && !checkpoint::is_file_name(saved.file)) {
    saved.why = {Code::kMalformed, fmt::format("a server names its file '{}'", saved.file)};
  }
  if (active_->why.ok()) active_->why = saved.why;
  active_->manifest.files.push_back({.name = saved.file,
                                     .seal = {.bytes = saved.bytes, .checksum = saved.seal},
                                     .entries = saved.entries});
  if (!active_->to_save.empty()) return;
  if (!active_->why.ok()) return end(active_->why);
  commit();
}

void CheckpointKeeper::commit() {
  checkpoint::CheckpointManifest& manifest = active_->manifest;
  manifest.made_at = wall_time();
  manifest.tensors = ways_.tensors();
  std::ranges::sort(manifest.files, {}, &checkpoint::CheckpointManifest::File::name);
  active_->committing = true;
  active_->outcome = std::make_shared<Outcome>();
  active_->outcome->manifest = manifest;
  const std::uint64_t last = last_;
  files_.work->post([folder = *folder_, last, outcome = active_->outcome]() mutable {
    const Status committed = carried_and_committed(folder, last, outcome->manifest);
    MutexLock lock(outcome->mutex);
    outcome->status = committed;
  });
  tick();
}

void CheckpointKeeper::tick() {
  if (!active_ || !active_->committing) return;
  std::optional<Status> status;
  {
    MutexLock lock(active_->outcome->mutex);
    status = active_->outcome->status;
  }
  if (status) end(*status);
}

void CheckpointKeeper::end(const Status& why) {
  const checkpoint::CheckpointManifest manifest = std::move(active_->manifest);
  const std::uint64_t attempt = active_->barrier.checkpoint;
  active_.reset();
  if (why.ok()) {
    last_ = manifest.origin.number;
    log(Level::kInfo, "checkpoint {} of step {} is complete", manifest.origin.number,
        manifest.origin.step);
  } else {
    log(Level::kWarning, "no checkpoint was made: {}", why.cause());
  }
  ways_.tell_workers({.number = attempt, .why = why});
}

}  // namespace stretto
