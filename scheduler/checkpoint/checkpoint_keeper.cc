// SPDX-License-Identifier: Apache-2.0
// From a barrier to a manifest.
#include "scheduler/checkpoint/checkpoint_keeper.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "checkpoint/attachments.h"
#include "checkpoint/carry_forward.h"
#include "common/log.h"
#include "common/version.h"

namespace stretto {
namespace {

std::string wall_time() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

bool has_entries(const checkpoint::CheckpointManifest& manifest) {
  return std::ranges::any_of(manifest.files, [](const auto& file) { return file.entries > 0; });
}

// An earlier checkpoint: this job's own, or the restored one.
struct Predecessor {
  checkpoint::Folder folder;
  std::uint64_t number = 0;  // 0: none.
};

// Newest first. Parts that no worker has used since are the same in all of them.
struct Predecessors {
  std::vector<Predecessor> all;
  std::set<std::string> restored;  // The tensors of the restored checkpoint.
};

Status carried_from(Predecessor& last, checkpoint::Folder& folder,
                    checkpoint::CheckpointManifest& manifest) {
  const Result<checkpoint::CheckpointManifest> from = last.folder.open(last.number);
  const Status status =
      from.ok() ? checkpoint::carry_over(last.folder, *from, folder, manifest) : from.status();
  if (status.ok()) return {};
  return {status.code(),
          fmt::format("what no worker has used since checkpoint {} cannot be taken over from "
                      "it: {}",
                      last.number, status.cause())};
}

// Carries parts over from the newest existing one. A user may have removed older checkpoints.
Result<bool> carried(Predecessors& before, checkpoint::Folder& folder,
                     checkpoint::CheckpointManifest& manifest) {
  for (Predecessor& last : before.all) {
    Result<bool> is_there = last.folder.is_there(last.number);
    if (!is_there.ok()) return is_there;
    if (*is_there) {
      const Status status = carried_from(last, folder, manifest);
      return status.ok() ? Result<bool>(true) : status;
    }
    log(Level::kInfo,
        "checkpoint {} is not in '{}' any more: checkpoint {} takes nothing over from it",
        last.number, last.folder.path(), manifest.origin.number);
  }
  return before.all.empty();
}

// Warns of tensors that only a removed checkpoint had.
void warn_of_lost(const Predecessors& before, const checkpoint::CheckpointManifest& manifest) {
  std::set<std::string> lost = before.restored;
  for (const TensorSpec& spec : manifest.tensors) lost.erase(spec.name);
  if (lost.empty()) return;
  const Predecessor& origin = before.all.back();
  log(Level::kWarning,
      "checkpoint {} lacks {} tensors, such as '{}': no worker has used them since the job went on "
      "from checkpoint {}, which is not in '{}' any more; bring that back to keep them",
      manifest.origin.number, lost.size(), *lost.begin(), origin.number, origin.folder.path());
}

// Carries parts over that no worker has used since the last checkpoint. Keeps the restored
// checkpoint if it is here: parts of it may not have been loaded yet.
Status carried_and_committed(checkpoint::Folder& folder, Predecessors& before,
                             checkpoint::CheckpointManifest& manifest) {
  const Result<bool> carries = carried(before, folder, manifest);
  if (!carries.ok()) return carries.status();
  if (Status status = checkpoint::keep_saved_tensors(folder, manifest); !status.ok()) return status;
  if (!*carries) warn_of_lost(before, manifest);
  if (manifest.tensors.empty() && !has_entries(manifest)) {
    return {
        Code::kInvalidArgument,
        "there is nothing to save: all tensors are sums or means of rounds, of which servers keep "
        "nothing, and the workers give nothing of what they hold; attach that"};
  }
  const Result<checkpoint::AttachedReader> attached =
      checkpoint::AttachedReader::of(folder, manifest);
  if (!attached.ok()) return attached.status();
  Status committed = folder.commit(manifest);
  const Status pruned = committed.ok() ? folder.prune(checkpoint::kKept, manifest.from) : Status();
  if (!pruned.ok()) log(Level::kWarning, "an old checkpoint stays: {}", pruned.cause());
  return committed;
}

}  // namespace

namespace {

// Fails if the folder had checkpoints: new ones would displace them.
Status begins_anew(const Config& config, const checkpoint::Folder::Found& found) {
  const auto damaged =
      std::ranges::find(found.refused, true, &checkpoint::Folder::Refused::was_complete);
  if (damaged == found.refused.end()) {
    log(Level::kInfo, "no checkpoint is in '{}': the job begins anew", config.checkpoint.folder);
    return {};
  }
  return {Code::kMalformed,
          fmt::format("no checkpoint in '{}' can be used, the newest because: {}; bring back what "
                      "is missing, or begin anew (--resume no), which removes them in time",
                      config.checkpoint.folder, damaged->why.cause())};
}

// A restarted job must not lose the checkpoints of earlier attempts. Damaged checkpoints are
// skipped with a warning.
Status has_what_was_made(const Config& config, const checkpoint::ResumeSource& source,
                         const checkpoint::Folder::Found& found) {
  const std::uint64_t made = source.is_named ? 0 : config.checkpoint.made;
  if (made == 0 || (found.newest && found.newest->origin.number >= made)) return {};
  const bool is_damaged = std::ranges::any_of(found.refused, [made](const auto& refused) {
    return refused.number == made && refused.was_complete && !refused.is_gone;
  });
  if (is_damaged) return {};
  return {
      Code::kMalformed,
      fmt::format("this job has made checkpoint {0}, which is not in '{1}' any more{2}; bring "
                  "checkpoint {0} back, or start the job yourself, which begins from what is there",
                  made, source.folder,
                  found.newest
                      ? fmt::format(": the newest is checkpoint {}", found.newest->origin.number)
                      : std::string())};
}

// The manifest of a checkpoint that has not begun.
checkpoint::CheckpointManifest manifest_of(const Config& config,
                                           const checkpoint::ResumeSource& source,
                                           const std::vector<NodeId>& workers) {
  return {.origin = {},
          .release = kVersion,
          .workers = static_cast<std::uint32_t>(workers.size()),
          .part_bytes = config.job.part_bytes,
          .from = source.is_saved_to ? config.job.restored : 0};
}

}  // namespace

Result<std::unique_ptr<FileHold>> hold_folder(const Config& config, Disk& disk,
                                              const std::string& who) {
  if (config.checkpoint.folder.empty()) return std::unique_ptr<FileHold>();
  checkpoint::Folder folder(disk, config.checkpoint.folder);
  if (Status status = folder.make(); !status.ok()) return status;
  if (Status status = folder.probe(); !status.ok()) return status;
  Result<std::unique_ptr<FileHold>> hold = folder.hold(who);
  if (hold.ok() && *hold == nullptr) {
    log(Level::kInfo,
        "nothing guards '{}' against another job that writes there: its file system "
        "has no locks",
        config.checkpoint.folder);
  }
  return hold;
}

Status go_on_from_newest(Config& config, Disk& disk, std::set<std::string>& restored) {
  const checkpoint::ResumeSource source = checkpoint::source_of(config.checkpoint);
  if (source.folder.empty() || !config.checkpoint.resumes) return {};
  checkpoint::Folder folder(disk, source.folder);
  if (Status status = source.is_named ? Status() : folder.make(); !status.ok()) return status;
  const Result<checkpoint::Folder::Found> found = checkpoint::find(folder, disk, source);
  if (!found.ok()) return found.status();
  for (const checkpoint::Folder::Refused& refused : found->refused) {
    log(Level::kWarning, "checkpoint {} is passed over: {}", refused.number, refused.why.cause());
  }
  if (Status status = has_what_was_made(config, source, *found); !status.ok()) return status;
  if (!found->newest) return begins_anew(config, *found);
  const checkpoint::CheckpointManifest& newest = *found->newest;
  const std::uint32_t part_bytes = newest.part_bytes;
  if (part_bytes > config.job.part_bytes || part_bytes < 64 || part_bytes % 64 != 0) {
    return {Code::kInvalidArgument,
            fmt::format(
                "checkpoint {} in '{}' has parts of up to {} bytes, this job is told of "
                "{}: set STRETTO_PART_BYTES={} for every process (stretto-launch --env), or "
                "begin anew ({})",
                newest.origin.number, source.folder, part_bytes, config.job.part_bytes, part_bytes,
                config.checkpoint.folder.empty() ? "without --resume" : "--resume no")};
  }
  config.job.restored = newest.origin.number;
  config.job.restored_step = newest.origin.step;
  config.job.part_bytes = part_bytes;
  for (const TensorSpec& spec : newest.tensors) restored.insert(spec.name);
  log(Level::kInfo, "the job goes on from checkpoint {} of step {}, made at {} by {} workers{}",
      newest.origin.number, newest.origin.step, newest.made_at, newest.workers,
      source.is_saved_to ? std::string() : fmt::format(", in '{}'", source.folder));
  return {};
}

CheckpointKeeper::CheckpointKeeper(const Config& config, const Clock& clock, const Files& files,
                                   Ways ways)
    : config_(config),
      clock_(clock),
      files_(files),
      ways_(std::move(ways)),
      source_(checkpoint::source_of(config.checkpoint)),
      timer_(config.checkpoint.folder.empty() ? Duration::zero() : config.checkpoint.every,
             ways_.ask),
      interval_(config.checkpoint.failures, clock.now()) {
  if (files_.disk != nullptr && !config.checkpoint.folder.empty()) {
    folder_.emplace(*files_.disk, config.checkpoint.folder);
  }
}

Status CheckpointKeeper::refusal() const {
  if (folder_) return {};
  return {Code::kUnsupported,
          "this job has no folder for checkpoints; start it with stretto-launch --checkpoint DIR "
          "(STRETTO_CHECKPOINT)"};
}

// Runs on the disk's thread, with a copy of the current manifest.
void CheckpointKeeper::post(
    std::function<Status(checkpoint::Folder&, checkpoint::CheckpointManifest&)> job) {
  active_->work = std::make_shared<CheckpointAttempt::Work>();
  active_->work->manifest = active_->manifest;
  files_.work->post([folder = *folder_, job = std::move(job), work = active_->work]() mutable {
    Status status = job(folder, work->manifest);
    MutexLock lock(work->mutex);
    work->status = std::move(status);
  });
}

void CheckpointKeeper::begin(control::Barrier barrier, std::uint64_t step, const Job& job) {
  timer_.taken(clock_.now());
  if (active_) return join(barrier, step);
  barrier.checkpoint = ++attempts_;
  active_ = std::make_unique<CheckpointAttempt>();
  active_->barrier = barrier;
  if (Status status = refusal(); !status.ok()) {
    ways_.open(barrier);
    return end(std::move(status));
  }
  active_->manifest = manifest_of(config_, source_, job.workers);
  active_->manifest.origin = {.job = job.id, .number = 0, .step = step};
  active_->to_cut = active_->to_save = job.shards;
  active_->to_save.insert(job.workers.begin(), job.workers.end());
  active_->workers = job.workers;
  active_->alike = job.alike;
  interval_.cut(clock_.now(), job.workers);
  if (!job.alike) {
    log(Level::kWarning,
        "what workers hold alike, as they say, differs between them: that of worker 0 is saved");
  }
  post([after = begun_](checkpoint::Folder& folder, checkpoint::CheckpointManifest& manifest) {
    const Result<std::uint64_t> number = folder.begin(after);
    if (number.ok()) manifest.origin.number = *number;
    return number.status();
  });
  tick();
}

// Attachments to a checkpoint of another step would not be in it.
void CheckpointKeeper::join(control::Barrier barrier, std::uint64_t step) {
  const std::uint64_t written = active_->manifest.origin.step;
  barrier.checkpoint = step == written ? active_->barrier.checkpoint : ++attempts_;
  // The scheduler failed while the barrier opened, so no worker has learned of it.
  if (barrier.number == active_->barrier.number) {
    for (const NodeId worker : active_->workers) tell_cut(worker, barrier.checkpoint);
  }
  ways_.open(barrier);
  if (step == written) return;
  ways_.tell_workers(
      {.number = barrier.checkpoint,
       .why = {Code::kRefused,
               fmt::format("a checkpoint of step {} is still being written, and this is one of "
                           "step {}; make it later",
                           written, step)}});
}

void CheckpointKeeper::have_cut() {
  active_->phase = CheckpointAttempt::Phase::kIsSaved;
  begun_ = active_->manifest.origin.number;
  const checkpoint::CheckpointId& origin = active_->manifest.origin;
  for (const NodeId shard : active_->to_cut) {
    ways_.tell(shard, {.job = origin.job, .number = origin.number, .step = origin.step});
  }
  open_if_cut();
}

// Workers write their own state from now on, and continue afterwards.
void CheckpointKeeper::open_if_cut() {
  if (!active_->to_cut.empty()) return;
  const control::CheckpointCut cut = active_->cut();
  if (active_->why.ok()) ways_.cut(active_->barrier, cut);
  for (const NodeId worker : active_->workers) {
    if (active_->to_save.contains(worker)) ways_.tell(worker, cut);
  }
  ways_.open(active_->barrier);
  if (active_->to_save.empty()) commit();
}

void CheckpointKeeper::hear(const Member& member, const control::Message& message) {
  const auto* cut = std::get_if<control::CheckpointCut>(&message);
  const auto* saved = std::get_if<control::CheckpointSaved>(&message);
  const auto* ended = std::get_if<control::CheckpointEnded>(&message);
  if (cut != nullptr && member.role == Role::kServer) on_cut(member.node, *cut);
  if (saved != nullptr) on_saved(member.node, *saved);
  if (ended != nullptr) tell_ended(member.node, ended->number);  // It asks.
}

void CheckpointKeeper::on_cut(NodeId shard, const control::CheckpointCut& cut) {
  if (!active_ || active_->phase != CheckpointAttempt::Phase::kIsSaved ||
      cut.number != active_->manifest.origin.number) {
    return;
  }
  if (active_->to_cut.erase(shard) != 0) open_if_cut();
}

void CheckpointKeeper::on_saved(NodeId node, const control::CheckpointSaved& saved) {
  if (!active_ || active_->phase != CheckpointAttempt::Phase::kIsSaved ||
      saved.number != active_->manifest.origin.number || active_->to_save.erase(node) == 0) {
    return;
  }
  active_->add(saved);
  if (active_->to_cut.erase(node) != 0) return open_if_cut();  // A shard that refuses does not cut.
  if (active_->to_cut.empty() && active_->to_save.empty()) commit();
}

void CheckpointKeeper::on_told(NodeId worker, const control::AtStep& said) {
  if (said.number != 0) return timer_.on_told(worker, said);
  constexpr std::uint64_t kMostHeld = std::uint64_t{1} << 40;  // 12 days.
  interval_.on_held(worker, std::chrono::microseconds(std::min(said.held_us, kMostHeld)));
  choose_interval();
}

void CheckpointKeeper::choose_interval() {
  const auto choice = interval_.take(clock_.now());
  if (!choice || !config_.checkpoint.chooses_every) return;
  timer_.set_every(choice->every);
  if (!choice->is_news) return;
  log(Level::kInfo,
      "checkpoints are due every {:.0f} s: the last ones held the job up for {:.3f} s and were "
      "written in {:.1f} s, and one failure in {:.2f} h is reckoned with",
      seconds(choice->every), seconds(choice->cost.held), seconds(choice->cost.written),
      seconds(choice->between_failures) / 3600);
}

void CheckpointKeeper::on_lost(NodeId node) {
  interval_.on_lost(node);
  if (!active_ || active_->phase == CheckpointAttempt::Phase::kIsCommitted) return;
  const bool cuts = active_->to_cut.erase(node) != 0;
  if (active_->to_save.erase(node) == 0 && !cuts) return;
  if (active_->why.ok()) {
    active_->why = {Code::kPeerLost,
                    "a member was lost before it had written what it holds of the checkpoint"};
  }
  if (active_->phase != CheckpointAttempt::Phase::kIsSaved) return;
  if (cuts) return open_if_cut();
  if (active_->to_cut.empty() && active_->to_save.empty()) commit();
}

void CheckpointKeeper::withdraw(std::uint64_t barrier) {
  const bool waits =
      active_ && active_->barrier.number == barrier &&
      (active_->phase == CheckpointAttempt::Phase::kBegins || !active_->to_cut.empty());
  if (!waits || !active_->why.ok()) return;
  active_->why = {Code::kTimeout, "a worker gave up before the servers had all cut"};
}

void CheckpointKeeper::commit() {
  checkpoint::CheckpointManifest& manifest = active_->manifest;
  manifest.made_at = wall_time();
  manifest.tensors = ways_.tensors();
  std::ranges::sort(manifest.files, {}, &checkpoint::CheckpointManifest::File::name);
  active_->phase = CheckpointAttempt::Phase::kIsCommitted;
  Predecessors before{.all = {}, .restored = files_.restored};
  if (made_ != 0) before.all.push_back({*folder_, made_});
  if (config_.job.restored != 0) {
    before.all.push_back({checkpoint::Folder(*files_.disk, source_.folder), config_.job.restored});
  }
  post([before = std::move(before), why = active_->why](
           checkpoint::Folder& folder, checkpoint::CheckpointManifest& all) mutable {
    Status status = why.ok() ? carried_and_committed(folder, before, all) : why;
    if (!status.ok()) static_cast<void>(folder.abandon(all.origin.number));  // First error counts.
    return status;
  });
  tick();
}

void CheckpointKeeper::tick(bool wanted) {
  const Time now = clock_.now();
  if (wanted) timer_.hurry(now);
  if (!active_ && timer_.is_looking(now)) timer_.follow(now, ways_.workers());
  if (!active_ || !active_->work) return;
  std::optional<Status> status;
  {
    MutexLock lock(active_->work->mutex);
    status = active_->work->status;
  }
  if (!status) return;
  active_->manifest = std::move(active_->work->manifest);
  active_->work = nullptr;
  if (active_->phase == CheckpointAttempt::Phase::kIsCommitted) return end(*std::move(status));
  if (status->ok()) return have_cut();
  ways_.open(active_->barrier);
  end(*std::move(status));
}

void CheckpointKeeper::end(Status why) {
  const checkpoint::CheckpointId origin = active_->manifest.origin;
  const std::uint64_t attempt = active_->barrier.checkpoint;
  active_.reset();
  interval_.ended(clock_.now(), why.ok());
  choose_interval();
  if (!why.ok() && attempt != 0) ways_.dropped(attempt);
  if (why.ok()) {
    made_ = origin.number;
    done_ = attempt;
    ways_.saved(origin.number, origin.step);
    log(Level::kInfo, "checkpoint {} of step {} is complete", origin.number, origin.step);
  } else if (folder_ || !std::exchange(said_, true)) {
    log(Level::kWarning, "no checkpoint was made: {}", why.cause());
  }
  ways_.tell_workers({.number = attempt, .why = std::move(why)});
}

// ---- resuming from a previous scheduler

void CheckpointKeeper::go_on_from(std::uint64_t made) {
  made_ = begun_ = made;
  if (active_) done_ = active_->barrier.checkpoint;
  active_.reset();
}

// All members report their files again, including written ones.
void CheckpointKeeper::go_on_with(const control::CheckpointCut& cut,
                                  const control::Barrier& barrier, const std::set<NodeId>& shards) {
  begun_ = cut.number;
  skip_attempts(barrier.checkpoint);
  active_ = std::make_unique<CheckpointAttempt>(
      CheckpointAttempt::again(cut, barrier, shards, manifest_of(config_, source_, cut.workers)));
  interval_.cut(clock_.now(), cut.workers);
}

void CheckpointKeeper::look_if_complete() {
  active_ ? timer_.taken(clock_.now()) : timer_.go_on(clock_.now());
  if (!active_ || !folder_) return;
  const checkpoint::CheckpointId origin = active_->manifest.origin;
  const Result<checkpoint::CheckpointManifest> complete = folder_->open(origin.number);
  if (!complete.ok() || complete->origin.job != origin.job) return;
  go_on_from(origin.number);
  ways_.saved(origin.number, origin.step);
}

void CheckpointKeeper::tell_cut(NodeId node, std::uint64_t attempt) {
  if (!active_ || active_->phase != CheckpointAttempt::Phase::kIsSaved) return;
  const checkpoint::CheckpointId& origin = active_->manifest.origin;
  if (active_->to_cut.contains(node)) {
    ways_.tell(node, {.job = origin.job, .number = origin.number, .step = origin.step});
  } else if (active_->barrier.checkpoint == attempt && active_->to_save.contains(node)) {
    ways_.tell(node, active_->cut());
  }
}

void CheckpointKeeper::tell_ended(NodeId worker, std::uint64_t attempt) {
  if (active_ && active_->barrier.checkpoint == attempt) return;  // It is told with all.
  Status why;
  if (attempt != done_) {
    why = {Code::kCancelled,
           "it came to nothing, or to what the scheduler knew that has been lost since"};
  }
  ways_.tell_worker(worker, {.number = attempt, .why = std::move(why)});
}

std::set<NodeId> shards_of(const View& view) {
  std::set<NodeId> shards;
  for (const auto& [node, member] : view.members) {
    if (member.role == Role::kServer && !member.left && !member.standby) shards.insert(node);
  }
  return shards;
}

}  // namespace stretto
