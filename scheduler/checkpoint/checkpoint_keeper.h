// SPDX-License-Identifier: Apache-2.0
// CheckpointKeeper: makes checkpoints of a job: has all shards cut, collects their files, and makes
// them complete by a manifest. One at a time.
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

/// Before the job begins: makes its folder of checkpoints, if it has one, and has it for this
/// process alone, as long as what is returned is there; null where there is nothing to hold. `who`
/// is what others read of us. Calls block.
Result<std::unique_ptr<FileHold>> hold_folder(const Config& config, Disk& disk,
                                              const std::string& who);

/// And then has it go on from the checkpoint that was named, or the newest complete one, if that is
/// wanted and there is one, with its parts as they were cut then. What is passed over is logged.
/// Calls block. The tensors that it has are added to `restored`.
Status go_on_from_newest(Config& config, Disk& disk, std::set<std::string>& restored);

/// The servers' that are in, and serve.
std::set<NodeId> shards_of(const View& view);

/// Thread: loop.
class CheckpointKeeper {
 public:
  /// Where they are written, null: nowhere; and which tensors that has which the job goes on from.
  struct Files {
    Disk* disk = nullptr;
    checkpoint::DiskExecutor* work = nullptr;
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
    std::function<void(NodeId, const control::CheckpointEnded&)> tell_worker;
    /// What a scheduler after this one is to know: this barrier is about to open, with its attempt,
    /// or nothing has come of it.
    std::function<void(const control::Barrier&, const control::CheckpointCut&)> cut;
    std::function<void(std::uint64_t)> dropped;
    /// One is complete: its number and step.
    std::function<void(std::uint64_t, std::uint64_t)> saved;
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
  /// What a member says of one, if the message is of one:
  void hear(const Member& member, const control::Message& message);
  void on_cut(NodeId shard, const control::CheckpointCut& cut);
  /// of shards and workers.
  void on_saved(NodeId node, const control::CheckpointSaved& saved);
  /// It is not in the job any more, and writes nothing.
  void on_lost(NodeId node);

  // ---- of a scheduler before this one

  /// It had made this one,
  void go_on_from(std::uint64_t made);
  /// and this attempt at another was being written by those who were in,
  void go_on_with(const control::CheckpointCut& cut, const control::Barrier& barrier,
                  const std::set<NodeId>& shards);
  /// unless it came to nothing.
  void forget_active() { active_.reset(); }
  void skip_attempts(std::uint64_t last) { attempts_ = std::max(attempts_, last); }
  /// It may have completed it. Counts from now on when the next is due. Blocks.
  void look_if_complete();
  /// A worker has yet to hear that a barrier for that attempt has opened: before it does, what it
  /// is to write; or, of whatever attempt, a shard that has come again, that it is to cut;
  void tell_cut(NodeId node, std::uint64_t attempt);
  /// and what has come of that, if it is over.
  void tell_ended(NodeId worker, std::uint64_t attempt);

  /// Once a turn; `wanted`: one is, as soon as there can be.
  void tick(bool wanted = false);
  Time next_due(Time now) const { return active_ && active_->work ? now + 2ms : timer_.next_due(); }
  /// What a worker has been asked by the clock's order, or what the last one cost its program.
  void on_told(NodeId worker, const control::AtStep& said);
  /// A worker has given up waiting at this barrier, and may have something in flight.
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
  std::uint64_t made_ = 0;  // The last complete one that this job has made; 0: none.
  std::uint64_t done_ = 0;  // The attempt at it.
  bool said_ = false;       // That there is no folder.
  std::uint64_t attempts_ = 0;
  std::uint64_t begun_ = 0;  // The last, whatever came of it: who was lost may still write to it.
  std::unique_ptr<CheckpointAttempt> active_;
  CheckpointTimer timer_;
  CheckpointInterval interval_;
};

}  // namespace stretto
