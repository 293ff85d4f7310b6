// SPDX-License-Identifier: Apache-2.0
// Restores saved parts, and saves new checkpoints.
#include "server/checkpoint/shard_persistence.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "checkpoint/resume_source.h"

namespace stretto {
namespace {

Status no_folder() {
  return {Code::kInvalidArgument,
          "the scheduler knows a folder of checkpoints, and this server none: give both the same "
          "STRETTO_CHECKPOINT and STRETTO_RESUME"};
}

}  // namespace

Status ShardPersistence::open(const JobSettings& settings) {
  if (settings.restored == 0) return {};
  const checkpoint::ResumeSource source = checkpoint::source_of(config_.checkpoint);
  if (files_.work == nullptr || source.folder.empty()) return no_folder();
  restored_.emplace(*files_.work, checkpoint::Folder(*files_.disk, source.folder),
                    settings.restored);
  return {};
}

bool ShardPersistence::may_make(const wire::Key& key, const OwnedSlots& slots) {
  if (!restored_ || slots.find(key) != nullptr) return true;
  const TensorSpec* spec = spec_of(slots, key);
  return spec == nullptr || restored_->is_read({spec->name, key.part});
}

std::function<Status(Part&)> ShardPersistence::restorer(Unreadable unreadable) {
  if (!restored_) return {};
  return [this, unreadable = std::move(unreadable)](Part& part) {
    Status status = restored_->load(part);
    if (!status.ok() && status.code() != Code::kMismatch) unreadable(status);
    return status;
  };
}

control::Message ShardPersistence::cut(const control::CheckpointCut& said, Rank server,
                                       OwnedSlots& slots) {
  Status refused = begin(said, server, slots);
  if (refused.ok()) return said;
  return control::CheckpointSaved{.number = said.number, .why = std::move(refused)};
}

Status ShardPersistence::begin(const control::CheckpointCut& said, Rank server, OwnedSlots& slots) {
  if (!has_folder()) return no_folder();
  if (!checkpoint_) {
    checkpoint_.emplace(*files_.work, checkpoint::Folder(*files_.disk, config_.checkpoint.folder),
                        fmt::format("server-{}.{}.parts", server, index_), files_.copied_in_a_turn);
  }
  if (!checkpoint_->active()) return checkpoint_->begin(said, slots);
  return {Code::kRefused, "another checkpoint is being written"};
}

std::optional<control::CheckpointSaved> ShardPersistence::step(Time now, bool over) {
  if (restored_) over ? restored_->cancel() : restored_->look(now);
  if (!checkpoint_) return std::nullopt;
  std::optional<control::CheckpointSaved> saved = checkpoint_->step();
  if (saved) last_ = saved;
  return saved;
}

Time ShardPersistence::next_due(Time now) const {
  if (restored_ && restored_->reading()) return now + kLookEvery;
  if (!checkpoint_ || !checkpoint_->active()) return Time::max();
  return checkpoint_->can_go_on() ? now : now + kLookEvery;
}

}  // namespace stretto
