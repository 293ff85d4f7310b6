// SPDX-License-Identifier: Apache-2.0
// The loop copies, the disk's thread writes. The queue between them is bounded, except for parts
// that change before their copy.
#include "server/checkpoint/shard_checkpoint.h"

#include <fmt/core.h>

#include <utility>

#include "checkpoint/parts_writer.h"

namespace stretto {
namespace {

constexpr std::uint64_t kMostWaiting = std::uint64_t{64} << 20;  // Bytes queued for the disk.

Status is_broken(const Part& part) {
  const std::string why =
      part.doomed.ok() ? "a round of it is open, which lacks contributions" : part.doomed.cause();
  return {Code::kRefused, fmt::format("tensor '{}' has not come through all rounds alike: {}",
                                      part.spec.name, why)};
}

}  // namespace

bool is_saved(const TensorSpec& spec) {
  const TensorOptions& options = spec.options;
  return !is_of_its_round(options) || (options.codec && options.codec->error_feedback);
}

struct ShardCheckpoint::Writing {
  explicit Writing(const control::CheckpointCut& cut)
      : origin{.job = cut.job, .number = cut.number, .step = cut.step} {}

  const checkpoint::CheckpointId origin;
  std::atomic<std::uint64_t> waiting_bytes{0};
  Mutex mutex;
  std::optional<control::CheckpointSaved> result GUARDED_BY(mutex);
  // Used by the disk's thread.
  std::optional<checkpoint::PartsWriter> writer;
  std::uint64_t entries = 0;
  Status why;
};

ShardCheckpoint::ShardCheckpoint(checkpoint::DiskExecutor& work, checkpoint::Folder folder,
                                 std::string file, std::uint64_t copied_in_a_turn)
    : work_(work),
      folder_(std::move(folder)),
      file_(std::move(file)),
      copied_in_a_turn_(copied_in_a_turn) {}

Status ShardCheckpoint::begin(const control::CheckpointCut& cut, OwnedSlots& slots) {
  parts_.clear();
  next_ = 0;
  finishing_ = false;
  Status broken;
  slots.for_each_part([this, &broken](Part& part) {
    if (!part.restored || !is_saved(part.spec)) return;
    if (!part.doomed.ok() || part.collector.rounds().open()) broken = is_broken(part);
    if (part.store.value().version != 0) parts_.push_back(&part);
  });
  if (!broken.ok()) return broken;
  for (Part* part : parts_) part->store.begin_snapshot();
  writing_ = std::make_shared<Writing>(cut);
  work_.post([writing = writing_, folder = folder_, file = file_]() mutable {
    auto writer = folder.write(writing->origin, file);
    writing->why = writer.status();
    if (writer.ok()) writing->writer = *std::move(writer);
  });
  return {};
}

bool ShardCheckpoint::can_go_on() const {
  return active() && !finishing_ && writing_->waiting_bytes.load() < kMostWaiting;
}

std::optional<control::CheckpointSaved> ShardCheckpoint::step() {
  if (!active()) return {};
  const std::uint64_t before = writing_->waiting_bytes.load();
  while (can_go_on() && next_ < parts_.size() &&
         writing_->waiting_bytes.load() < before + copied_in_a_turn_) {
    copy_next();
  }
  if (next_ == parts_.size() && !std::exchange(finishing_, true)) finish();
  std::optional<control::CheckpointSaved> result;
  {
    MutexLock lock(writing_->mutex);
    result = std::move(writing_->result);
  }
  if (result) writing_ = nullptr;
  return result;
}

void ShardCheckpoint::copy_next() {
  Part& part = *parts_[next_++];
  auto bytes = std::make_shared<std::vector<std::byte>>(part.store.take_snapshot());
  checkpoint::SavedEntry entry{
      .key = {.kind = checkpoint::Kind::kPart, .name = part.spec.name, .part = part.key.part},
      .version = Store::version_of(*bytes)};
  writing_->waiting_bytes += bytes->size();
  work_.post([writing = writing_, entry = std::move(entry), bytes]() mutable {
    if (writing->why.ok()) writing->why = writing->writer->add(std::move(entry), {*bytes});
    ++writing->entries;
    writing->waiting_bytes -= bytes->size();
  });
}

void ShardCheckpoint::finish() {
  work_.post([writing = writing_, file = file_] {
    control::CheckpointSaved saved{.number = writing->origin.number,
                                   .file = file,
                                   .entries = writing->entries,
                                   .why = writing->why};
    if (saved.why.ok()) {
      const Result<checkpoint::FileDigest> seal = writing->writer->finish();
      saved.why = seal.status();
      if (seal.ok()) saved.bytes = seal->bytes;
      if (seal.ok()) saved.seal = seal->checksum;
    }
    writing->writer.reset();
    MutexLock lock(writing->mutex);
    writing->result = std::move(saved);
  });
}

}  // namespace stretto
