// SPDX-License-Identifier: Apache-2.0
// CheckpointKeeper: makes checkpoints of a job: has all shards cut, collects their files, and makes
// them complete by a manifest. One at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/disk_work.h"
#include "checkpoint/folder.h"
#include "checkpoint/resume_source.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/mutex.h"
#include "core/tensor_spec.h"
#include "scheduler/checkpoint_interval.h"
#include "scheduler/checkpoint_timer.h"
#include "van/control.h"

namespace stretto {

/// Before the job begins: makes its folder of checkpoints, if it has one, and has it for this
/// process alone, as long as what is returned is there; null where there is nothing to hold. `who`
/// is what others read of us. Calls block.
Result<std::unique_ptr<FileHold>> hold_folder(const Config& config, Disk& disk,
                                              const std::string& who);

/// And then has it go on from the checkpoint that was named, or the newest complete one, if that is
/// wanted and there is one, with its parts as they were cut then. What is passed over is logged.
/// Calls block. The tensors that it has are added to `restored`.
Status go_on_from_newest(Config& config, Disk& disk, std::set<std::string>& restored);

/// Thread: loop.
class CheckpointKeeper {
 public:
  /// Where they are written, null: nowhere; and which tensors that has which the job goes on from.
  struct Files {
    Disk* disk = nullptr;
    checkpoint::DiskWork* work = nullptr;
    std::set<std::string> restored = {};
  };
  struct Ways {
    std::function<void(NodeId, const control::CheckpointCut&)> tell;
    /// All workers are there and have nothing in flight; now they may go on.
    std::function<void(const control::Barrier&)> open;
    std::function<void(const control::CheckpointEnded&)> tell_workers;
    /// Those who are in the job while it runs; and asks one of them.
    std::function<std::vector<NodeId>()> workers;
    CheckpointTimer::Tell ask;
    /// One is complete, of this step.
    std::function<void(std::uint64_t)> saved;
    /// All that were declared.
    std::function<std::vector<TensorSpec>()> tensors;
  };
  /// Who is in the job.
  struct Job {
    std::uint64_t id = 0;
    std::set<NodeId> shards;
    std::vector<NodeId> workers;  ///< By rank.
    bool alike = true;            ///< What these hold alike, as they say, is.
  };

  CheckpointKeeper(const Config& config, const Clock& clock, const Files& files, Ways ways);

  /// All workers have come to this barrier, and want a checkpoint of what is there, which is of
  /// this step of the program. If one of this step is being written already, theirs is that one.
  void begin(control::Barrier barrier, std::uint64_t step, const Job& job);
  void on_cut(NodeId shard, const control::CheckpointCut& cut);
  /// Of shards and workers.
  void on_saved(NodeId node, const control::CheckpointSaved& saved);
  /// It is not in the job any more, and writes nothing.
  void on_lost(NodeId node);
  /// Once a turn.
  void tick();
  Time next_due(Time now) const { return active_ && active_->work ? now + 2ms : timer_.next_due(); }
  /// What a worker has been asked by the clock's order, or what the last one cost its program.
  void on_told(NodeId worker, const control::AtStep& said);
  /// A worker has given up waiting at this barrier, and may have something in flight.
  void withdraw(std::uint64_t barrier);

 private:
  /// What the disk's thread has done, and what it has come to.
  struct Work {
    Mutex mutex;
    std::optional<Status> status GUARDED_BY(mutex);
    // Of the disk's thread until there is a status.
    checkpoint::CheckpointManifest manifest;
  };
  enum class Phase : std::uint8_t { kBegins, kIsSaved, kIsCommitted };
  struct Active {
    Phase phase = Phase::kBegins;
    checkpoint::CheckpointManifest manifest;
    control::Barrier barrier;
    std::vector<NodeId> workers;
    bool alike = true;
    std::set<NodeId> to_cut;
    std::set<NodeId> to_save;
    Status why;
    std::shared_ptr<Work> work;
  };

  Status refusal() const;
  void post(std::function<Status(checkpoint::Folder&, checkpoint::CheckpointManifest&)> job);
  void join(control::Barrier barrier, std::uint64_t step);
  void have_cut();
  void open_if_cut();
  void add_file(const control::CheckpointSaved& saved);
  void commit();
  void end(Status why);
  void choose_interval();

  const Config& config_;
  const Clock& clock_;
  const Files files_;
  const Ways ways_;
  std::optional<checkpoint::Folder> folder_;
  const checkpoint::ResumeSource source_;
  std::uint64_t made_ = 0;  // The last complete one that this job has made; 0: none.
  bool said_ = false;       // That there is no folder.
  std::uint64_t attempts_ = 0;
  std::uint64_t begun_ = 0;  // The last, whatever came of it: who was lost may still write to it.
  std::unique_ptr<Active> active_;
  CheckpointTimer timer_;
  CheckpointInterval interval_;
};

}  // namespace stretto
