// SPDX-License-Identifier: Apache-2.0
// The disk's thread opens and reads, in the order in which the loop asked for it.
#include "server/restore_reads.h"

#include <utility>

#include "common/check.h"

namespace stretto {

struct RestoreReads::Shared {
  // Set once, by the disk's thread, before `done` counts its opening.
  std::optional<Result<RestoredParts>> parts;
  mutable Mutex mutex;
  std::size_t posted GUARDED_BY(mutex) = 1;
  std::size_t done GUARDED_BY(mutex) = 0;
  std::map<RestoredParts::Name, Result<Bytes>> read GUARDED_BY(mutex);

  bool is_open() const {
    const MutexLock lock(mutex);
    return done != 0;
  }
};

RestoreReads::RestoreReads(checkpoint::DiskWork& work, checkpoint::Folder folder,
                           std::uint64_t number)
    : work_(work), shared_(std::make_shared<Shared>()) {
  work_.post([shared = shared_, folder = std::move(folder), number]() mutable {
    shared->parts.emplace(RestoredParts::open(folder, number));
    const MutexLock lock(shared->mutex);
    ++shared->done;
  });
}

bool RestoreReads::is_read(const RestoredParts::Name& part) {
  if (loaded_.contains(part)) return true;
  if (!shared_->is_open()) return false;
  if (!shared_->parts->ok() || !(*shared_->parts)->has(part)) return true;
  {
    const MutexLock lock(shared_->mutex);
    if (shared_->read.contains(part)) return true;
    if (!asked_.insert(part).second) return false;
    ++shared_->posted;
  }
  work_.post([shared = shared_, part] {
    Result<Bytes> read = (*shared->parts)->read(part);
    const MutexLock lock(shared->mutex);
    shared->read.emplace(part, std::move(read));
    ++shared->done;
  });
  const MutexLock lock(shared_->mutex);
  return shared_->read.contains(part);
}

bool RestoreReads::reading() const {
  const MutexLock lock(shared_->mutex);
  return shared_->done != shared_->posted;
}

Status RestoreReads::opened() const {
  return shared_->is_open() ? shared_->parts->status() : Status();
}

Status RestoreReads::load(Part& part) {
  const RestoredParts::Name name{part.spec.name, part.key.part};
  STRETTO_CHECK(is_read(name));
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

}  // namespace stretto
