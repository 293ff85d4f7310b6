// SPDX-License-Identifier: Apache-2.0
// The disk's thread opens and reads, in the order of the loop's requests.
#include "server/checkpoint/restore_reads.h"

#include <fmt/core.h>

#include <atomic>
#include <new>
#include <utility>

#include "common/log.h"

namespace stretto {
namespace {

constexpr Code kNotRead = Code::kRefused;

// An allocation failure here affects the process, not only this thread.
Result<std::vector<std::byte>> read_part(CheckpointLoader& parts,
                                         const CheckpointLoader::Name& part) {
  try {
    return parts.read(part);
  } catch (const std::bad_alloc&) {
    return Status(Code::kResource, fmt::format("no memory to restore part {} of tensor '{}'",
                                               part.second, part.first));
  }
}

}  // namespace

struct RestoreReads::Shared {
  std::atomic<bool> cancelled{false};
  // Set once, by the disk's thread, before `done` counts the job.
  std::optional<Result<CheckpointLoader>> parts;
  Mutex mutex;
  std::size_t done GUARDED_BY(mutex) = 0;
  std::map<CheckpointLoader::Name, Result<Bytes>> read GUARDED_BY(mutex);
};

RestoreReads::RestoreReads(checkpoint::DiskExecutor& work, checkpoint::Folder folder,
                           std::uint64_t number)
    : work_(work), folder_(folder.path_of(number)), shared_(std::make_shared<Shared>()) {
  work_.post([shared = shared_, folder = std::move(folder), number]() mutable {
    shared->parts.emplace(CheckpointLoader::open(folder, number));
    const MutexLock lock(shared->mutex);
    ++shared->done;
  });
}

bool RestoreReads::is_open() const {
  const MutexLock lock(shared_->mutex);
  return shared_->done != 0;
}

bool RestoreReads::is_read(const CheckpointLoader::Name& part) {
  if (loaded_.contains(part)) return true;
  if (!is_open()) return false;
  if (!shared_->parts->ok() || !(*shared_->parts)->has(part)) return true;
  if (asked_.insert(part).second) {
    ++posted_;
    work_.post([shared = shared_, part] {
      if (shared->cancelled.load()) return;
      Result<Bytes> read = read_part(**shared->parts, part);
      const MutexLock lock(shared->mutex);
      shared->read.emplace(part, std::move(read));
      ++shared->done;
    });
  }
  const MutexLock lock(shared_->mutex);
  return shared_->read.contains(part);
}

void RestoreReads::look(Time now) {
  const std::size_t before = seen_;
  {
    const MutexLock lock(shared_->mutex);
    seen_ = shared_->done;
  }
  if (!reading()) {
    wait_.reset();
  } else if (!wait_ || seen_ != before) {
    wait_.emplace(now);
  } else if (const auto waited = wait_->take(now)) {
    log(Level::kWarning,
        "restore: a read of '{}' has taken {:.0f} s: {} reads wait; is the disk "
        "slow or unreachable?",
        folder_, seconds(*waited), posted_ - seen_);
  }
}

Status RestoreReads::load(Part& part) {
  const CheckpointLoader::Name name{part.spec.name, part.key.part};
  if (!is_read(name)) {
    return {kNotRead, fmt::format("part {} of tensor '{}' was used before its tensor was opened",
                                  name.second, name.first)};
  }
  if (!shared_->parts->ok()) return shared_->parts->status();
  if (!(*shared_->parts)->has(name) || !loaded_.insert(name).second) return {};
  std::optional<Result<Bytes>> saved;
  {
    const MutexLock lock(shared_->mutex);
    saved = std::move(shared_->read.extract(name).mapped());
  }
  if (!saved->ok()) return saved->status();
  return (*shared_->parts)->load(part, **saved);
}

void RestoreReads::cancel() {
  shared_->cancelled.store(true);
  posted_ = seen_;
}

}  // namespace stretto
