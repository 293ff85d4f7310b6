// SPDX-License-Identifier: Apache-2.0
// CheckpointKeeper: makes checkpoints of a job: makes all shards cut, collects their files, and
// completes the checkpoint with a manifest. One at a time.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/disk_executor.h"
#include "checkpoint/resume_source.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "core/tensor_spec.h"
#include "core/view.h"
#include "scheduler/checkpoint/checkpoint_attempt.h"
#include "scheduler/checkpoint/checkpoint_interval.h"
#include "scheduler/checkpoint/checkpoint_timer.h"
#include "van/control/control.h"

namespace stretto {

/// Before the job starts: creates its checkpoint folder, if it has one, and locks it for this
/// process while the returned hold exists; null without a folder or locks. `who` names this process
/// to others. Blocks.
Result<std::unique_ptr<FileHold>> hold_folder(const Config& config, Disk& disk,
                                              const std::string& who);

/// Then resumes from the named checkpoint or the newest complete one, if that is wanted and one
/// exists, with the parts of its cut. Logs skipped checkpoints. Adds the checkpoint's tensors to
/// `restored`. Blocks.
Status go_on_from_newest(Config& config, Disk& disk, std::set<std::string>& restored);

/// The shards of primaries in this view.
std::set<NodeId> shards_of(const View& view);

/// Thread: loop.
class CheckpointKeeper {
 public:
  /// Where checkpoints are written, null: nowhere; and the tensors of the restored checkpoint.
  struct Files {
    Disk* disk = nullptr;
    checkpoint::DiskExecutor* work = nullptr;
    std::set<std::string> restored = {};
  };
  struct Ways {
    std::function<void(NodeId, const control::CheckpointCut&)> tell;
    /// All workers are at the barrier with nothing in flight; they may continue.
    std::function<void(const control::Barrier&)> open;
    std::function<void(const control::CheckpointEnded&)> tell_workers;
    /// The job's workers while it runs; and a query to a worker.
    std::function<std::vector<NodeId>()> workers;
    CheckpointTimer::Tell ask;
    std::function<void(NodeId, const control::CheckpointEnded&)> tell_worker;
    /// For the next scheduler: this barrier will open now, with its attempt; or the attempt has
    /// failed.
    std::function<void(const control::Barrier&, const control::CheckpointCut&)> cut;
    std::function<void(std::uint64_t)> dropped;
    /// A checkpoint is complete: its number and step.
    std::function<void(std::uint64_t, std::uint64_t)> saved;
    /// All declared tensors.
    std::function<std::vector<TensorSpec>()> tensors;
  };
  /// The members of the job.
  struct Job {
    std::uint64_t id = 0;
    std::set<NodeId> shards;
    std::vector<NodeId> workers;  ///< By rank.
    bool alike = true;            ///< Their replicated attachments agree.
  };

  CheckpointKeeper(const Config& config, const Clock& clock, const Files& files, Ways ways);

  /// All workers have come to this barrier for a checkpoint of this step of the program. If one of
  /// the same step is being written already, they join it.
  void begin(control::Barrier barrier, std::uint64_t step, const Job& job);
  /// Handles a member's message, if it is about a checkpoint:
  void hear(const Member& member, const control::Message& message);
  void on_cut(NodeId shard, const control::CheckpointCut& cut);
  /// a report of a shard or a worker.
  void on_saved(NodeId node, const control::CheckpointSaved& saved);
  /// It is no longer a member, and writes no file.
  void on_lost(NodeId node);

  // ---- resuming from a previous scheduler

  /// It had made this checkpoint,
  void go_on_from(std::uint64_t made);
  /// its members were writing this attempt at another,
  void go_on_with(const control::CheckpointCut& cut, const control::Barrier& barrier,
                  const std::set<NodeId>& shards);
  /// unless the attempt failed.
  void forget_active() { active_.reset(); }
  void skip_attempts(std::uint64_t last) { attempts_ = std::max(attempts_, last); }
  /// Checks whether the previous scheduler has completed it. Counts the interval from now. Blocks.
  void look_if_complete();
  /// Repeats an attempt's request to write for a worker that has yet to learn of the opened
  /// barrier. For a re-registered shard it repeats the request to cut, of any attempt.
  void tell_cut(NodeId node, std::uint64_t attempt);
  /// Repeats the attempt's result, if it has ended.
  void tell_ended(NodeId worker, std::uint64_t attempt);

  /// Call once per iteration; `wanted`: make a checkpoint as soon as possible.
  void tick(bool wanted = false);
  Time next_due(Time now) const { return active_ && active_->work ? now + 2ms : timer_.next_due(); }
  /// A worker's answer to the timer's query, or the cost of the last checkpoint to its program.
  void on_told(NodeId worker, const control::AtStep& said);
  /// A worker has given up waiting at this barrier, and may have data in flight.
  void withdraw(std::uint64_t barrier);

 private:
  Status refusal() const;
  void post(std::function<Status(checkpoint::Folder&, checkpoint::CheckpointManifest&)> job);
  void join(control::Barrier barrier, std::uint64_t step);
  void have_cut();
  void open_if_cut();
  void commit();
  void end(Status why);
  void choose_interval();

  const Config& config_;
  const Clock& clock_;
  const Files files_;
  const Ways ways_;
  std::optional<checkpoint::Folder> folder_;
  const checkpoint::ResumeSource source_;
  std::uint64_t made_ = 0;  // The last complete one of this job; 0: none.
  std::uint64_t done_ = 0;  // Its attempt number.
  bool said_ = false;       // The missing folder has been logged.
  std::uint64_t attempts_ = 0;
  std::uint64_t begun_ = 0;  // The last one begun: an expelled member may still write to it.
  std::unique_ptr<CheckpointAttempt> active_;
  CheckpointTimer timer_;
  CheckpointInterval interval_;
};

}  // namespace stretto
